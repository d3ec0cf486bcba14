// The secrets of endpoints: encrypted with the endpoint's id as additional data, shown once.
import type { TenantCtx } from '../../core/ctx.ts';
import type { EndpointRow } from './endpoints.store.ts';

/** Additional authenticated data of encrypted secrets. Changing it makes stored secrets unreadable. */
export const webhookBinding = (organizationId: string, endpointId: string): string =>
  `${organizationId}/webhook/${endpointId}`;

export const sealSecret = ({ keyring, organizationId }: TenantCtx, endpointId: string, secret: string) =>
  keyring.encrypt(secret, webhookBinding(organizationId, endpointId));

/** Those that sign at the moment, the newest first. Throws DecryptionError without the key. */
export function openSecrets(
  { keyring, organizationId, clock }: TenantCtx,
  { id, secret, previous_secret: previous, previous_secret_ends_at: endsAt }: EndpointRow,
): [string, ...string[]] {
  const open = (text: string): string => keyring.decrypt(text, webhookBinding(organizationId, id));
  const counts = previous !== null && endsAt !== null && endsAt > clock.now();
  return [open(secret), ...(counts ? [open(previous)] : [])];
}
