// Composes the messages about changed records: what an endpoint doesn't know yet, looked up again in each turn. So nothing
// is lost with an event, and one that was never attempted becomes the one that covers more.
import type { ReadingCtx, TenantCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import type { AccessLayer, RecordAccess } from '../../core/record-access.ts';
import { type Job, lockJob } from '../../db/jobs.ts';
import { recordServerTimeline } from '../../db/server-timeline.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { type ChangesSince, countChanges, listFeeds } from '../../public/index.ts';
import { recordsChanged } from '../../webhooks/index.ts';
import { type ApiKeyRow, findApiKeyRow } from '../api-keys/api-keys.store.ts';
import type { EndpointRow } from './endpoints.store.ts';
import * as endpoints from './endpoints.store.ts';
import * as messages from './messages.store.ts';

export type WebhookCtx = ReadingCtx & TenantCtx;

/** What the key reads now; undefined when it has ended. */
export async function findReads(
  tx: Tx,
  organizationId: string,
  { api_key_id: keyId }: Pick<EndpointRow, 'api_key_id'>,
): Promise<RecordAccess | undefined> {
  const key = await findApiKeyRow(tx, organizationId, keyId);
  return key === undefined || key.revoked_at !== null || key.has_expired ? undefined : toReads(key);
}

export const toReads = (key: ApiKeyRow): RecordAccess => {
  const layer: AccessLayer = {
    versions: key.scope_versions,
    resources: key.scope_resources,
    rows: key.scope_rows,
    fields: key.scope_fields,
  };
  return { layers: [layer], unmasked: key.scope_unmasked };
};

/** An endpoint that follows records, with what its key reads. */
export type Follower = { readonly endpoint: EndpointRow; readonly reads: RecordAccess };
type Following = {
  readonly endpoint: Pick<EndpointRow, 'events' | 'version' | 'resources'>;
  readonly reads: RecordAccess;
};

const followsRecords = ({ events }: Pick<EndpointRow, 'events'>): boolean => events.includes(recordsChanged);

/** The resources whose changes the endpoint gets. Rejects while the version can't be read. */
export async function listFollowed(ctx: WebhookCtx, { endpoint, reads }: Following): Promise<string[]> {
  const { version, resources } = endpoint;
  if (!followsRecords(endpoint) || version === null) return [];
  const readable = await listFeeds(ctx, version, reads).catch(unlessRefused);
  return (readable ?? []).filter((name) => resources.length === 0 || resources.includes(name));
}

/** What a key may not read, or not at the moment because a field of its rows is stale, is left out. */
function unlessRefused(error: unknown): undefined {
  const isRefused =
    error instanceof AppError &&
    (error.status < 500 || error.details.some(({ code }) => code === 'scope_field_stale'));
  if (isRefused) return undefined;
  throw error;
}
/** What can't be read now: nothing is synced, or the database is unavailable or too slow. */
function unlessUnavailable(error: unknown): 'unavailable' | undefined {
  return error instanceof AppError && error.status === 503 ? 'unavailable' : unlessRefused(error);
}

/** Where a receiver reads on. Without a token it starts over. */
const toAddress = (version: string, resource: string, since: string | null): string =>
  `/api/public/${version}/${resource}/changes${since === null ? '' : `?since=${since}`}`;

function toMessage(
  version: string,
  resource: string,
  since: string | null,
  { generation, counts, from, next }: ChangesSince,
): messages.RecordsMessage {
  const data = {
    ...{ version, resource, generation: Number(generation) },
    ...{ upserts: counts?.upserts ?? null, deletes: counts?.deletes ?? null },
    ...{ startOver: counts === null, next: toAddress(version, resource, from) },
  };
  return { resource, data, since: counts && since, next_since: next };
}

/**
 * Stores what is new about a resource. A message that was attempted keeps its contents: when there is more to tell, its
 * successor tells all of it. Writes nothing once the lease was lost.
 */
async function store(
  tx: Tx,
  ctx: WebhookCtx,
  job: Job,
  message: messages.RecordsMessage,
  { isNews, since }: { readonly isNews: boolean; readonly since: string | null },
): Promise<void> {
  const { organizationId } = ctx;
  const { resource } = message;
  const { key: endpointId } = job;
  // A message may have been sent by a lost commit.
  await recordServerTimeline(tx);
  if (!(await lockJob(tx, job))) return;
  // A replay, or another delivery, moved the position meanwhile.
  const positions = await endpoints.readPositions(tx, organizationId, endpointId);
  if ((positions.get(resource) ?? null) !== since) return;
  const waiting = await messages.lockWaiting(tx, organizationId, endpointId, resource);
  const isKnown = ['generation', 'next'].every((name) => waiting?.data[name] === message.data[name]);
  if (waiting !== undefined && isNews && isKnown) return;
  const now = ctx.clock.now();
  if (waiting !== undefined && isNews && waiting.attempts === 0)
    return void (await messages.updateMessage(tx, organizationId, waiting.id, message));
  if (waiting !== undefined)
    await messages.updateMessage(tx, organizationId, waiting.id, { status: 'superseded', ended_at: now });
  if (isNews) await messages.insertRecordsMessage(tx, organizationId, endpointId, message, now);
  else await endpoints.savePosition(tx, organizationId, endpointId, resource, message.next_since);
}

/**
 * Brings the waiting messages about changed records up to date. False when a resource could not be read. Rejects while the
 * database or the version can't be read.
 */
export async function composeRecordMessages(ctx: WebhookCtx, job: Job, follower: Follower): Promise<boolean> {
  const { organizationId } = ctx;
  const { endpoint, reads } = follower;
  const version = endpoint.version ?? '';
  const positions = await inTransaction(ctx, (tx) => endpoints.readPositions(tx, organizationId, job.key));
  const readable: string[] = [];
  let isComplete = true;
  for (const resource of await listFollowed(ctx, follower)) {
    const since = positions.get(resource) ?? null;
    const found = await countChanges(ctx, { version, resource, reads }, since).catch(unlessUnavailable);
    if (found === undefined) continue;
    readable.push(resource);
    if (found === 'unavailable') isComplete = false;
    if (found === 'unavailable' || found.next === since) continue;
    const { counts } = found;
    const isNews = counts === null || counts.upserts + counts.deletes > 0;
    const message = toMessage(version, resource, since, found);
    await inTransaction(ctx, (tx) => store(tx, ctx, job, message, { isNews, since }));
  }
  // What can't be read now is composed again once it can: the position stays.
  await inTransaction(ctx, async (tx) => {
    if (await lockJob(tx, job))
      await messages.withdraw(tx, organizationId, job.key, { otherResources: readable }, ctx.clock.now());
  });
  return isComplete;
}

/** From now on: the endpoint knows what is there already. */
export async function readPresent(ctx: WebhookCtx, follower: Following) {
  const { version } = follower.endpoint;
  const followed = await listFollowed(ctx, follower);
  const found = await Promise.all(
    followed.map(async (resource) => {
      const feed = { version: version ?? '', resource, reads: follower.reads };
      return [resource, (await countChanges(ctx, feed, null).catch(unlessUnavailable)) ?? null] as const;
    }),
  );
  return new Map(
    found.map(([resource, at]) => [resource, at === null || at === 'unavailable' ? null : at.next]),
  );
}
