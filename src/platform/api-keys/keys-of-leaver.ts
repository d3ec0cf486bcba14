// Revokes or transfers the keys of a member who leaves. A transferred key keeps reading the public interface, which depends only on the
// organization. On the management interface it never gains permissions, because the former member still knows its secret, and it has
// permissions only if the recipient agreed to take it over.
import type { Tx } from '../../db/transaction.ts';
import { managementPermissionsOf } from './api-keys.service.ts';
import { type ApiKeyRow, endGracePeriod, handOverKey, markApiKeyRevoked, restrictOldSecret } from './api-keys.store.ts';

/** Someone else has rotated the key since: only its old secret belongs to the leaving member. */
const isRotatedAway = (key: ApiKeyRow, leaverId: string): boolean => key.user_id !== leaverId;

/** Revokes the keys; of keys that someone else has rotated, only the old secret. */
export async function revokeKeys(tx: Tx, organizationId: string, keys: readonly ApiKeyRow[], leaverId: string): Promise<void> {
  for (const key of keys) {
    if (isRotatedAway(key, leaverId)) await endGracePeriod(tx, organizationId, key.id);
    else await markApiKeyRevoked(tx, organizationId, key.id);
  }
}

/** `agreed`: the recipient asked for the transfer. */
export type KeyRecipient = { readonly id: string; readonly agreed: boolean };

/** Call before the membership is deleted: the ceiling is what each key can do now, or nothing when the recipient has not agreed. */
export async function handOverKeys(
  tx: Tx,
  organizationId: string,
  keys: readonly ApiKeyRow[],
  leaverId: string,
  recipient: KeyRecipient,
): Promise<void> {
  for (const key of keys) {
    if (isRotatedAway(key, leaverId)) {
      await restrictOldSecret(tx, organizationId, key.id);
      continue;
    }
    const ceilingOf = (ceiling: string[] | null) => (recipient.agreed ? [...managementPermissionsOf(key, key, ceiling)] : []);
    const actedForSame = key.previous_created_by === leaverId;
    await handOverKey(tx, organizationId, key.id, recipient.id, {
      ceiling: ceilingOf(key.ceiling),
      previousCeiling: actedForSame ? ceilingOf(key.previous_ceiling) : null,
    });
  }
}
