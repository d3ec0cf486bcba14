// Tries a connection for the person who sets it up: log-in, clock, one row. Whatever the ERP answers becomes a problem with
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
  if (time !== null) await attempt(() => readOneRow(parts.suiteql, signal), problems, signal);
  return { ok: problems.length === 0, latencyMs: Math.round(clock.monotonicMs() - startedMs), account, problems };
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

/** One row of the first record type that the role can see; what it can't see at all is told by the metadata. */
async function readOneRow(suiteql: Suiteql, signal: AbortSignal): Promise<void> {
  let hidden: ErpError | null = null;
  for (const definition of recordTypeDefinitions) {
    try {
      await suiteql.ask(probeQuery(definition, [{ name: 'id', type: 'integer' }]), 1, signal);
      return;
    } catch (error) {
      if (!(error instanceof ErpError) || error.code !== 'RECORD_TYPE_HIDDEN') throw error;
      hidden ??= error;
    }
  }
  if (hidden !== null)
    throw erpError('forbidden', 'PERMISSION_MISSING', `The role can see none of the record types: ${hidden.message}`, { cause: hidden });
}
