// Runs a compiled query as the unprivileged reader, in one read-only snapshot, and translates PostgreSQL's
// errors to NetSuite's.
import type { PoolClient } from 'pg';
import type { Distortion } from '../answer-faults/distortion.ts';
import { inSnapshot, type QuerySettings, textTypes } from '../database/snapshot.ts';
import { type CompiledQuery, compileQuery } from './compile.ts';
import { type ResultField, renderRows, type WireRow } from './render.ts';
import {
  invalidDateTime,
  QueryFailure,
  SuiteqlError,
  syntaxError,
  unknownIdentifier,
  unsupported,
} from './suiteql-error.ts';

export type QueryRequest = { q: string; params: readonly (string | null)[]; limit: number; offset: number };
/**
 * `total` is the reported number of rows; `counted` is one more if there are rows beyond the cap and the
 * account reports that.
 */
export type QueryPage = { rows: WireRow[]; total: number; counted: number };
/** The page is beyond the cap, and Switches.beyondCap is `refuse`. */
export class BeyondCap extends Error {}

/**
 * Along with Switches.maxRows, the cap of a query: SuiteQL returns its first 100,000 rows and its first 1,000
 * pages.
 */
const MAX_PAGES = 1_000;

/**
 * Rejects with SuiteqlError for an invalid query, BeyondCap, or QueryFailure for an unexpected database
 * error.
 */
export async function runQuery(
  settings: QuerySettings,
  request: QueryRequest,
  distortion: Distortion = {},
): Promise<QueryPage> {
  const hasTypedStatus = settings.switches.statusFilter === 'typed';
  const compiled = compileQuery(request.q, settings.role, { hasTypedStatus, distortion: distortion.query });
  if (compiled.parameters !== request.params.length) throw unsupported();
  try {
    return await inSnapshot(
      settings,
      (client) => readRows(client, settings, compiled, request),
      distortion.snapshot,
    );
  } catch (error) {
    throw translateError(error, request.q, settings);
  }
}

async function readRows(
  client: PoolClient,
  settings: QuerySettings,
  compiled: CompiledQuery,
  request: QueryRequest,
): Promise<QueryPage> {
  const cap = Math.min(settings.switches.maxRows, MAX_PAGES * request.limit);
  const reportsCap = settings.switches.beyondCap === 'refuse';
  if (reportsCap && request.offset >= cap)
    throw new BeyondCap(`A query gives its first ${cap} rows at the most.`);
  const limit = Math.max(0, Math.min(request.limit, cap - request.offset));
  const values = [...request.params];
  const page = await client.query<(string | null)[]>({
    text: compiled.page(limit, request.offset),
    values,
    rowMode: 'array',
    types: textTypes,
  });
  const read = page.rows.length;
  // An incomplete page is the last one, so its end is the number of rows, unless the page lies entirely
  // beyond the end.
  const isEnd = read < request.limit && (read > 0 || request.offset === 0) && limit === request.limit;
  const counted = isEnd
    ? request.offset + read
    : await countRows(client, compiled, reportsCap ? cap + 1 : cap, values);
  return {
    rows: renderRows(page.fields as ResultField[], page.rows, settings.dateFormat),
    total: Math.min(counted, cap),
    counted,
  };
}

async function countRows(
  client: PoolClient,
  compiled: CompiledQuery,
  cap: number,
  values: (string | null)[],
): Promise<number> {
  const { rows } = await client.query<[string]>({
    text: compiled.count(cap),
    values,
    rowMode: 'array',
    types: textTypes,
  });
  return Number(rows[0]?.[0] ?? 0);
}

const COLUMN_MISSING = /column "?(?:[^".\s]+\.)?([^".\s]+)"? does not exist/;
const TABLE_MISSING = /missing FROM-clause entry for table "([^"]+)"/;
/** TO_DATE puts `+00 ` before the text. */
const BAD_DATETIME = /"(?:\+00 )?([^"]*)"/;
const NEAR = /at or near "([^"]*)"/;

function translateError(error: unknown, query: string, settings: QuerySettings): Error {
  if (error instanceof SuiteqlError || error instanceof BeyondCap) return error;
  if (!(error instanceof Error))
    return new QueryFailure('the database client threw something that is not an Error', { cause: error });
  const code = 'code' in error ? String(error.code) : '';
  const missing = COLUMN_MISSING.exec(error.message) ?? TABLE_MISSING.exec(error.message);
  if ((code === '42703' || code === '42P01') && missing?.[1]) return unknownIdentifier(missing[1], [], error);
  if (code === '22007' || code === '22008') {
    return invalidDateTime(
      BAD_DATETIME.exec(error.message)?.[1] ?? '',
      settings.dateFormat.name,
      settings.timeZone,
    );
  }
  if (code === '42601')
    return syntaxError(query, {
      text: NEAR.exec(error.message)?.[1] ?? 'EOF',
      line: 1,
      column: query.length,
    });
  // Class 22 and 42: values and types that don't fit; 0A: not supported; 54: too complex; 21: a subquery with
  // too many rows.
  if (/^(22|42|0A|54|21)/.test(code)) return unsupported(error);
  return new QueryFailure(error.message, { cause: error });
}
