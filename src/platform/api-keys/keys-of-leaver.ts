// What becomes of the keys of someone who leaves. Their public reads depend on the organization alone and go on; on the management
// interface a key that is handed over never does more than it did: whoever left still knows its secret. And it only ever acts for
// somebody who took it over by their own word.
import type { Tx } from '../../db/transaction.ts';
import { powerOf } from './api-keys.service.ts';
import { type ApiKeyRow, boundGrace, endGrace, handOverKey, revokeApiKey } from './api-keys.store.ts';

/** Of a key that somebody else has since rotated, only the old secret is the leaver's. */
const isRotatedAway = (key: ApiKeyRow, leaverId: string): boolean => key.user_id !== leaverId;

export async function revokeKeys(tx: Tx, organizationId: string, keys: readonly ApiKeyRow[], leaverId: string): Promise<void> {
  for (const key of keys) {
    if (isRotatedAway(key, leaverId)) await endGrace(tx, organizationId, key.id);
    else await revokeApiKey(tx, organizationId, key.id);
  }
}

export type Heir = { readonly id: string; readonly agreed: boolean };

/** To be called while the one who leaves is still a member: the bound is what each key can do now, or nothing for an heir unasked. */
export async function handOverKeys(
  tx: Tx,
  organizationId: string,
  keys: readonly ApiKeyRow[],
  leaverId: string,
  heir: Heir,
): Promise<void> {
  for (const key of keys) {
    if (isRotatedAway(key, leaverId)) {
      await boundGrace(tx, organizationId, key.id);
      continue;
    }
    const bound = (ceiling: string[] | null) => (heir.agreed ? [...powerOf(key, key, ceiling)] : []);
    const actedForSame = key.previous_created_by === leaverId;
    await handOverKey(tx, organizationId, key.id, heir.id, {
      ceiling: bound(key.ceiling),
      previousCeiling: actedForSame ? bound(key.previous_ceiling) : null,
    });
  }
}
