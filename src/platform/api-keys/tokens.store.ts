// What minting reads of a key, and the rows of token_revocations.
import type { Tx } from '../../db/transaction.ts';

/** The stored hash of the key's current secret. */
export async function readSecretHash(tx: Tx, organizationId: string, id: string) {
  const row = await tx('api_keys')
    .where({ organization_id: organizationId, id })
    .first<{ secret_hash: Buffer } | undefined>('secret_hash');
  return row?.secret_hash;
}

/** The time by the clock that revocations are recorded with, in whole milliseconds, rounded down. */
export async function readClockMs(tx: Tx): Promise<number> {
  const { rows } = await tx.raw<{ rows: { ms: string }[] }>(
    'select floor(extract(epoch from clock_timestamp()) * 1000)::text as ms',
  );
  return Number(rows[0]?.ms);
}

/** Tokens of the key and subject that were issued until now are refused. */
export const revokeSubject = (tx: Tx, organizationId: string, apiKeyId: string, subject: string) =>
  tx('token_revocations')
    .insert({
      organization_id: organizationId,
      api_key_id: apiKeyId,
      subject,
      revoked_at: tx.raw('clock_timestamp()'),
    })
    .onConflict(['organization_id', 'api_key_id', 'subject'])
    .merge(['revoked_at']);
