// Who pays: a caller of the management interface for a customer, or a visitor of the portal.
import type { ReadingCtx, TenantCtx } from '../../../core/ctx.ts';
import type { RecordAccess } from '../../../core/record-access.ts';
import type { Author } from '../../../identity/audit.store.ts';

/** `disconnected`: aborted when the payer's client disconnects before the response is complete. */
export type PayerCtx = ReadingCtx &
  TenantCtx &
  Author & {
    readonly disconnected: AbortSignal;
    readonly principal: { readonly reads: Pick<RecordAccess, 'unmasked'> };
  };
