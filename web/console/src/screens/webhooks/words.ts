// Webhooks in words: their states, those of deliveries, and the events.
import type { Answer, Item } from '../../api.ts';
import { formatCount } from '../../format.ts';
import type { State, States } from '../../parts/detail.tsx';

export type Webhook = Answer<'/webhooks/{id}'>;
export type Delivery = Item<'/webhooks/{id}/deliveries'>;
export type EventType = Webhook['events'][number];

/** What one must be able to read to hear of it. */
export const eventPermissions: Readonly<Record<EventType, string>> = {
  'records.changed': 'record:read',
  'sync.failed': 'sync:read',
  'sync.partial': 'sync:read',
  'sync.recovered': 'sync:read',
  'sync.stale': 'sync:read',
  'schema.published': 'api-schema:read',
  'schema.deprecated': 'api-schema:read',
  'schema.retired': 'api-schema:read',
  'payment.succeeded': 'payment:read',
  'payment.failed': 'payment:read',
  'refund.succeeded': 'payment:read',
  'refund.failed': 'payment:read',
  'connection.certificate_expiring': 'netsuite:read',
  'connection.failed': 'netsuite:read',
};

/** By `enabled`, why it was disabled, and whether attempts fail. */
export function stateOf({ enabled, disabledReason, failingSince }: Webhook): State {
  if (!enabled) return [disabledReason === null ? 'calm' : 'bad', 'Disabled'];
  return failingSince === null ? ['good', 'Enabled'] : ['warn', 'Failing'];
}

export const deliveryStates: States<Delivery['status']> = {
  waiting: ['busy', 'Waiting'],
  delivered: ['good', 'Delivered'],
  failed: ['bad', 'Failed'],
  superseded: ['calm', 'Superseded'],
};

/** What a message is about, in one line. */
export function aboutDelivery({ data }: Delivery): string {
  const { resource, upserts, deletes, startOver, name, version, customerId } = data ?? {};
  if (startOver === true) return `${resource}: start over`;
  if (typeof upserts === 'number')
    return `${resource}: ${formatCount(upserts + Number(deletes), 'changed record')}`;
  return [name, version, customerId].filter((text) => typeof text === 'string').join(' · ');
}

/** The host and path, without what is the same for all. */
export const shortAddress = (url: string): string => url.replace(/^https?:\/\//, '');
