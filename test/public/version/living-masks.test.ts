// The masks of living versions, and the secret from which the keys of hashes are derived, over HTTP and in
// the database.
import { beforeAll, describe, expect, it } from 'vitest';
import type { TenantCtx } from '../../../src/core/ctx.ts';
import { inTransaction } from '../../../src/db/transaction.ts';
import { ensureMaskSecret, findLivingMasks, SchemaDocument } from '../../../src/public/index.ts';
import { findMaskSecret } from '../../../src/public/version/mask-secret.ts';
import { maskedSql } from '../../../src/public/version/masks.ts';
import { makeOrganization } from '../../setup/organization.ts';
import { useStarted } from '../../setup/use-started.ts';
import { openSite, withReads } from '../fixture.ts';

const invoices = (...fields: object[]) => ({ name: 'invoices', recordType: 'invoice', fields });
const masked = (source: string, mask: string) => ({ name: source, source, mask });

const site = useStarted(() => {
  const rows = [{ id: 1, tranid: 'INV-000017', total: '1234567.50', trandate: '2026-03-04', entity: '1042' }];
  return openSite({ rows, versions: [] });
});
let tenant: TenantCtx;

beforeAll(async () => {
  ({ tenant } = site);
});

/** The masks that a process without cached ones finds. */
const livingMasks = async (of: TenantCtx = tenant) => {
  const found = await findLivingMasks({ ...withReads(site.ctx), organizationId: of.organizationId });
  return Object.fromEntries(
    [...found].map(([type, ofType]) => [
      type,
      Object.fromEntries([...ofType].map(([s, { kind }]) => [s, kind])),
    ]),
  );
};
const setStatus = (version: string, status: string) =>
  inTransaction(tenant, (tx) =>
    tx('api_schemas').where({ organization_id: tenant.organizationId, version }).update({ status }),
  );
const readMaskSecret = (of: TenantCtx) => inTransaction(of, (tx) => findMaskSecret(tx, of));

describe('findLivingMasks', () => {
  it('has the strictest mask of the published and deprecated versions, also of fields of lines', async () => {
    expect(await livingMasks()).toEqual({});
    const lines = {
      name: 'lines',
      source: 'lines',
      fields: [{ name: 'item', source: 'item', mask: 'last4' }],
    };
    const publish = (version: string, status: string, ...fields: object[]) =>
      site.publish({ version, status, endpoints: [invoices(...fields)] });
    await publish('v1', 'published', masked('total', 'last4'), { name: 'number', source: 'tranid' });
    await publish('v2', 'deprecated', masked('trandate', 'year'), lines);
    await publish('v3', 'draft', masked('tranid', 'hash'));
    expect(await livingMasks()).toEqual({
      invoice: { total: 'last4', trandate: 'year', 'lines.item': 'last4' },
    });
    await publish('v4', 'published', masked('total', 'hash'), masked('trandate', 'hash'));
    expect(await livingMasks()).toEqual({
      invoice: { total: 'hash', trandate: 'hash', 'lines.item': 'last4' },
    });
    await setStatus('v4', 'retired');
    await setStatus('v2', 'retired');
    expect(await livingMasks()).toEqual({ invoice: { total: 'last4' } });
  });

  it('knows nothing of other organizations', async () => {
    const { id } = await makeOrganization(site.ctx);
    expect(await livingMasks({ ...tenant, organizationId: id })).toEqual({});
  });
});

describe('the mask secret', () => {
  it('is made once, encrypted, only where a version needs it, bound to its organization, and again when it is lost', async () => {
    const { id } = await makeOrganization(site.ctx);
    const other = { ...tenant, organizationId: id };
    const ensure = (mask: string) => {
      const { endpoints } = SchemaDocument.parse({ endpoints: [invoices(masked('total', mask))] });
      return inTransaction(other, (tx) => ensureMaskSecret(tx, other, endpoints));
    };
    await ensure('last4');
    expect(await readMaskSecret(other)).toBeUndefined();
    await ensure('hash');
    const made = await readMaskSecret(other);
    expect(made).toHaveLength(32);
    await ensure('hash');
    expect(await readMaskSecret(other)).toEqual(made);
    const sealed = (of: TenantCtx) =>
      inTransaction(of, (tx) => tx('mask_secrets').first<{ secret: string }>('secret'));
    expect((await sealed(other)).secret).not.toContain(made?.toString('base64'));
    const { secret } = await sealed(tenant);
    expect(await readMaskSecret(tenant)).not.toEqual(made);
    await inTransaction(other, (tx) => tx('mask_secrets').update({ secret }));
    expect(await readMaskSecret(other)).toBeUndefined();
    await ensure('hash');
    const renewed = await readMaskSecret(other);
    expect([renewed?.length, renewed?.equals(made ?? Buffer.alloc(0))]).toEqual([32, false]);
  });

  it('makes equal values of a field equal hashes in every version, and different ones in another field', async () => {
    for (const [version, fields] of Object.entries({
      v5: [masked('entity', 'hash'), masked('tranid', 'hash')],
      v6: [{ name: 'customer', source: 'entity', mask: 'hash' }],
    }))
      await site.publish({ version, endpoints: [invoices(...fields)] });
    const read = async (version: string) => (await site.get(`/${version}/invoices/1`)).body.data;
    const [before, after] = [await read('v5'), await read('v6')];
    expect(before.entity).toMatch(/^[0-9a-f]{64}$/);
    expect(after.customer).toBe(before.entity);
    expect(before.tranid).not.toBe(before.entity);
    const masks = (
      await findLivingMasks({ ...withReads(site.ctx), organizationId: tenant.organizationId })
    ).get('invoice');
    const mask = masks?.get('entity');
    if (mask === undefined) throw new Error('the field is not masked');
    expect(await site.sql(`select ${maskedSql("'1042'", mask)} as hash`)).toEqual([{ hash: before.entity }]);
  });
});
