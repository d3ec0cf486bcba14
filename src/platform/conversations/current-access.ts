// What the person or key that asked may read now: during an answer a credential, role or key may change.
import type { RequestCtx } from '../../core/ctx.ts';
import type { RecordAccess } from '../../core/record-access.ts';
import { inTransaction } from '../../db/transaction.ts';
import { findRights } from '../current-rights.ts';

/**
 * What the asker may read now, masked if it was masked when they asked. Undefined when the credential has
 * ended, or may no longer ask agents or read records. Rejects with database errors.
 */
export const findCurrentAccess = (ctx: RequestCtx): Promise<RecordAccess | undefined> =>
  inTransaction(ctx, async (tx) => {
    const { user, credential } = ctx.principal;
    const rights = await findRights(tx, ctx.organizationId, user.id, credential);
    if (
      rights === undefined ||
      !rights.permissions.has('record:read') ||
      !rights.permissions.has('conversation:create')
    )
      return undefined;
    return { ...rights.access, unmasked: rights.access.unmasked && ctx.principal.reads.unmasked };
  });
