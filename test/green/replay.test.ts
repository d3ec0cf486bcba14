// A company's days, one after the other, with a run of each sync after each: the warehouse must end as if
// everything had been read in one go. And what happens in an account between two runs, over HTTP.
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { startScheduler } from '../../src/sync/scheduler.ts';
import { readRecordState } from '../../src/warehouse/record-state.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { type Api, createApi } from '../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../setup/database.ts';
import { dataFolder, type Erp, startErp } from '../setup/erp.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { until } from '../setup/until.ts';

/**
 * The first day that is held back; the data end on 31 August 2011. More days take longer and prove no more.
 */
const replayFrom = '2011-08-29';
const recordTypes = ['customer', 'item', 'invoice', 'creditMemo'];

let database: TestDatabase;
let ctx: Ctx;
const stops: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

type Company = {
  readonly api: Api;
  readonly schema: string;
  readonly configs: Map<string, string>;
  readonly erp: Erp;
};
type Run = {
  mode: string;
  status: string;
  generation: string;
  error: unknown;
  counts: Record<string, number>;
};

async function company(erp: Erp): Promise<Company> {
  const { id } = await makeOrganization(ctx);
  const api = createApi(createApp(ctx), (await makeKey(ctx, id, { permissions: ['write'] })).secret);
  await erp.connect(api);
  await api('post', '/netsuite/metadata/refresh');
  const configs = new Map<string, string>();
  for (const recordType of recordTypes) {
    const made = await api('post', '/sync-configs', { name: recordType, recordType });
    configs.set(recordType, made.body.id);
  }
  return { api, schema: tenantSchema(id), configs, erp };
}

async function sync({ api, configs }: Company, recordType: string): Promise<Run> {
  const started = await api('post', `/sync-configs/${configs.get(recordType)}/trigger`, {});
  return until(async () => {
    const { body } = await api('get', `/sync-runs/${started.body.id}`);
    return ['succeeded', 'partial', 'failed', 'cancelled'].includes(body.status) ? (body as Run) : undefined;
  });
}

/** Every row with every column but those that count publishes. */
async function readRows({ schema }: Company, recordType: string): Promise<Record<string, unknown>[]> {
  const state = await readRecordState(ctx.db.data, schema, recordType);
  const { rows } = await ctx.db.data.query<Record<string, unknown>>(
    `select (to_jsonb(t) - 'generation' - 'changed_at')::text as row from ${schema}."${state?.activeTable}" t order by id`,
  );
  return rows;
}

beforeAll(async () => {
  database = await testDatabase();
  stops.push(() => database.close());
});

describe('the days of a company', () => {
  it('synced one by one give the same warehouse, row by row, as a single full read', async () => {
    const switches = { paymentTouchesInvoice: false }; // the harder way: payments leave no trace in the modification time
    const [daily, whole] = [
      await startErp(dataFolder, { replayFrom, switches }),
      await startErp(dataFolder, { switches }),
    ];
    stops.push(daily.stop, whole.stop);
    ctx = {
      ...database.ctx,
      settings: { ...testSettings, erp: { ...testSettings.erp, allowedHosts: [daily.host, whole.host] } },
    };
    const scheduler = startScheduler(ctx);
    onTestFinished(scheduler.stop);
    const company1 = await company(daily);
    for (const recordType of recordTypes)
      expect(await sync(company1, recordType)).toMatchObject({ status: 'succeeded', mode: 'full' });
    let changed = 0;
    for (
      const day = new Date(`${replayFrom}T00:00:00Z`);
      daily.account.daysLeft() > 0;
      day.setUTCDate(day.getUTCDate() + 1)
    ) {
      await daily.account.advanceTo(day.toISOString().slice(0, 10));
      for (const recordType of recordTypes) {
        const run = await sync(company1, recordType);
        expect(run, `${day.toISOString()} ${recordType}`).toMatchObject({
          status: 'succeeded',
          mode: 'incremental',
          error: null,
        });
        changed += (run.counts['inserted'] ?? 0) + (run.counts['updated'] ?? 0);
      }
    }
    expect(changed).toBeGreaterThan(50);
    const end = new Date(
      Math.max(...[daily, whole].map(({ account }) => account.businessTime().getTime())) + 3_600_000,
    );
    for (const { account } of [daily, whole]) await account.setBusinessTime(end);
    const company2 = await company(whole);
    for (const recordType of recordTypes) {
      await sync(company1, recordType);
      expect(await sync(company2, recordType)).toMatchObject({ status: 'succeeded', mode: 'full' });
      expect(await readRows(company1, recordType), recordType).toEqual(await readRows(company2, recordType));
    }
  }, 600_000);
});

describe('an account between two runs', () => {
  let erp: Erp;
  let books: Company;
  beforeAll(async () => {
    erp = await startErp();
    stops.push(erp.stop);
    ctx = {
      ...database.ctx,
      settings: { ...testSettings, erp: { ...testSettings.erp, allowedHosts: [erp.host] } },
    };
    const scheduler = startScheduler(ctx);
    stops.push(scheduler.stop);
    books = await company(erp);
    // Half past eleven in the evening in UTC is half past midnight in London.
    await erp.account.setBusinessTime(new Date('2011-09-05T23:30:00Z'));
    expect(await sync(books, 'invoice')).toMatchObject({ status: 'succeeded', mode: 'full' });
  });

  /** In the account's own database, at its own time. */
  async function inTheErp(sql: string): Promise<void> {
    const client = new Client({ ...inject('pg'), database: erp.database });
    await client.connect();
    try {
      await client.query(
        sql.replaceAll(':now', `'${erp.account.businessTime().toISOString()}'::timestamptz`),
      );
    } finally {
      await client.end();
    }
  }
  const versions = async (): Promise<Map<string, string>> => {
    const { rows } = await ctx.db.data.query<{ id: string; version: string }>(
      `select id, concat_ws(' ', xmin, generation, encode(content_hash, 'hex')) as version from ${books.schema}.invoice_1`,
    );
    return new Map(rows.map(({ id, version }) => [id, version]));
  };
  const nth = (from: number, count: number) =>
    `select id from ledger.transaction where type = 'CustInvc' order by id offset ${from} limit ${count}`;

  it('100 edits, 10 deletions and 10 inserts change exactly those rows', async () => {
    const before = await versions();
    await erp.account.setBusinessTime(new Date('2011-09-05T23:45:00Z'));
    await inTheErp(`
      create table public.fresh as select * from ledger.transaction where id in (${nth(500, 10)});
      create table public.gone as ${nth(700, 10)};
      update ledger.transaction set memo = 'edited', lastmodifieddate = :now where id in (${nth(0, 100)});
      insert into ledger.deletedrecord (recordid, scriptid, type, deleteddate, iscustomlist, iscustomrecord, iscustomtransaction)
        select id, 'invoice', 'Invoice', :now, 'F', 'F', 'F' from public.gone;
      delete from ledger.transactionline where transaction in (table public.gone);
      delete from ledger.application where invoice in (table public.gone);
      delete from ledger.transaction where id in (table public.gone);
      update public.fresh set id = id + 90000000, tranid = 'N' || tranid, createddate = :now, lastmodifieddate = :now;
      insert into ledger.transaction table public.fresh`);
    const run = await sync(books, 'invoice');
    expect(run).toMatchObject({
      status: 'succeeded',
      mode: 'incremental',
      generation: '2',
      counts: { inserted: 10, updated: 100, deleted: 10 },
    });
    const after = await versions();
    const changed = [...after].filter(([id, version]) => before.get(id) !== version);
    expect(changed).toHaveLength(110);
    expect(after.size).toBe(before.size);
    expect([...before.keys()].filter((id) => !after.has(id))).toHaveLength(10);

    const again = await sync(books, 'invoice');
    expect(again).toMatchObject({
      status: 'succeeded',
      generation: '2',
      counts: { inserted: 0, updated: 0, deleted: 0 },
    });
    expect(await versions()).toEqual(after);
  });

  it("day or zone truncation that loses rows changed before the account's midnight: a change just before it and one just after it are both read", async () => {
    for (const at of ['2011-09-06T22:58:00Z', '2011-09-06T23:02:00Z']) {
      await erp.account.setBusinessTime(new Date(at));
      await inTheErp(
        `update ledger.transaction set memo = 'at ' || :now, lastmodifieddate = :now where id in (${nth(900, 3)})`,
      );
      expect(await sync(books, 'invoice')).toMatchObject({ status: 'succeeded', counts: { updated: 3 } });
    }
  });

  it('a role that can no longer view deletions: what is absent waits for approval, because the list named deletions before', async () => {
    erp.account.setVisible('deletedrecord', false);
    await inTheErp(`delete from ledger.transactionline where transaction in (${nth(3, 1)});
      delete from ledger.transaction where id in (${nth(3, 1)})`);
    expect(await sync(books, 'invoice')).toMatchObject({
      status: 'partial',
      error: { code: 'DELETIONS_HELD' },
      counts: { deleted: 0 },
    });
    erp.account.setVisible('deletedrecord', true);
  });
});
