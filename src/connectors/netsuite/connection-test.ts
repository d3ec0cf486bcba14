// Tests a connection for the person who sets it up: login, clock, one row of each table, of lines as well.
// Every ERP error becomes a problem with a way to fix it, never an exception.
import type { Clock } from '../../core/clock.ts';
import { type ConnectionProblem, type ConnectionReport, ErpError } from '../connector.ts';
import type { ClockSkewMonitor } from './requests/clock-skew.ts';
import { erpError } from './requests/errors.ts';
import type { Suiteql } from './requests/suiteql.ts';
import { ownIdAndTime } from './types/definition.ts';
import { probeQuery } from './types/queries.ts';
import { recordTypeDefinitions } from './types/record-types.ts';

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
  const hidden =
    time === null ? null : await attempt(() => probeTables(parts.suiteql, signal), problems, signal);
  const ok = problems.length === 0;
  return {
    ok,
    latencyMs: Math.round(clock.monotonicMs() - startedMs),
    account,
    problems: [...problems, ...(hidden ?? [])],
  };
}

async function attempt<T>(work: () => Promise<T>, problems: ConnectionProblem[], signal: AbortSignal) {
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

type Table = { readonly name: string; readonly column: string; readonly recordTypes: readonly string[] };

/** Tables, each once, with the record types that need it. */
function groupTables(
  needed: readonly { readonly name: string; readonly column: string; readonly recordType: string }[],
): Table[] {
  const tables = new Map<string, Table>();
  for (const { name, column, recordType } of needed)
    tables.set(name, { name, column, recordTypes: [...(tables.get(name)?.recordTypes ?? []), recordType] });
  return [...tables.values()];
}
const recordTables = groupTables(
  recordTypeDefinitions.map(({ name, table }) => ({ name: table, column: 'id', recordType: name })),
);
const lineTables = groupTables(
  recordTypeDefinitions.flatMap(({ name, lines }) =>
    lines === null ? [] : [{ name: lines.table, column: lines.parent, recordType: name }],
  ),
);

/**
 * Reads one row of each table. A table that the role can't see is reported, but the connection still works:
 * the role may be meant to see only invoices. Lines are reported where their records can be seen. Throws
 * `PERMISSION_MISSING` for a role that can see no records at all.
 */
async function probeTables(suiteql: Suiteql, signal: AbortSignal): Promise<ConnectionProblem[]> {
  const probe = (tables: readonly Table[], part: 'records' | 'lines') =>
    Promise.all(tables.map((table) => findHidden(suiteql, table, part, signal)));
  const [ofRecords, ofLines] = await Promise.all([
    probe(recordTables, 'records'),
    probe(lineTables, 'lines'),
  ]);
  const problems = ofRecords.filter((problem) => problem !== null);
  const [first] = problems;
  if (first !== undefined && problems.length === recordTables.length)
    throw erpError(
      'forbidden',
      'PERMISSION_MISSING',
      `The role can see none of the record types: ${first.message}`,
    );
  const hidden = new Set(problems.flatMap(({ recordTypes }) => recordTypes));
  const lineProblems = ofLines.filter((problem) => problem !== null);
  return [
    ...problems,
    ...lineProblems.filter(({ recordTypes }) => recordTypes.some((name) => !hidden.has(name))),
  ];
}

type Hidden = ConnectionProblem & Required<Pick<ConnectionProblem, 'recordTypes'>>;
async function findHidden(
  suiteql: Suiteql,
  { name, column, recordTypes }: Table,
  part: 'records' | 'lines',
  signal: AbortSignal,
): Promise<Hidden | null> {
  try {
    await suiteql.query(
      probeQuery({ ...ownIdAndTime, table: name, filter: null }, [{ name: column, type: 'integer' }]),
      1,
      signal,
    );
    return null;
  } catch (error) {
    if (!(error instanceof ErpError) || error.code !== 'RECORD_TYPE_HIDDEN') throw error;
    return {
      code: error.code,
      message: `The role can't see ${part === 'lines' ? 'the lines of ' : ''}${recordTypes.join(', ')}: ${error.message}`,
      fix: error.fix,
      recordTypes,
      ...(part === 'lines' && { fields: ['lines'] }),
    };
  }
}
