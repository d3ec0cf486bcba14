export { announce, announceRecords, insertMessage, lockListeners, wakeEndpoint } from './announce.ts';
export { type EventType, eventPermissions, eventTypes, recordsChanged, testEvent } from './event-types.ts';
export {
  createWebhookSecret,
  type SignatureKind,
  signatureKinds,
  signMessage,
  toVerificationKey,
} from './signature.ts';
