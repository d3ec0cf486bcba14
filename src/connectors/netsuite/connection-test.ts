// Tries a connection for the person who sets it up: log-in, clock, one row of each table. Whatever the ERP answers becomes a problem with
// a way to fix it, never an exception.
import type { Clock } from '../../core/clock.ts';
import { type ConnectionProblem, type ConnectionReport, ErpError } from '../connector.ts';
import type { ClockWatch } from './clock-watch.ts';
import { erpError } from './errors.ts';
import { probeQuery } from './queries.ts';
import { recordTypeDefinitions } from './record-types.ts';
import type { Suiteql } from './suiteql.ts';

type Parts = {
  readonly clock: Clock;
  readonly watch: ClockWatch;
  readonly suiteql: Suiteql;
  readonly account: string;
  now(): Promise<Date>;
};

/** NetSuite refuses signatures that are five minutes off; warn before that. */
const mostSkewMs = 120_000;

export async function testConnection(parts: Parts, signal: AbortSignal): Promise<ConnectionReport> {
  const { clock, account, watch } = parts;
  const startedMs = clock.monotonicMs();
  const problems: ConnectionProblem[] = [];
  const time = await attempt(parts.now, problems, signal);
  const skewMs = watch.aheadMs();
  if (skewMs !== null && Math.abs(skewMs) > mostSkewMs) problems.unshift(clockSkew(skewMs));
  const hidden = time === null ? null : await attempt(() => readTables(parts.suiteql, signal), problems, signal);
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

function clockSkew(skewMs: number): ConnectionProblem {
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const { code, message, fix } = erpError(
    'down',
    'CLOCK_SKEW',
    `This machine's clock is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} NetSuite's`,
  );
  return { code, message, fix };
}

/**
 * One row of each table. A table that the role can't see is told, and no reason to refuse the connection: a role may be meant to see
 * invoices alone. One that sees nothing at all is of no use.
 */
async function readTables(suiteql: Suiteql, signal: AbortSignal): Promise<ConnectionProblem[]> {
  const tables = [...new Set(recordTypeDefinitions.map(({ table }) => table))];
  const hidden = await Promise.all(tables.map((table) => findHidden(suiteql, table, signal)));
  const problems = hidden.filter((problem) => problem !== null);
  const [first] = problems;
  if (first === undefined || problems.length < tables.length) return problems;
  throw erpError('forbidden', 'PERMISSION_MISSING', `The role can see none of the record types: ${first.message}`);
}

async function findHidden(suiteql: Suiteql, table: string, signal: AbortSignal): Promise<ConnectionProblem | null> {
  const held = recordTypeDefinitions.filter((candidate) => candidate.table === table);
  const [definition] = held;
  if (definition === undefined) return null;
  try {
    await suiteql.ask(probeQuery({ ...definition, filter: null }, [{ name: 'id', type: 'integer' }]), 1, signal);
    return null;
  } catch (error) {
    if (!(error instanceof ErpError) || error.code !== 'RECORD_TYPE_HIDDEN') throw error;
    return { code: error.code, message: `The role can't see ${held.map(({ name }) => name).join(', ')}: ${error.message}`, fix: error.fix };
  }
}
