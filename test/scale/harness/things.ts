// An organization that syncs things from an ERP in memory, and has published them as v1.
import type { Ctx } from '../../../src/core/ctx.ts';
import { publishVersion } from '../../public/fixture.ts';
import { makeKey } from '../../setup/organization.ts';
import { type ConfigOptions, datedFields, memoryErp, syncFixture } from '../../sync/fixture.ts';

export const thingsEndpoint = {
  name: 'things',
  recordType: 'thing',
  fields: ['name', 'total'].map((name) => ({ name, source: name })),
  filters: [{ field: 'name', operators: ['eq', 'contains'] }],
  sorts: ['name'],
};

export type Things = Awaited<ReturnType<typeof openThings>>;

/** `records` of them are synced. */
export async function openThings(ctx: Ctx, records = 20, config: ConfigOptions = {}) {
  const fixture = await syncFixture(ctx, memoryErp(datedFields), config);
  fixture.erp.deleted = new Map();
  for (let id = 1; id <= records; id += 1) fixture.erp.put(id);
  const { status } = await fixture.sync();
  if (status !== 'succeeded') throw new Error(`the first sync is ${status}`);
  const { organizationId } = fixture;
  await publishVersion(ctx, organizationId, { endpoints: [thingsEndpoint] });
  const { secret } = await makeKey(ctx, organizationId, { permissions: ['write'] });
  /** Of a request to the public interface. */
  const headers = { authorization: `Bearer ${secret}`, 'x-tenant-id': organizationId };
  return { fixture, organizationId, secret, headers };
}
