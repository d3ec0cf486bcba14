// Reads of a replica that fail halfway. The replica is the same server: what it lags behind, see test/scale/replicas.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/core/clock.ts';
import type { TenantCtx } from '../../../src/core/ctx.ts';
import { fullAccess } from '../../../src/core/record-access.ts';
import { openDb } from '../../../src/db/connect.ts';
import { openReplicas } from '../../../src/db/replicas.ts';
import { recordsOf } from '../../../src/public/index.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { type TestDatabase, testClock, testDatabase } from '../../setup/database.ts';
import { startOptionDroppingProxy } from '../../setup/option-dropping-proxy.ts';
import { makeOrganization } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';
import { bumpGeneration, loadInvoices, withReads } from '../fixture.ts';

const records = Array.from({ length: 40 }, (_, index) => ({ id: index + 1, status: 'open' }));
const query = { recordType: 'invoice', columns: [{ name: 'status', source: 'status' }], filters: [], sort: [] };
const never = new AbortController().signal;

let database: TestDatabase;
let tenant: TenantCtx;
let table: string;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  database = await testDatabase();
  tenant = { ...database.ctx, organizationId: (await makeOrganization(database.ctx)).id };
  table = await loadInvoices(database.ctx, tenant.organizationId, records);
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(() => database.close());

/** The primary is reached through an address of its own, which `cut` closes. */
async function openSite(clock: Clock, maxDurationMs = 60_000) {
  const address = await startOptionDroppingProxy(database.service, []);
  const onPrimary = { ...database.service, host: address.host, port: address.port };
  const db = openDb(onPrimary, onPrimary, { control: 1, data: 2, exports: 2 }, 5_000);
  closing.push(() => db.close(), address.close);
  const parts = { sizes: { data: 2, exports: 2 }, readTimeoutMs: 5_000, clock, log: database.ctx.log };
  const { all, close } = openReplicas([database.service], db.data, parts);
  closing.push(close);
  const [replica] = all;
  if (replica === undefined) throw new Error('no replica');
  await until(async () => (replica.isInUse() ? true : undefined));
  const settings = { ...database.ctx.settings, exports: { ...database.ctx.settings.exports, maxDurationMs } };
  const ctx = { ...database.ctx, clock, settings, db: { ...db, replicas: all } };
  return { db, replica, cut: address.close, tenant: { ...tenant, settings, db }, reads: recordsOf(withReads(ctx)) };
}
const lent = ({ totalCount, idleCount }: { totalCount: number; idleCount: number }): number => totalCount - idleCount;

describe('an export', () => {
  it('returns the connection to the replica when the primary can not be asked which state is current', async () => {
    const site = await openSite(testClock());
    expect((await site.reads.list(tenant, query, { page: 1, pageSize: 5 }, fullAccess)).total).toBe(records.length);
    await bumpGeneration(database.ctx, tenant.organizationId, records.length);
    site.cut();
    await expect(site.reads.csv(tenant, query, never, fullAccess)).rejects.toMatchObject({ status: 503 });
    expect(lent(site.replica.exports)).toBe(0);
  });

  it('that exceeds its time limit on the replica is not repeated on the primary', async () => {
    const name = `${tenantSchema(tenant.organizationId)}."${table}"`;
    const { data } = database.ctx.db;
    await data.query(`create policy slow on ${name} using (pg_sleep(1)::text = '')`);
    await data.query(`alter table ${name} enable row level security, force row level security`);
    closing.push(() => data.query(`alter table ${name} disable row level security`).then(() => data.query(`drop policy slow on ${name}`)));
    const site = await openSite(systemClock, 1_000);
    let onPrimary = 0;
    site.db.exports.on('acquire', () => {
      onPrimary += 1;
    });
    const filters = [{ source: 'status', operator: 'eq', values: ['open'] }] as const;
    const asked = site.reads.csv(site.tenant, { ...query, filters }, never, fullAccess);
    await expect(asked).rejects.toMatchObject({ status: 503, message: expect.stringContaining('time limit') });
    // The one that holds the lock of its table.
    expect(onPrimary).toBe(1);
  });
});
