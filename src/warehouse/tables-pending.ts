// Tables and indexes can only be changed while all servers of the warehouse respond: Citus contacts every
// node for DDL, whichever has the organization's records. Until then the change is pending, and what needs it
// waits. Plain PostgreSQL has one server.
import type { Knex } from 'knex';
import { DatabaseError } from 'pg';
import { isNodeConnectionLost } from '../db/driver/error-messages.ts';

/**
 * SQLSTATEs of connection failures. From a server that responds they mean that it could not reach another
 * node of its cluster.
 */
const nodeUnreachable = /^08(000|001|003|006)$/;

/** Whether a server of the warehouse responded that another one of its cluster can't be reached. */
export const isNodeUnreachable = (error: unknown): boolean =>
  error instanceof DatabaseError &&
  (nodeUnreachable.test(error.code ?? '') || isNodeConnectionLost(error.message));

/** A change of tables waits for a server of the warehouse; repeat it later. `cause` names the server. */
export class TablesPending extends Error {
  override readonly name = 'TablesPending';
  /** The SQLSTATE of a lost connection, so that callers retry this as they retry that. */
  readonly code = '08006';
  constructor(cause: unknown) {
    super('Tables and indexes cannot be changed while a server of the warehouse does not respond', { cause });
  }
}

/** Runs DDL in a transaction of the control pool. Rejects with TablesPending if a server is unreachable. */
export const changeTables = <T>(control: Knex, ddl: (tx: Knex.Transaction) => Promise<T>): Promise<T> =>
  orPending(() => control.transaction(ddl));

/** Rejects with TablesPending when `ddl` fails because a server of the warehouse can't be reached. */
export async function orPending<T>(ddl: () => Promise<T>): Promise<T> {
  try {
    return await ddl();
  } catch (error) {
    throw isNodeUnreachable(error) ? new TablesPending(error) : error;
  }
}
