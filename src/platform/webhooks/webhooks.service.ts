// Rules of webhook endpoints: an address that can be called, a key within what the caller may read, resources that the key
// reads, and events that the caller may read about.
import { isDeepStrictEqual } from 'node:util';
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, type ErrorDetail, invalid } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { isLoopbackHttp } from '../../core/network/loopback.ts';
import { didYouMean } from '../../core/text/nearest-name.ts';
import { cancelJob } from '../../db/jobs.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, viewPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { listFeeds } from '../../public/index.ts';
import {
  createWebhookSecret,
  eventPermissions,
  insertMessage,
  recordsChanged,
  testEvent,
  toVerificationKey,
  wakeEndpoint,
} from '../../webhooks/index.ts';
import { findApiKeyRow } from '../api-keys/api-keys.store.ts';
import { assertWithinCeiling } from '../api-keys/ceiling.ts';
import { assertQuota } from '../quotas.ts';
import { getterOf } from '../rows.ts';
import { type Follower, readPresent, toReads } from './compose.ts';
import { disabledMessages } from './disabled-mail.ts';
import type { EndpointRow } from './endpoints.store.ts';
import * as store from './endpoints.store.ts';
import * as messages from './messages.store.ts';
import { openSecrets, sealSecret } from './secrets.ts';
import type { NewWebhook, Webhook, WebhookPatch } from './webhooks.schemas.ts';

export const getRow = getterOf(store.findEndpointRow, 'Webhook');
export const lockRow = getterOf(store.lockEndpointRow, 'Webhook');

function view(ctx: RequestCtx, row: EndpointRow): Webhook {
  const { disabled_reason: reason, previous_secret_ends_at: endsAt, waits_until: waitsUntil } = row;
  const now = ctx.clock.now();
  return {
    ...{ id: row.id, url: row.url, description: row.description, events: row.events },
    ...{ version: row.version, resources: row.resources, keyId: row.api_key_id, include: row.include },
    signature: row.signature,
    publicKey: row.signature === 'v1' ? null : toVerificationKey(openSecrets(ctx, row)[0]),
    previousSecretEndsAt: endsAt !== null && endsAt > now ? instant(endsAt) : null,
    enabled: row.enabled,
    disabledReason: reason === null ? null : { code: reason, message: disabledMessages[reason] },
    failingSince: instantOrNull(row.failing_since),
    nextAttemptAt: waitsUntil !== null && waitsUntil > now ? instant(waitsUntil) : null,
    createdAt: instant(row.created_at),
    updatedAt: instant(row.updated_at),
  };
}
const withSecret = (ctx: RequestCtx, row: EndpointRow) => ({
  ...view(ctx, row),
  secret: row.signature === 'v1' ? openSecrets(ctx, row)[0] : null,
});

export const listWebhooks = (ctx: RequestCtx, page: PageQuery) =>
  inTransaction(ctx, async (tx) =>
    viewPage(await store.listEndpointRows(tx, ctx.organizationId, page), page, (row) => view(ctx, row)),
  );

/** Throws 404 for an unknown endpoint. */
export const getWebhook = (ctx: RequestCtx, id: string): Promise<Webhook> =>
  inTransaction(ctx, async (tx) => view(ctx, await getRow(tx, ctx, id)));

type Wanted = Pick<NewWebhook, 'url' | 'events' | 'version' | 'resources' | 'keyId'>;

function findUrlProblem(ctx: RequestCtx, address: string): string | undefined {
  const { protocol, username, password } = new URL(address);
  if (username !== '' || password !== '') return 'Must not contain a user name or password';
  const isAllowed = protocol === 'https:' || (!ctx.settings.production && isLoopbackHttp(address));
  return isAllowed ? undefined : 'Must be an https URL';
}

/** Throws 403 for events that the caller may not read about. */
function assertEvents({ principal }: RequestCtx, events: readonly (keyof typeof eventPermissions)[]): void {
  const missing = events.filter((type) => !principal.permissions.has(eventPermissions[type]));
  if (missing.length === 0) return;
  throw new AppError('FORBIDDEN', 'You may not read what these events are about', {
    details: missing.map((type) => ({
      path: `events[${events.indexOf(type)}]`,
      code: 'missing_permission',
      message: `${type} needs ${eventPermissions[type]}`,
    })),
  });
}

/** The key, if it is active and reads nothing that the caller doesn't. */
async function findKey(tx: Tx, ctx: RequestCtx, id: string) {
  const key = await findApiKeyRow(tx, ctx.organizationId, id);
  if (key === undefined || key.status !== 'active')
    throw invalid('Unknown API key', [
      { path: 'keyId', code: 'unknown_key', message: 'Use the id of an active API key' },
    ]);
  const reads = toReads(key);
  const [layer] = reads.layers;
  if (layer !== undefined)
    assertWithinCeiling(
      ctx,
      { reads: layer, unmasked: reads.unmasked, manages: new Set(), expiresAt: key.expires_at },
      undefined,
    );
  return reads;
}

async function findResourceProblems(
  ctx: RequestCtx,
  { events, version, resources }: Wanted,
  reads: Follower['reads'],
): Promise<ErrorDetail[]> {
  const follows = events.includes(recordsChanged);
  if (!follows && (version !== null || resources.length > 0))
    return [{ path: 'version', code: 'not_followed', message: `Only with the event ${recordsChanged}` }];
  if (!follows) return [];
  if (version === null)
    return [{ path: 'version', code: 'required', message: 'Name the published version to follow' }];
  const found = await listFeeds(ctx, version, reads).catch((error: unknown) => {
    if (error instanceof AppError && error.status < 500) return undefined;
    throw error;
  });
  if (found === undefined)
    return [
      { path: 'version', code: 'unknown_version', message: 'No version that the key reads has this name' },
    ];
  return resources.flatMap((name, index) =>
    found.includes(name)
      ? []
      : [
          {
            ...{ path: `resources[${index}]`, code: 'unknown_resource' },
            message: `The key reads no resource of this name.${didYouMean(name, found)}`,
          },
        ],
  );
}

/** Throws 422 for what can't be followed or called, and 403 for what the caller may not read. */
async function checkWanted(ctx: RequestCtx, wanted: Wanted): Promise<Follower['reads']> {
  assertEvents(ctx, wanted.events);
  const reads = await inTransaction(ctx, (tx) => findKey(tx, ctx, wanted.keyId));
  const problem = findUrlProblem(ctx, wanted.url);
  const details = [
    ...(problem === undefined ? [] : [{ path: 'url', code: 'invalid_url', message: problem }]),
    ...(await findResourceProblems(ctx, wanted, reads)),
  ];
  if (details.length > 0) throw invalid('The webhook is not valid', details);
  return reads;
}

/** What the endpoint doesn't get: the records as they are now. */
async function savePresent(tx: Tx, ctx: RequestCtx, id: string, present: store.Positions): Promise<void> {
  for (const [resource, since] of present)
    await store.savePosition(tx, ctx.organizationId, id, resource, since);
}

/**
 * Sends events from now on. Throws 403 for events or a key beyond what the caller may read, and 422 for an address that
 * can't be called, an unknown key, version or resource, and at the quota.
 */
export async function createWebhook(ctx: RequestCtx, body: NewWebhook) {
  const { keyId, ...given } = body;
  const reads = await checkWanted(ctx, body);
  const id = createId();
  const row = {
    ...{ ...given, id, api_key_id: keyId, events: [...new Set(body.events)], disabled_reason: null },
    secret: sealSecret(ctx, id, createWebhookSecret(body.signature)),
    ...{ previous_secret: null, previous_secret_ends_at: null },
  };
  const present = await readPresent(ctx, { endpoint: row, reads });
  return inTransaction(ctx, async (tx) => {
    await assertQuota(tx, ctx, 'webhooks');
    await store.insertEndpoint(tx, ctx.organizationId, row);
    await savePresent(tx, ctx, id, present);
    await writeAudit(tx, ctx, 'webhook.create', ['webhook', id], body);
    await wakeEndpoint(tx, ctx.organizationId, id);
    return withSecret(ctx, await getRow(tx, ctx, id));
  });
}

const checkedFields = ['url', 'events', 'version', 'resources', 'keyId'] as const;
const checkedColumns = ['url', 'events', 'version', 'resources', 'api_key_id'] as const;
const isSame = (a: EndpointRow, b: EndpointRow): boolean =>
  checkedColumns.every((name) => isDeepStrictEqual(a[name], b[name]));

/** `present`: where resources begin that the endpoint doesn't know yet. The job is locked before what it works on. */
async function writeUpdate(
  tx: Tx,
  ctx: RequestCtx,
  row: EndpointRow,
  { keyId, ...given }: WebhookPatch,
  present: store.Positions,
): Promise<void> {
  const { organizationId } = ctx;
  const { id } = row;
  const enabled = given.enabled ?? row.enabled;
  await store.updateEndpoint(tx, organizationId, id, {
    ...{ ...given, api_key_id: keyId },
    ...(given.enabled === true && { disabled_reason: null }),
    ...(enabled && store.well),
  });
  if (enabled) await wakeEndpoint(tx, organizationId, id);
  const known = await store.readPositions(tx, organizationId, id);
  await savePresent(tx, ctx, id, new Map([...present].filter(([resource]) => !known.has(resource))));
  const now = ctx.clock.now();
  const otherTypes = [...(given.events ?? row.events), testEvent];
  await messages.withdraw(tx, organizationId, id, { otherTypes }, now);
  if (enabled) await messages.hurry(tx, organizationId, id, now);
}

/**
 * An endpoint that is enabled gets the records that changed while it was disabled. What it knows of another version, or by
 * another key, it reads from the beginning; of further resources it gets changes from now on. Throws as `createWebhook`
 * does, and 404.
 */
export async function updateWebhook(ctx: RequestCtx, id: string, patch: WebhookPatch): Promise<Webhook> {
  const before = await inTransaction(ctx, (tx) => getRow(tx, ctx, id));
  const keyId = patch.keyId ?? before.api_key_id;
  const wanted = {
    ...{ url: patch.url ?? before.url, events: patch.events ?? before.events, keyId, api_key_id: keyId },
    version: patch.version === undefined ? before.version : patch.version,
    resources: patch.resources ?? before.resources,
  };
  // Callers who may not read what it is about can disable it.
  const isChecked = patch.enabled === true || checkedFields.some((field) => patch[field] !== undefined);
  const reads = isChecked ? await checkWanted(ctx, wanted) : undefined;
  const present: store.Positions =
    reads === undefined ? new Map() : await readPresent(ctx, { endpoint: wanted, reads });
  const updated = await inTransaction(ctx, async (tx) => {
    const row = await lockRow(tx, ctx, id);
    if (isChecked && !isSame(row, before)) return undefined;
    await writeUpdate(tx, ctx, row, patch, present);
    await writeAudit(tx, ctx, 'webhook.update', ['webhook', id], patch);
    return view(ctx, await getRow(tx, ctx, id));
  });
  // What was checked has changed meanwhile.
  return updated ?? updateWebhook(ctx, id, patch);
}

/** Deletes its deliveries as well. Throws 404. */
export const deleteWebhook = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { url } = await lockRow(tx, ctx, id);
    await cancelJob(tx, { kind: 'webhooks', organizationId: ctx.organizationId, key: id });
    await store.deleteEndpoint(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, 'webhook.delete', ['webhook', id], { url });
  });

/** The former secret signs as well for `overlapHours`. Throws 404. */
export const rotateSecret = (ctx: RequestCtx, id: string, { overlapHours }: { overlapHours: number }) =>
  inTransaction(ctx, async (tx) => {
    const row = await lockRow(tx, ctx, id);
    const endsAt = new Date(ctx.clock.now().getTime() + overlapHours * 3_600_000);
    await store.updateEndpoint(tx, ctx.organizationId, id, {
      secret: sealSecret(ctx, id, createWebhookSecret(row.signature)),
      previous_secret: overlapHours === 0 ? null : row.secret,
      previous_secret_ends_at: overlapHours === 0 ? null : endsAt,
    });
    await writeAudit(tx, ctx, 'webhook.rotate', ['webhook', id], { overlapHours });
    return withSecret(ctx, await getRow(tx, ctx, id));
  });

/** Throws 404, and 422 while the endpoint is disabled. */
export const testWebhook = (ctx: RequestCtx, id: string): Promise<string> =>
  inTransaction(ctx, async (tx) => {
    const { enabled } = await lockRow(tx, ctx, id);
    if (!enabled)
      throw invalid('The webhook is disabled', [{ path: '', code: 'disabled', message: 'Enable it first' }]);
    const messageId = await insertMessage(tx, ctx.organizationId, id, testEvent, { endpointId: id });
    // A test is sent at once, also while attempts fail.
    await store.updateEndpoint(tx, ctx.organizationId, id, { waits_until: null });
    await wakeEndpoint(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, 'webhook.test', ['webhook', id]);
    return messageId;
  });
