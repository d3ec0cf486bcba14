export type {
  Change,
  ChangePage,
  ChangeStore,
  Changes,
  ChangesOptions,
  Deletion,
  Upsert,
} from './changes.ts';
export { createClient, type Resource, type ResourceFacts } from './client.ts';
export { connect, type FoundVersion, type UntypedResource } from './connect.ts';
export { ApiError, ConnectionError, type ErrorDetail, InterruptedError } from './errors.ts';
export type { List, Page, Pagination } from './list.ts';
export type { CallOptions, ClientOptions, Freshness } from './transport.ts';
export type { Inherited, None, Numeric, OneOrMore, ResourceTypes, Summary, Time } from './types.ts';
export {
  type RecordsChanged,
  type VerifyOptions,
  verifyWebhook,
  WebhookError,
  type WebhookErrorCode,
  type WebhookEvent,
  type WebhookHeaders,
} from './webhooks.ts';
