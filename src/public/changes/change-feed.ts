// Serves the change feed of a resource: each record once, at its latest change, in commit order. A client
// that starts without `since` and follows `next` ends up with the contents of the list.

import { AppError } from '../../core/errors.ts';
import { didYouMean } from '../../core/text/nearest-name.ts';
import { toQueryText } from '../../core/text/query-text.ts';
import { negotiateMediaType, type ReadContext, readerFor, sendPageOrNotModified } from '../http/exchange.ts';
import { isTooLarge } from '../read/connection/failures.ts';
import type { Freshness, Reader, StateRow } from '../read/connection/reader.ts';
import { withinTimeLimit } from '../read/connection/time-limit.ts';
import { parameterError, parameterProblem, parseQuery, type QueryParameters } from '../read/plan/request.ts';
import { type RecordsText, readPieces, readRow } from '../read/result/rows.ts';
import { assertScopeFresh } from '../read/result/stale-fields.ts';
import type { ReadableEndpoint } from '../version/compile.ts';
import { minInteger } from '../version/values.ts';
import {
  type ChangePlan,
  type ChangeRow,
  changesStatement,
  largeChangesStatement,
  positionStatement,
} from './change-sql.ts';
import { type ChangeCursor, decodeChangeToken, encodeChangeToken, toMark } from './change-token.ts';

const maxChanges = 1_000;
const defaultChanges = 100;
const known = ['since', 'limit'];

type ChangesQuery = { readonly since: string | null; readonly limit: number };

/** Throws 400 with every problem of the parameters. */
export function parseChangesQuery(query: QueryParameters): ChangesQuery {
  const problems = [...query.keys()]
    .filter((name) => !known.includes(name))
    .slice(0, 20)
    .map((name) =>
      parameterProblem(
        name,
        'unknown_parameter',
        `Unknown parameter "${name.slice(0, 80)}".${didYouMean(name, known)}`,
      ),
    );
  for (const name of known) {
    const values = query.get(name);
    if (values !== undefined && values.length > 1)
      problems.push(parameterProblem(name, 'repeated_parameter', `"${name}" may be given only once`));
    else if (values?.[0] === '')
      problems.push(parameterProblem(name, 'empty_value', `"${name}" must not be empty`));
  }
  const text = query.get('limit')?.[0] ?? String(defaultChanges);
  const limit = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : maxChanges + 1;
  if (text !== '' && limit > maxChanges)
    problems.push(
      parameterProblem('limit', 'out_of_range', `"limit" must be a whole number from 1 to ${maxChanges}`),
    );
  if (problems.length > 0) throw parameterError(problems);
  return { since: query.get('since')?.[0] ?? null, limit };
}

const startOver = 'discard your copy and start over without "since"';

function tokenExpired(reason: string): AppError {
  const message = `${reason}; ${startOver}`;
  return new AppError('NOT_FOUND', message, {
    status: 410,
    details: [{ path: 'since', code: 'token_expired', message }],
  });
}

export type FeedOf = Pick<ReadContext, 'tenant' | 'version' | 'endpoint'>;

/** The position that a token names. Throws 400, which names `path`, for one that isn't of this URL. */
export function decodeSince(
  { tenant, version, endpoint }: FeedOf,
  since: string,
  path = 'since',
): ChangeCursor {
  const cursor = decodeChangeToken(tenant, { version, resource: endpoint.name }, endpoint.idType, since);
  if (cursor !== undefined) return cursor;
  throw parameterError([
    parameterProblem(
      path,
      'invalid_token',
      '"since" must be the `next` of an earlier response of this URL. Omit it to start from the beginning.',
    ),
  ]);
}

/**
 * The last generation that tokens with this mark may have seen; undefined when the records were reloaded
 * since they were issued.
 */
function findLastGeneration(
  epochMark: string,
  { epoch, generation }: Freshness,
  former: ChangeRow['former_epochs'],
): string | undefined {
  if (epochMark === toMark(epoch)) return generation;
  return former.find((earlier) => epochMark === toMark(earlier.epoch))?.until;
}

/**
 * Why the changes since the cursor can't be reported: the data was reloaded, a failover lost what the client
 * has seen, or tombstones were pruned, or the values that a row scope names weren't recorded yet. Undefined
 * when they can.
 */
export function findExpiry(
  { epochMark, floor, seen }: ChangeCursor,
  freshness: Freshness,
  { recorded, ...row }: ChangeRow,
): string | undefined {
  const last = findLastGeneration(epochMark, freshness, row.former_epochs);
  if (last === undefined) return 'The records have been reloaded since this token was issued';
  if (BigInt(seen) > BigInt(last))
    return 'The database was replaced by an earlier state since this token was issued';
  if (recorded.some((since) => since === null || BigInt(floor) < BigInt(since)))
    return 'This token is older than the record of the values that the row scope names';
  return BigInt(floor) < BigInt(row.pruned)
    ? 'This token is older than 30 days, the time for which deletions are kept'
    : undefined;
}

/** Throws 410 as `findExpiry` says. */
function assertNotExpired(cursor: ChangeCursor, freshness: Freshness, row: ChangeRow): void {
  const expiry = findExpiry(cursor, freshness, row);
  if (expiry !== undefined) throw tokenExpired(expiry);
}

const toReachMark = ({ reach }: ReadableEndpoint) => (reach === '' ? undefined : toMark(reach));

/**
 * Throws 410 when the version was published with other content since the token was issued, which only the
 * loss of a publication allows, and when the reader reads other records, fields or masks than the one to whom
 * it was issued.
 */
export function assertSameContent({ contentMark, reachMark }: ChangeCursor, { endpoint }: FeedOf): void {
  if (contentMark !== undefined && contentMark !== toMark(endpoint.contentKey))
    throw tokenExpired('The version has been published again since this token was issued');
  if (reachMark !== toReachMark(endpoint))
    throw tokenExpired('This token was issued to a reader of other records, fields or masked values');
}

/** The cursor after this page. A page without changes keeps the position. */
export function nextCursor(
  from: ChangeCursor | null,
  row: ChangeRow,
  { epoch, generation }: Freshness,
  endpoint: ReadableEndpoint,
): ChangeCursor {
  const { last_generation: last, last_kind: kind, last_id: id } = row;
  const start = { generation: '0', kind: 'upsert', id: '0' } as const;
  const position =
    last === null || id === null
      ? (from?.position ?? start)
      : ({ generation: last, kind: kind === 1 ? 'delete' : 'upsert', id } as const);
  return {
    position,
    floor: row.more ? (from?.floor ?? generation) : generation,
    seen: generation,
    epochMark: toMark(epoch),
    contentMark: toMark(endpoint.contentKey),
    reachMark: toReachMark(endpoint),
  };
}

/** The position behind all changes up to this state. */
export const cursorAt = (
  endpoint: ReadableEndpoint,
  { epoch, generation }: Pick<Freshness, 'epoch' | 'generation'>,
): ChangeCursor => ({
  position: {
    generation: String(BigInt(generation) + 1n),
    kind: 'upsert',
    // Less than every id.
    id: endpoint.idType === 'integer' ? minInteger.toString() : '',
  },
  floor: generation,
  seen: generation,
  epochMark: toMark(epoch),
  contentMark: toMark(endpoint.contentKey),
  reachMark: toReachMark(endpoint),
});

/** The token for `since`. */
export const encodeCursor = ({ tenant, version, endpoint }: ReadContext, cursor: ChangeCursor): string =>
  encodeChangeToken(tenant, { version, resource: endpoint.name }, cursor);

export const feedAddress = ({ exchange, version, endpoint }: ReadContext): string =>
  `${exchange.baseUrl}/${version}/${endpoint.name}/changes`;

/**
 * The position, for a client who hears of the state at another one: a replica that lacks this state can't answer, and a
 * server that lost it answers 410.
 */
export const heardOf = (position: ChangeCursor, { epochMark, seen }: ChangeCursor): ChangeCursor =>
  position.epochMark === epochMark ? { ...position, seen } : position;

/** A replica that is behind the token can't tell whether it has expired. */
const countsFor = (from: ChangeCursor | null) => ({
  counts: (row: ChangeRow, freshness: Freshness) =>
    from === null || findExpiry(from, freshness, row) === undefined,
});

/**
 * Whether the reader has changes after the cursor, and the state that the statement saw. Rejects with 410 when
 * the cursor is too old, and with 503 as `serveChanges` does.
 */
export const findChangesAfter = (
  { reader, endpoint }: Pick<ReadContext, 'reader' | 'endpoint'>,
  from: ChangeCursor,
): Promise<{ readonly hasChanges: boolean; readonly freshness: Freshness }> =>
  withinTimeLimit(reader, async (limited) => {
    const plan: ChangePlan = { endpoint, after: from.position, floor: from.floor, limit: 1 };
    const { row, freshness } = await readRow<StateRow & ChangeRow>(
      limited,
      endpoint.recordType,
      (table) => positionStatement(table, plan),
      countsFor(from),
    );
    assertScopeFresh(endpoint, freshness);
    assertNotExpired(from, freshness, row);
    return { hasChanges: row.last_generation !== null, freshness };
  });

type ChangesRead = { readonly row: ChangeRow; readonly changes: RecordsText; readonly freshness: Freshness };

/**
 * A page of changes that ends early when its records have too many bytes. Rejects with 503 as `readRow` does,
 * and when it takes too long.
 */
export const readChanges = (
  reader: Reader,
  plan: ChangePlan,
  from: ChangeCursor | null,
): Promise<ChangesRead> =>
  withinTimeLimit(reader, async (limited) => {
    const { recordType } = plan.endpoint;
    const options = countsFor(from);
    try {
      const { row, freshness } = await readRow<StateRow & ChangeRow & { changes: string }>(
        limited,
        recordType,
        (table) => changesStatement(table, plan),
        options,
      );
      return { row, changes: row.changes, freshness };
    } catch (error) {
      if (!isTooLarge(error)) throw error;
    }
    const { row, pieces, freshness } = await readPieces<ChangeRow>(
      limited,
      recordType,
      (table) => largeChangesStatement(table, plan, limited.maxAnswerBytes),
      options,
    );
    return { row, changes: pieces, freshness };
  });

/**
 * Sends one page of changes, or 304. Rejects with 406 for another media type, 400 for bad parameters, 410
 * when `since` is too old, and 503 when nothing is synced, a field of the row scope is stale, or the database
 * is unavailable.
 */
export async function serveChanges(read: ReadContext): Promise<void> {
  const { endpoint, exchange } = read;
  negotiateMediaType(exchange.req, ['application/json']);
  const { since, limit } = parseChangesQuery(parseQuery(toQueryText(exchange.req.url ?? '')));
  const from = since === null ? null : decodeSince(read, since);
  if (from !== null) assertSameContent(from, read);
  await sendPageOrNotModified(read, 'changes', JSON.stringify([since, limit]), async () => {
    const plan: ChangePlan = { endpoint, after: from?.position ?? null, floor: from?.floor ?? null, limit };
    const { row, changes, freshness } = await readChanges(readerFor(read), plan, from);
    assertScopeFresh(endpoint, freshness);
    if (from !== null) assertNotExpired(from, freshness, row);
    const next = encodeCursor(read, nextCursor(from, row, freshness, endpoint));
    const address = feedAddress(read);
    return {
      body: { before: '{"data":[', records: changes, after: `],"next":"${next}","hasMore":${row.more}}` },
      links: row.more ? `<${address}?since=${next}&limit=${limit}>; rel="next"` : '',
      freshness,
    };
  });
}
