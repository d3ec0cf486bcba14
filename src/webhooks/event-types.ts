// The events that webhooks can receive, and what an administrator must be able to read to subscribe to them.
import type { Permission } from '../core/permissions.ts';

export const eventPermissions = {
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
} as const satisfies Readonly<Record<string, Permission>>;

export type EventType = keyof typeof eventPermissions;
export const eventTypes = Object.keys(eventPermissions) as [EventType, ...EventType[]];

/** About the changed records of a resource. It is composed when it is sent. */
export const recordsChanged = 'records.changed' satisfies EventType;
/** Sent on request alone. */
export const testEvent = 'webhook.test';
