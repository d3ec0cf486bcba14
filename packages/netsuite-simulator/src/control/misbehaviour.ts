// What the control interface can make the account do wrong: handlers in the account's server, and the state
// behind them. An account that has no control interface runs without these handlers.
import type { RequestHandler } from 'express';
import { type AnswerFaults, createAnswerFaults } from '../answer-faults/answer-faults.ts';
import { createTraffic, type Traffic } from '../answer-faults/traffic.ts';
import type { Clock } from '../clock.ts';
import { createEarlierBooks, type EarlierBooks } from '../database/earlier-books.ts';
import type { QuerySettings } from '../database/snapshot.ts';
import { createPermissions, type Permissions } from '../permissions.ts';
import type { WriteSettings } from '../records/write-record.ts';

export type Misbehaviour = {
  traffic: Traffic;
  permissions: Permissions;
  faults: AnswerFaults;
  earlier: EarlierBooks;
  /** Run after sign-in, before an answer; also before the token endpoint. */
  handlers: RequestHandler[];
};

/** The handlers throw RestError for what the role may not do and where a fault has a status. */
export function createMisbehaviour(
  accountId: string,
  query: QuerySettings,
  writes: WriteSettings,
  clock: Clock,
): Misbehaviour {
  const { role, switches } = query;
  const earlier = createEarlierBooks(writes.pool);
  const permissions = createPermissions(role);
  const faults = createAnswerFaults({ accountId, role, switches, staleSnapshot: earlier.snapshot });
  const traffic = createTraffic(clock, role);
  return { traffic, permissions, faults, earlier, handlers: [permissions.handler, faults.handler] };
}
