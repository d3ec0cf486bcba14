// The secret of an organization from which the keys of masked fields (`hash`) are derived. It never changes,
// so that equal values keep equal hashes from one version to the next.
import { randomBytes } from 'node:crypto';
import type { TenantCtx } from '../../core/ctx.ts';
import { DecryptionError } from '../../core/secrets/keyring.ts';
import type { Tx } from '../../db/transaction.ts';
import { listMasks } from './masks.ts';
import type { EndpointDefinition } from './schema-document.ts';

const secretBytes = 32;

type SecretCtx = Pick<TenantCtx, 'keyring' | 'organizationId'>;

/** The associated data of the stored secret. */
export const maskSecretBinding = (organizationId: string): string => `${organizationId}/mask-secret`;

/**
 * Undefined until a version with such a mask is published, and without the key that encrypted it. Rejects
 * with database errors.
 */
export async function findMaskSecret(
  tx: Tx,
  { keyring, organizationId }: SecretCtx,
): Promise<Buffer | undefined> {
  const row = await tx('mask_secrets')
    .where('organization_id', organizationId)
    .first<{ secret: string } | undefined>('secret');
  try {
    return row && Buffer.from(keyring.decrypt(row.secret, maskSecretBinding(organizationId)), 'base64');
  } catch (error) {
    if (error instanceof DecryptionError) return undefined;
    throw error;
  }
}

/** Creates the organization's secret if the endpoints need one and it has none that can be decrypted. */
export async function ensureMaskSecret(tx: Tx, ctx: SecretCtx, endpoints: readonly EndpointDefinition[]) {
  if (!listMasks(endpoints).has('hash') || (await findMaskSecret(tx, ctx)) !== undefined) return;
  const { keyring, organizationId } = ctx;
  const secret = keyring.encrypt(
    randomBytes(secretBytes).toString('base64'),
    maskSecretBinding(organizationId),
  );
  await tx('mask_secrets')
    .insert({ organization_id: organizationId, secret })
    .onConflict('organization_id')
    .merge(['secret']);
}
