// Reads of a replica that fail halfway. The replica is the same server: what it lags behind, see
// test/scale/replicas.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/core/clock.ts';
import type { TenantCtx } from '../../../src/core/ctx.ts';
import { fullAccess } from '../../../src/core/record-access.ts';
import { openDb } from '../../../src/db/connect.ts';
import { openReplicas } from '../../../src/db/replicas.ts';
import { getRecordReader, publicMetrics } from '../../../src/public/index.ts';
import { planSummary } from '../../../src/public/read/plan/summary-plan.ts';
import { wholeText } from '../../../src/public/read/result/rows.ts';
import { readSummary } from '../../../src/public/read/result/summary.ts';
import { testClock } from '../../setup/database.ts';
import { startOptionDroppingProxy } from '../../setup/option-dropping-proxy.ts';
import { until } from '../../setup/until.ts';
import { useStarted } from '../../setup/use-started.ts';
import { compileInvoices } from '../compiled.ts';
import { bumpGeneration, loadInvoices, openSite, publicApp, withReads } from '../fixture.ts';
import {
  allTargets,
  customersEndpoint,
  describeTargets,
  loadCustomers,
  relatedInvoices,
} from '../related.ts';

const records = Array.from({ length: 40 }, (_, index) => ({ id: index + 1, status: 'open' }));
const query = {
  recordType: 'invoice',
  columns: [{ name: 'status', source: 'status' }],
  filters: [],
  sort: [],
};
const never = new AbortController().signal;

const database = useStarted(() => openSite({ rows: records, versions: [] }));
let tenant: TenantCtx;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  ({ tenant } = database);
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** The primary is reached through an address of its own, which `cut` closes. */
async function openReplicaSite(clock: Clock, maxDurationMs = 60_000) {
  const address = await startOptionDroppingProxy(database.service, []);
  const onPrimary = { ...database.service, host: address.host, port: address.port };
  const db = openDb(onPrimary, onPrimary, { control: 1, data: 2, exports: 2 }, 5_000);
  closing.push(() => db.close(), address.close);
  const parts = { sizes: { data: 2, exports: 2 }, readTimeoutMs: 5_000, clock, log: database.ctx.log };
  const { all, close } = openReplicas([database.service], db.data, parts);
  closing.push(close);
  const [replica] = all;
  if (replica === undefined) throw new Error('no replica');
  await until(async () => replica.isInUse());
  const settings = { ...database.ctx.settings, exports: { ...database.ctx.settings.exports, maxDurationMs } };
  const ctx = { ...database.ctx, clock, settings, db: { ...db, replicas: all } };
  return {
    db,
    replica,
    cut: address.close,
    tenant: { ...tenant, settings, db },
    reads: getRecordReader(withReads(ctx)),
  };
}
const lent = ({ totalCount, idleCount }: { totalCount: number; idleCount: number }): number =>
  totalCount - idleCount;

describe('an export', () => {
  it('returns the connection to the replica when the primary can not be asked which state is current', async () => {
    const site = await openReplicaSite(testClock());
    expect((await site.reads.list(tenant, query, { page: 1, pageSize: 5 }, fullAccess)).total).toBe(
      records.length,
    );
    await bumpGeneration(database.ctx, tenant.organizationId, records.length);
    site.cut();
    await expect(site.reads.file(tenant, query, 'csv', never, fullAccess)).rejects.toMatchObject({
      status: 503,
    });
    expect(lent(site.replica.exports)).toBe(0);
  });

  it('that exceeds its time limit on the replica is not repeated on the primary', async () => {
    await database.sql("create policy slow on $t using (pg_sleep(1)::text = '')");
    await database.sql('alter table $t enable row level security, force row level security');
    closing.push(() => database.sql('alter table $t disable row level security'));
    const site = await openReplicaSite(systemClock, 1_000);
    let onPrimary = 0;
    site.db.exports.on('acquire', () => {
      onPrimary += 1;
    });
    const filters = [{ source: 'status', operator: 'eq', values: ['open'] }] as const;
    const asked = site.reads.file(site.tenant, { ...query, filters }, 'csv', never, fullAccess);
    await expect(asked).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining('time limit'),
    });
    // The one that holds the lock of its table.
    expect(onPrimary).toBe(1);
  });
});

describe('a summary', () => {
  const readSummaries = async () => {
    const site = await openReplicaSite(testClock());
    const ctx = { ...site.tenant, db: { ...site.db, replicas: [site.replica] } };
    const { whole } = compileInvoices({ groups: ['status', 'number'] });
    const reads = withReads(ctx);
    const ask = (by: string, value: string) =>
      readSummary(reads.reads.getReader(tenant.organizationId), planSummary(whole, new Map([[by, [value]]])));
    return { ask, answeredBy: () => publicMetrics(reads).reads };
  };

  it('is answered by the replica, also when it is larger than one text', async () => {
    const { ask, answeredBy } = await readSummaries();
    expect(await ask('by', 'status')).toMatchObject({ rows: '{"status":"open","count":40}', total: 1 });
    expect(answeredBy()).toMatchObject({ primary: 0, 1: 1 });
    await bumpGeneration(database.ctx, tenant.organizationId, records.length);
    await database.sql("update $t set f_tranid = id || repeat('x', 20000)");
    const { rows, total } = await (await readSummaries()).ask('by', 'number');
    expect([typeof rows, JSON.parse(`[${wholeText(rows)}]`).length, total]).toEqual(['object', 40, 40]);
  });
});

describe('a list that embeds related records', () => {
  it('is answered by a replica only when the primary confirms the states of the related records too', async () => {
    const { organizationId } = tenant;
    const customersTable = await loadCustomers(database.ctx, organizationId, [{ id: 7, name: 'Ann' }]);
    await loadInvoices(database.ctx, organizationId, [{ id: 1, entity: '7' }]);
    await describeTargets(database.ctx, organizationId, allTargets);
    await database.publish({ endpoints: [relatedInvoices, customersEndpoint] });
    const site = await openReplicaSite(testClock());
    const reading = withReads({
      ...database.ctx,
      db: { ...site.db, replicas: [site.replica] },
      clock: testClock(),
    });
    const get = await database.callerWith({}, publicApp(reading, undefined, reading.reads));
    const answered = (): Readonly<Record<string, number>> => publicMetrics(reading).reads;
    const readBuyers = async (query: string) => {
      const { body } = await get(`/v1/invoices?expand=buyer${query}`).expect(200);
      return body.data.map(({ buyer }: { buyer: { name: string } | null }) => buyer?.name);
    };
    expect(await readBuyers('')).toEqual(['Ann']);
    expect(answered()).toEqual({ primary: 0, 1: 1 });
    const publishCustomer = (name: string) =>
      database.sql(
        `with renamed as (update $wh.${customersTable} set f_name = '${name}')
         update $wh.record_state set generation = generation + 1 where record_type = 'customer'`,
      );
    // Newer than what this process knows of the primary, which confirms it.
    await publishCustomer('Bea');
    expect(await readBuyers('&order=desc')).toEqual(['Bea']);
    expect(answered()).toEqual({ primary: 0, 1: 2 });
    await publishCustomer('Cem');
    site.cut();
    await get('/v1/invoices?expand=buyer&pageSize=3').expect(503);
    expect((await get('/v1/invoices?pageSize=3').expect(200)).body.data).toHaveLength(1);
  });
});
