// Announces events to the endpoints that want them, in the transaction of what happened: an event of a change that was
// rolled back is never sent, one of a change that was committed always is.
import { createId } from '../core/id.ts';
import { enqueueJob } from '../db/jobs.ts';
import type { Tx } from '../db/transaction.ts';
import { type EventType, recordsChanged } from './event-types.ts';

/**
 * The enabled endpoints of the organization that want events of the type. Until the transaction ends, they aren't deleted,
 * and others of the organization wait here: they would lock the same jobs in another order.
 */
export async function lockListeners(
  tx: Tx,
  organizationId: string,
  type: EventType,
): Promise<{ id: string }[]> {
  const listeners = tx('webhook_endpoints')
    .where({ organization_id: organizationId, enabled: true })
    .whereRaw('? = any(events)', [type]);
  if ((await listeners.clone().first('id')) === undefined) return [];
  await tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`webhooks ${organizationId}`]);
  return listeners.orderBy('id').forKeyShare().select('id');
}

/** Makes an endpoint's next messages due. */
export const wakeEndpoint = (tx: Tx, organizationId: string, id: string): Promise<void> =>
  enqueueJob(tx, { kind: 'webhooks', organizationId, key: id });

/** `data`: what receivers get, without records. */
export async function announce(
  tx: Tx,
  organizationId: string,
  type: Exclude<EventType, typeof recordsChanged>,
  data: object,
): Promise<void> {
  for (const { id } of await lockListeners(tx, organizationId, type)) {
    await insertMessage(tx, organizationId, id, type, data);
    await wakeEndpoint(tx, organizationId, id);
  }
}

/** An event for one endpoint, due at once. Returns its id. */
export async function insertMessage(
  tx: Tx,
  organizationId: string,
  endpointId: string,
  type: string,
  data: object,
): Promise<string> {
  const id = createId();
  const now = tx.raw('clock_timestamp()');
  await tx('webhook_messages').insert({
    ...{ id, organization_id: organizationId, endpoint_id: endpointId, type, data: JSON.stringify(data) },
    ...{ status: 'waiting', due_at: now, created_at: now },
  });
  return id;
}

/** A run has published: each endpoint that follows records looks what that means for it. */
export async function announceRecords(tx: Tx, organizationId: string): Promise<void> {
  for (const { id } of await lockListeners(tx, organizationId, recordsChanged))
    await wakeEndpoint(tx, organizationId, id);
}
