// Revokes or transfers the keys of a member who leaves. A transferred key keeps reading the public interface
// until its secret ends: the former member still knows it. On the management interface it never gains
// permissions, and it has permissions only if the recipient agreed to take it over. Keys that have expired
// are revoked or transferred as well, because someone could extend them later.
import type { Tx } from '../../db/transaction.ts';
import { computeManagementPermissions } from './api-keys.service.ts';
import {
  type ApiKeyRow,
  endGracePeriod,
  handOverKey,
  markApiKeyRevoked,
  restrictOldSecret,
} from './api-keys.store.ts';

/** Someone else has rotated the key since: only its old secret belongs to the leaving member. */
const isRotatedAway = (key: ApiKeyRow, leaverId: string): boolean => key.user_id !== leaverId;

/** Revokes the keys; of keys that someone else has rotated, only the old secret. */
export async function revokeKeys(
  tx: Tx,
  organizationId: string,
  keys: readonly ApiKeyRow[],
  leaverId: string,
): Promise<void> {
  for (const key of keys) {
    if (isRotatedAway(key, leaverId)) await endGracePeriod(tx, organizationId, key.id);
    else await markApiKeyRevoked(tx, organizationId, key.id);
  }
}

export type KeyTransfer = {
  readonly from: { readonly id: string; readonly email: string };
  /** `agreed`: the recipient asked for the transfer. */
  readonly to: { readonly id: string; readonly agreed: boolean };
  /** After this time the secrets end. */
  readonly graceSeconds: number;
};

/** Call before the membership is deleted: the ceiling is what a key can do now; nothing unless `agreed`. */
export async function handOverKeys(
  tx: Tx,
  organizationId: string,
  keys: readonly ApiKeyRow[],
  { from, to, graceSeconds }: KeyTransfer,
): Promise<void> {
  for (const key of keys) {
    if (isRotatedAway(key, from.id)) {
      await restrictOldSecret(tx, organizationId, key.id, graceSeconds);
      continue;
    }
    const computeCeiling = (ceiling: string[] | null) =>
      to.agreed ? [...computeManagementPermissions(key, ceiling)] : [];
    const actedForSame = key.previous_created_by === from.id;
    await handOverKey(
      tx,
      organizationId,
      key.id,
      { from: from.email, to: to.id, graceSeconds },
      {
        ceiling: computeCeiling(key.ceiling),
        previousCeiling: actedForSame ? computeCeiling(key.previous_ceiling) : null,
      },
    );
  }
}
