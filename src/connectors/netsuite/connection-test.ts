// Tests a connection for the person who sets it up: login, clock, one row of each table. Every ERP error becomes a problem with a way to
// fix it, never an exception.
import type { Clock } from '../../core/clock.ts';
import { type ConnectionProblem, type ConnectionReport, ErpError } from '../connector.ts';
import type { ClockSkewMonitor } from './clock-skew.ts';
import { erpError } from './errors.ts';
import { probeQuery } from './queries.ts';
import { recordTypeDefinitions } from './record-types.ts';
import type { Suiteql } from './suiteql.ts';

type Parts = {
  readonly clock: Clock;
  readonly clockSkew: Pick<ClockSkewMonitor, 'skewMs'>;
  readonly suiteql: Suiteql;
  readonly account: string;
  now(): Promise<Date>;
};

/** NetSuite refuses signatures that are five minutes off; this warns before that. */
const maxSkewMs = 120_000;

/** Rejects with the signal's reason once that is aborted, and never with `ErpError`. */
export async function testNetsuiteConnection(parts: Parts, signal: AbortSignal): Promise<ConnectionReport> {
  const { clock, account, clockSkew } = parts;
  const startedMs = clock.monotonicMs();
  const problems: ConnectionProblem[] = [];
  const time = await attempt(parts.now, problems, signal);
  const skewMs = clockSkew.skewMs();
  if (skewMs !== null && Math.abs(skewMs) > maxSkewMs) problems.unshift(skewProblem(skewMs));
  const hidden = time === null ? null : await attempt(() => probeTables(parts.suiteql, signal), problems, signal);
  const ok = problems.length === 0;
  return { ok, latencyMs: Math.round(clock.monotonicMs() - startedMs), account, problems: [...problems, ...(hidden ?? [])] };
}

async function attempt<T>(work: () => Promise<T>, problems: ConnectionProblem[], signal: AbortSignal): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted || !(error instanceof ErpError)) throw error;
    problems.push({ code: error.code, message: error.message, fix: error.fix });
    return null;
  }
}

function skewProblem(skewMs: number): ConnectionProblem {
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const { code, message, fix } = erpError(
    'down',
    'CLOCK_SKEW',
    `This machine's clock is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} NetSuite's`,
  );
  return { code, message, fix };
}

/**
 * Reads one row of each table. A table that the role can't see is reported, but the connection still works: the role may be meant to see
 * only invoices. Throws `PERMISSION_MISSING` for a role that can see none of them.
 */
async function probeTables(suiteql: Suiteql, signal: AbortSignal): Promise<ConnectionProblem[]> {
  const tables = [...new Set(recordTypeDefinitions.map(({ table }) => table))];
  const hidden = await Promise.all(tables.map((table) => findHidden(suiteql, table, signal)));
  const problems = hidden.filter((problem) => problem !== null);
  const [first] = problems;
  if (first === undefined || problems.length < tables.length) return problems;
  throw erpError('forbidden', 'PERMISSION_MISSING', `The role can see none of the record types: ${first.message}`);
}

async function findHidden(suiteql: Suiteql, table: string, signal: AbortSignal): Promise<ConnectionProblem | null> {
  const definitions = recordTypeDefinitions.filter((candidate) => candidate.table === table);
  const [definition] = definitions;
  if (definition === undefined) return null;
  try {
    await suiteql.query(probeQuery({ ...definition, filter: null }, [{ name: 'id', type: 'integer' }]), 1, signal);
    return null;
  } catch (error) {
    if (!(error instanceof ErpError) || error.code !== 'RECORD_TYPE_HIDDEN') throw error;
    return {
      code: error.code,
      message: `The role can't see ${definitions.map(({ name }) => name).join(', ')}: ${error.message}`,
      fix: error.fix,
    };
  }
}
