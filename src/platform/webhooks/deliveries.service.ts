// The log of an endpoint's deliveries, and sending them once more. Events are repeated under their ids; of changed records
// one new message for each resource tells everything since then, so that numbers never fall.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid, orNotFound } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { type EventType, eventPermissions, testEvent, wakeEndpoint } from '../../webhooks/index.ts';
import { savePosition, updateEndpoint } from './endpoints.store.ts';
import * as store from './messages.store.ts';
import { toMessageId } from './send.ts';
import type { Replay, WebhookDelivery } from './webhooks.schemas.ts';
import { getRow, lockRow } from './webhooks.service.ts';

/** An answer may repeat what was sent. */
const viewAttempt = (row: store.AttemptRow, maySee: boolean): WebhookDelivery['attempts'][number] => ({
  ...{ number: row.number, reason: row.reason, startedAt: instant(row.started_at) },
  ...{ durationMs: row.duration_ms, status: row.status, error: row.error },
  response: maySee ? row.response : null,
});

async function viewMessages(
  tx: Tx,
  { organizationId, principal }: RequestCtx,
  rows: readonly store.MessageRow[],
): Promise<WebhookDelivery[]> {
  const attempts = await store.listAttempts(
    tx,
    organizationId,
    rows.map(({ id }) => id),
  );
  const maySee = (type: string): boolean =>
    type === testEvent || principal.permissions.has(eventPermissions[type as EventType]);
  return rows.map((row) => ({
    ...{ id: row.id, messageId: toMessageId(row.id), type: row.type, status: row.status },
    data: maySee(row.type) ? row.data : null,
    createdAt: instant(row.created_at),
    nextAttemptAt: row.status === 'waiting' ? instant(row.due_at) : null,
    endedAt: instantOrNull(row.ended_at),
    attempts: (attempts.get(row.id) ?? []).map((attempt) => viewAttempt(attempt, maySee(row.type))),
  }));
}

/** Newest first. Throws 404 for an unknown endpoint. */
export const listWebhookDeliveries = (
  ctx: RequestCtx,
  endpointId: string,
  page: PageQuery,
  filter: store.MessageFilter,
) =>
  inTransaction(ctx, async (tx) => {
    await getRow(tx, ctx, endpointId);
    const { rows, total } = await store.listMessageRows(tx, ctx.organizationId, endpointId, page, filter);
    return toPage(await viewMessages(tx, ctx, rows), total, page);
  });

/** Throws 404 for an unknown endpoint or delivery. */
export const getWebhookDelivery = (ctx: RequestCtx, endpointId: string, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = await store.findMessageRow(tx, ctx.organizationId, endpointId, id);
    const [found] = row === undefined ? [] : await viewMessages(tx, ctx, [row]);
    return orNotFound(found, 'Delivery');
  });

/** Throws 404 for an unknown endpoint or delivery, and 422 while the endpoint is disabled. */
export const replayDeliveries = (ctx: RequestCtx, endpointId: string, { deliveryId, ...span }: Replay) =>
  inTransaction(ctx, async (tx) => {
    const { organizationId } = ctx;
    const { enabled, events } = await lockRow(tx, ctx, endpointId);
    if (!enabled)
      throw invalid('The webhook is disabled', [{ path: '', code: 'disabled', message: 'Enable it first' }]);
    if (deliveryId !== undefined)
      orNotFound(await store.findMessageRow(tx, organizationId, endpointId, deliveryId), 'Delivery');
    const filter = deliveryId === undefined ? span : { id: deliveryId };
    const now = ctx.clock.now();
    // The job is locked before what it works on.
    await wakeEndpoint(tx, organizationId, endpointId);
    const beginnings = await store.listBeginnings(tx, organizationId, endpointId, filter);
    const resources = [...beginnings.keys()].sort();
    await store.withdraw(tx, organizationId, endpointId, { resources }, now);
    for (const [resource, since] of beginnings)
      await savePosition(tx, organizationId, endpointId, resource, since);
    const types = [...events, testEvent];
    const messages = await store.repeatMessages(tx, organizationId, endpointId, filter, types, now);
    await updateEndpoint(tx, organizationId, endpointId, { waits_until: null });
    await writeAudit(tx, ctx, 'webhook.replay', ['webhook', endpointId], { deliveryId, ...span });
    return { messages, resources };
  });
