// The change feed for callers inside the service that tell others of changes: how much has changed for a reader since a
// token of `/changes`, and the first of these changes. It reads the primary alone.

import type { ReadingCtx, TenantCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import type { RecordAccess } from '../../core/record-access.ts';
import { allowsResource } from '../../core/record-access.ts';
import type { Freshness, Reader, StateRow } from '../read/connection/reader.ts';
import { withinTimeLimit } from '../read/connection/time-limit.ts';
import { readRow, textReader, wholeText } from '../read/result/rows.ts';
import { assertScopeFresh } from '../read/result/stale-fields.ts';
import { narrowEndpoint } from '../version/narrow.ts';
import { assertNotRetired, getPublishedVersion, notFoundError } from '../version/published.ts';
import { assertScopes } from '../version/scopes.ts';
import {
  assertSameContent,
  decodeSince,
  type FeedOf,
  findExpiry,
  heardOf,
  nextCursor,
  readChanges,
} from './change-feed.ts';
import { type ChangeCounts, type ChangePlan, type ChangeRow, countsStatement } from './change-sql.ts';
import { type ChangeCursor, encodeChangeToken, toMark } from './change-token.ts';

type FollowCtx = ReadingCtx & TenantCtx;
/** A resource of a published version, as one credential reads it. */
export type Feed = { readonly version: string; readonly resource: string; readonly reads: RecordAccess };

async function loadVersion(ctx: FollowCtx, version: string) {
  const state = await getPublishedVersion(ctx.reads, ctx, version);
  assertNotRetired(state);
  return ctx.reads.content.loadCompiled(ctx, state);
}

/** The resources of a version that the credential reads. Rejects with 404, and with 410 for a retired version. */
export async function listFeeds(ctx: FollowCtx, version: string, reads: RecordAccess): Promise<string[]> {
  assertScopes(reads, version, null);
  const { endpoints } = await loadVersion(ctx, version);
  return [...endpoints.keys()].filter((name) => allowsResource(reads, name));
}

async function openFeed(ctx: FollowCtx, { version, resource, reads }: Feed) {
  assertScopes(reads, version, resource);
  const endpoint = (await loadVersion(ctx, version)).endpoints.get(resource);
  if (endpoint === undefined) throw notFoundError();
  const feed: FeedOf = { tenant: ctx, version, endpoint: narrowEndpoint(endpoint, reads) };
  const reader: Reader = { ...textReader(ctx.reads.getReader(ctx.organizationId)), replicas: undefined };
  return { feed, reader };
}

export type ChangesSince = {
  readonly generation: string;
  /** Null when the reader has to start over, or starts. */
  readonly counts: { readonly upserts: number; readonly deletes: number } | null;
  /** The token from which a reader who hears of this generation reads on; null with `counts`. */
  readonly from: string | null;
  /** The token after which nothing has changed yet. */
  readonly next: string;
};

/** The cursor of a token that still says what a reader knows. */
function findCursor(feed: FeedOf, since: string | null): ChangeCursor | null {
  if (since === null) return null;
  try {
    const cursor = decodeSince(feed, since);
    assertSameContent(cursor, feed);
    return cursor;
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

/** Whether the database is still the one that issued the token: one that took over may lack what the reader has seen. */
const isContinued = ({ epochMark }: ChangeCursor, { epoch }: Freshness): boolean =>
  epochMark === toMark(epoch);

/**
 * What has changed since a token, without the records; at most 10,000 of each kind are counted. Rejects with 403, 404 and
 * 410 as the feed does, and with 503 when nothing is synced, a field of the row scope is stale, or the database is
 * unavailable.
 */
export async function countChanges(ctx: FollowCtx, of: Feed, since: string | null): Promise<ChangesSince> {
  const { feed, reader } = await openFeed(ctx, of);
  const { tenant, version, endpoint } = feed;
  const from = findCursor(feed, since);
  const plan: ChangePlan = { endpoint, after: from?.position ?? null, floor: from?.floor ?? null, limit: 0 };
  const { row, freshness } = await withinTimeLimit(reader, (limited) =>
    readRow<StateRow & ChangeRow & ChangeCounts>(limited, endpoint.recordType, (table) =>
      countsStatement(table, plan),
    ),
  );
  assertScopeFresh(endpoint, freshness);
  const isValid =
    from === null || (isContinued(from, freshness) && findExpiry(from, freshness, row) === undefined);
  if (!isValid) return countChanges(ctx, of, null);
  const { upserts, deletes } = row;
  const next = nextCursor(from, row, freshness, endpoint);
  const encode = (cursor: ChangeCursor): string =>
    encodeChangeToken(tenant, { version, resource: endpoint.name }, cursor);
  return {
    generation: freshness.generation,
    counts: from === null ? null : { upserts: Number(upserts), deletes: Number(deletes) },
    from: from && encode(heardOf(from, next)),
    next: encode(next),
  };
}

/**
 * The first changes after a token, as the feed writes them: the inside of a JSON array. Rejects as `countChanges`, and with
 * 404 for a token that says nothing to this reader.
 */
export async function readFirstChanges(ctx: FollowCtx, of: Feed, since: string | null, limit: number) {
  const { feed, reader } = await openFeed(ctx, of);
  const from = findCursor(feed, since);
  if (since !== null && from === null) throw notFoundError();
  const plan: ChangePlan = {
    ...{ endpoint: feed.endpoint, limit },
    ...{ after: from?.position ?? null, floor: from?.floor ?? null },
  };
  const { row, changes, freshness } = await readChanges(reader, plan, from);
  assertScopeFresh(feed.endpoint, freshness);
  return { changes: wholeText(changes), hasMore: row.more };
}
