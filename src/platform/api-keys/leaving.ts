// What becomes of the keys of someone who leaves. Their public reads depend on the organization alone and go on; on the management
// interface a key that is handed over never does more than it did: whoever left still knows its secret.
import type { Tx } from '../../db/transaction.ts';
import { powerOf } from './api-keys.service.ts';
import { type ApiKeyRow, handOverKey, revokeApiKey } from './api-keys.store.ts';

export async function revokeKeys(tx: Tx, organizationId: string, keys: readonly ApiKeyRow[]): Promise<void> {
  for (const { id } of keys) await revokeApiKey(tx, organizationId, id);
}

/** To be called while the one who leaves is still a member: the bound is what each key can do now. */
export async function handOverKeys(tx: Tx, organizationId: string, keys: readonly ApiKeyRow[], to: string): Promise<void> {
  for (const key of keys) {
    const actedForSame = key.previous_created_by === key.user_id;
    await handOverKey(tx, organizationId, key.id, to, {
      ceiling: [...powerOf(key, key)],
      previousCeiling: actedForSame ? [...powerOf(key, key, key.previous_ceiling)] : null,
    });
  }
}
