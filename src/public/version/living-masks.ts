// Which fields any published or deprecated version masks: reads inside the service, which no version
// describes, mask them too.

import type { TenantCtx } from '../../core/ctx.ts';
import { type Cache, type CacheOptions, createCache } from '../../core/work/cache.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { findMaskSecret } from './mask-secret.ts';
import { type FieldMask, fieldMask, strictestMask } from './masks.ts';
import type { Mask } from './schema-document.ts';

/** By record type, then by source (`lines.<field>` for lines): the strictest mask of any version. */
export type LivingMasks = ReadonlyMap<string, ReadonlyMap<string, FieldMask>>;

type MaskCtx = Pick<TenantCtx, 'db' | 'keyring' | 'organizationId'>;

/**
 * Rejects with database errors. Without the key that encrypted the organization's secret, masks of the kind
 * `hash` have no key.
 */
export type FindLivingMasks = (tenant: MaskCtx) => Promise<LivingMasks>;

type MaskRow = { recordType: string; source: string; declared: Mask[] };

const listMasks = async (tx: Tx, organizationId: string): Promise<MaskRow[]> => {
  const { rows } = await tx.raw<{ rows: MaskRow[] }>(
    `select e ->> 'recordType' as "recordType", m.source, array_agg(distinct m.mask) as declared
     from api_schemas s, jsonb_array_elements(s.endpoints) e, jsonb_array_elements(e -> 'fields') f,
       lateral (select f ->> 'source' as source, f ->> 'mask' as mask
         union all select concat(f ->> 'source', '.', l ->> 'source'), l ->> 'mask' from jsonb_array_elements(f -> 'fields') l) m
     where s.organization_id = ? and s.status in ('published', 'deprecated') and m.mask is not null group by 1, 2`,
    [organizationId],
  );
  return rows;
};

const readLivingMasks: FindLivingMasks = (ctx) =>
  inTransaction(ctx, async (tx) => {
    const rows = await listMasks(tx, ctx.organizationId);
    const secret = rows.some(({ declared }) => declared.includes('hash'))
      ? await findMaskSecret(tx, ctx)
      : undefined;
    const found = new Map<string, Map<string, FieldMask>>();
    for (const { recordType, source, declared } of rows) {
      const mask = fieldMask(strictestMask(declared), secret, recordType, source);
      const ofType = found.get(recordType) ?? new Map<string, FieldMask>();
      found.set(recordType, ofType);
      if (mask !== null) ofType.set(source, mask);
    }
    return found;
  });

const bytesPerMask = 300;

/** Caches the masks of each organization, for as long as `ttl` says. */
export function createLivingMasks(
  options: Pick<CacheOptions<LivingMasks>, 'maxBytes' | 'ttl'>,
): FindLivingMasks {
  const countBytes = (masks: LivingMasks): number =>
    [...masks.values()].reduce((sum, { size }) => sum + size * bytesPerMask, bytesPerMask);
  const cache: Cache<LivingMasks> = createCache({ ...options, countBytes });
  return (tenant) => cache.load(tenant.organizationId, () => readLivingMasks(tenant));
}
