// What plain PostgreSQL takes and Citus doesn't: one test for each cause for which the service once failed
// there. The service's own tests run on Citus as well, see vitest.config.ts; these say what each of
// them is about.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrate } from '../../../src/db/migrate.ts';
import { UnusableDatabase } from '../../../src/db/unusable-database.ts';
import { bindDocument, proveVersion, readAvailable, SchemaDocument } from '../../../src/public/index.ts';
import { buildWantedIndexes, saveWantedIndexes } from '../../../src/sync/index.ts';
import { createFreshTable } from '../../../src/warehouse/table.ts';
import {
  measureTenantStorage,
  tenantSchema,
  updateTenantSchema,
} from '../../../src/warehouse/tenant-schema.ts';
import {
  createCaller,
  type InvoiceRow,
  invoicesEndpoint,
  listIds,
  loadInvoices,
  publicApp,
  publishVersion,
} from '../../public/fixture.ts';
import { describeIf } from '../../setup/describe-if.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import { asSuperuser } from '../../setup/superuser.ts';
import { until } from '../../setup/until.ts';
import type { ConfigOptions } from '../../sync/fixture.ts';
import { openThings } from '../harness/things.ts';
import { type CitusDatabase, citusDatabase } from './harness/citus-database.ts';
import { noCluster, noLocalCluster, startCluster } from './harness/cluster.ts';

describeIf('a cluster whose nodes lack the roles', noLocalCluster, () => {
  it('is refused with the command that prepares it', async () => {
    const cluster = await startCluster({ workers: 1, roles: false });
    try {
      const refusal = await migrate(cluster.databaseUrl).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(UnusableDatabase);
      expect(String(refusal)).toContain('npm run admin -- prepare-citus');
    } finally {
      await cluster.stop();
    }
  });
});

describeIf('the service on Citus', noCluster, () => {
  let database: CitusDatabase;
  beforeAll(async () => {
    database = await citusDatabase({ settings: { readTimeoutMs: 30_000 } });
  });
  afterAll(() => database?.close());

  async function synced(options: ConfigOptions = {}) {
    const { fixture } = await openThings(database.ctx, 30, { ...options, maxDeleteShare: 1 });
    return { erp: fixture.erp, fixture };
  }

  async function withInvoices(
    rows: readonly InvoiceRow[],
    version: Parameters<typeof publishVersion>[2] = {},
  ) {
    const { id: organizationId } = await makeOrganization(database.ctx);
    const table = await loadInvoices(database.ctx, organizationId, rows);
    await publishVersion(database.ctx, organizationId, version);
    const { secret } = await makeKey(database.ctx, organizationId);
    const schema = tenantSchema(organizationId);
    return {
      organizationId,
      secret,
      table,
      schema,
      get: createCaller(publicApp(database.ctx), { organizationId, secret }),
    };
  }

  it('the settings of the service hold on the nodes, whatever their defaults', async () => {
    const { fixture } = await synced();
    const [row] = await fixture.query<Record<string, string>>(
      `select current_setting('port') as port, current_setting('timezone') as timezone, current_setting('datestyle') as datestyle,
         current_setting('intervalstyle') as intervalstyle from ${fixture.schema}.record_state limit 1`,
    );
    const node = await database.getNode(fixture.schema);
    expect(row).toMatchObject({
      port: String(node.connection.port),
      timezone: 'UTC',
      datestyle: 'ISO, DMY',
      intervalstyle: 'iso_8601',
    });
    expect(node.name).not.toBe('coordinator');
  });

  it('tables of an organization are made and upgraded one statement at a time', async () => {
    const { fixture } = await synced();
    const select = `select relname as name from pg_class where relnamespace = $1::regnamespace and relkind = 'r' order by 1`;
    const tables = () => fixture.query<{ name: string }>(select, [fixture.schema]);
    const before = await tables();
    // As an older version left it.
    await database.ctx.db.control.raw(`drop table ${fixture.schema}.rolling_reads`);
    await database.ctx.db.control.raw(`alter table ${fixture.schema}.record_state drop column filter`);
    await updateTenantSchema(database.ctx, fixture.organizationId);
    expect(await tables()).toEqual(before);
    expect((await fixture.sync()).status).toBe('succeeded');
  });

  it('an incremental run inserts, changes and deletes records, with the times of the database', async () => {
    const { erp, fixture } = await synced({ deletions: 'feed' });
    const [before] = await fixture.query<{ now: Date }>('select clock_timestamp() as now');
    erp.deleted = new Map();
    erp.put(31);
    erp.put(3, { name: 'changed' });
    erp.drop(7);
    expect(await fixture.sync('incremental')).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 1, updated: 1, deleted: 1 },
    });
    const rows = await fixture.rows();
    expect(rows.map(({ id }) => Number(id))).toEqual(
      [...Array(31).keys()].map((index) => index + 1).filter((id) => id !== 7),
    );
    const changed = rows.filter(({ changed_at: at }) => (at as Date) >= (before?.now ?? new Date()));
    expect(changed.map(({ id }) => Number(id))).toEqual([3, 31]);
  });

  it('a repeated deletion, a repeated rejection and a restarted run write over their row', async () => {
    const { erp, fixture } = await synced({ deletions: 'feed' });
    erp.deleted = new Map();
    for (let round = 1; round <= 2; round += 1) {
      erp.drop(7);
      erp.put(8, { name: `round ${round}` });
      erp.rejects.set('9', { id: '9', code: 'X', message: 'cannot be stored' });
      expect((await fixture.sync()).status).toBe('partial');
      erp.put(7);
      expect((await fixture.sync('incremental')).status).toBe('partial');
    }
    expect(await fixture.query(`select attempts > 1 as again from ${fixture.schema}.rejections`)).toEqual([
      { again: true },
    ]);
    const runId = await fixture.queue();
    let failures = 0;
    erp.onCall = ({ operation }) => {
      if (operation === 'readPage' && failures++ === 0) throw new Error('the worker dies');
    };
    const lease = await fixture.claim();
    await fixture.work(lease).catch(() => undefined);
    erp.rejects.clear();
    expect((await fixture.drive(runId)).status).toBe('succeeded');
  });

  it('a table that a dead worker left is retired', async () => {
    const { fixture } = await synced();
    const table = await createFreshTable(database.ctx.db.control, fixture.schema, 'thing', 'integer', []);
    await createFreshTable(database.ctx.db.control, fixture.schema, 'thing', 'integer', []);
    expect(await fixture.query(`select table_name from ${fixture.schema}.retired_tables`)).toEqual([
      { table_name: table },
    ]);
  });

  it('a filtered export has what the list has, whatever the values', async () => {
    const names = ["O'Neil", 'back\\slash', '\u{1f600} ß', '$1 %s _ %', "'); drop table x; --"];
    const rows = names.map((tranid, index) => ({
      id: index + 1,
      tranid,
      seq: String(index),
      trandate: `2026-01-0${index + 1}`,
      lastmodified: `2026-01-0${index + 1}T23:30:00Z`,
    }));
    const { get } = await withInvoices(rows);
    const both = [names[0], names[4]].map((name) => `number=${encodeURIComponent(name ?? '')}`).join('&');
    const single = names.map((name) => `number=${encodeURIComponent(name)}`);
    const filters = [
      ...single,
      both,
      'number_contains=back%5C',
      'seq_gte=2&seq_not=3',
      'date_after=2026-01-03',
      'modified=2026-01-02',
      'id=1&id=5',
    ];
    for (const filter of filters) {
      const list = await get(`/v1/invoices?${filter}`);
      const exported = await get(`/v1/invoices?${filter}`, { accept: 'application/x-ndjson' });
      expect([list.status, exported.status]).toEqual([200, 200]);
      const lines = exported.text.split('\n').filter((line) => line !== '');
      expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(listIds(list));
      expect(lines.length).toBeGreaterThan(0);
    }
  });

  it('a page that is too large for one text is served in pieces', async () => {
    const line = { item: 'a', 'item.name': 'x'.repeat(20_000), quantity: 1 };
    const rows = Array.from({ length: 100 }, (_, index) => ({
      id: index + 1,
      lines: JSON.stringify([{ ...line, item: String(index) }]),
    }));
    const { get } = await withInvoices(rows);
    const { status, body } = await get('/v1/invoices?pageSize=100');
    expect(status).toBe(200);
    expect((body.data as { lines: { item: string }[] }[]).map(({ lines }) => lines[0]?.item)).toEqual(
      rows.map((_, index) => String(index)),
    );
  });

  it('an export gives way to a change of its table', async () => {
    const { organizationId, schema, table, secret } = await withInvoices([{ id: 1 }]);
    const { control } = database.ctx.db;
    await control.raw(
      `insert into ${schema}.${table} (id, generation, content_hash, f_tranid) select n, 1, '\\x00', repeat('x', 10000) from generate_series(2, 3000) n`,
    );
    await control.raw(`update ${schema}.record_state set row_count = 3000`);
    const server = publicApp(database.ctx).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/public/v1/invoices?fields=number`;
    // Compressed, all of it would fit into the buffers between the two.
    const accepted = { accept: 'application/x-ndjson', 'accept-encoding': 'identity' };
    const headers = { authorization: `Bearer ${secret}`, 'x-tenant-id': organizationId, ...accepted };
    const body = (await fetch(url, { headers })).body?.getReader();
    await body?.read();
    const stalled =
      "select from pg_stat_activity where datname = current_database() and query like 'copy (%' and wait_event = 'ClientWrite'";
    await until(async () => (await database.cluster.coordinator.query(stalled)).length > 0);
    await control.transaction(async (tx) => {
      await tx.raw("set local lock_timeout = '20s'");
      await tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 2))', [`${schema}.${table}`]);
      await tx.raw(`alter table ${schema}.${table} add column f_more text`);
    });
    const readRest = async () => {
      while ((await body?.read())?.done === false);
    };
    await expect(readRest()).rejects.toThrow('terminated');
    server.close();
  });

  it('an index that refuses a value is dropped, and the sync succeeds', async () => {
    const { erp, fixture } = await synced();
    const wanted = [{ method: 'btree' as const, expression: '"f_name", id' }];
    await saveWantedIndexes(fixture.tenant, 'thing', wanted);
    await buildWantedIndexes(fixture.tenant, 'thing', () => Promise.resolve());
    erp.put(5, {
      name: Array.from({ length: 3000 }, (_, index) =>
        String.fromCharCode(33 + (((index * index * 7919) % 9001) % 90)),
      ).join(''),
    });
    const run = await fixture.sync();
    expect(run).toMatchObject({ status: 'succeeded', counts: { updated: 1 } });
    expect(await fixture.events(run.id)).toContain(
      'dropped an index because a value is too long for it; filters on that field are slower',
    );
  });

  it('the proof of a version sees a full scan on the node', async () => {
    const endpoint = {
      ...invoicesEndpoint,
      filters: [{ field: 'status', operators: ['eq'] }],
      sorts: ['number'],
    };
    const rows = Array.from({ length: 3_000 }, (_, index) => ({
      id: index + 1,
      tranid: `INV${index}`,
      status: index % 100 === 0 ? 'open' : 'paid',
    }));
    const { organizationId } = await withInvoices(rows, { endpoints: [endpoint] });
    const tenant = { ...database.ctx, organizationId };
    const document = SchemaDocument.parse({ endpoints: [endpoint] });
    const options = {
      ...{ maxPairs: 100, smallTableRecords: 0, budgetMs: 60_000, warnMs: 250 },
      onProgress: async () => undefined,
      signal: new AbortController().signal,
    };
    const bindings = bindDocument(document, await readAvailable(tenant));
    const { pairs } = await proveVersion(tenant, document, bindings, options);
    const scanned = pairs.filter(({ trials }) => trials.some(({ byIndex }) => !byIndex));
    expect(scanned.some(({ filter }) => filter === 'status')).toBe(true);
    expect(
      pairs.some(({ filter, trials }) => filter === 'id' && trials.every(({ byIndex }) => byIndex)),
    ).toBe(true);
  });

  it('the size of an organization is that on its node', async () => {
    const { fixture } = await synced();
    const { bytes, records } = await measureTenantStorage(fixture.tenant);
    const node = await database.getNode(fixture.schema);
    const shards = '-c citus.show_shards_for_app_name_prefixes=*';
    const at = { ...node.connection, database: database.cluster.database, options: shards };
    const { rows } = await asSuperuser(at, (client) =>
      client.query<{ bytes: string }>(
        `select sum(pg_total_relation_size(oid)) as bytes from pg_class where relnamespace = $1::regnamespace and relkind = 'r' and relname ~ '_[0-9]{6,}$'`,
        [fixture.schema],
      ),
    );
    expect(records).toBe(30);
    expect(bytes).toBe(Number(rows[0]?.bytes));
    expect(bytes).toBeGreaterThan(100_000);
  });

  it('a move to another node makes a new epoch at the next publish, and change tokens stay valid', async () => {
    const { erp, fixture } = await synced();
    const node = await database.getNode(fixture.schema);
    const target = database.cluster.workers.find(
      ({ connection }) => connection.port !== node.connection.port,
    );
    if (target === undefined) throw new Error('there is no other node');
    const lineage = async () => {
      const [row] = await fixture.query<{ epoch: string; timeline: string; former: unknown[] }>(
        `select epoch, timeline, former_epochs as former from ${fixture.schema}.record_state`,
      );
      return row;
    };
    erp.put(1, { name: 'second' });
    await fixture.sync();
    const before = await lineage();
    expect(before).toMatchObject({ former: [], timeline: expect.stringMatching(/^\d+\/[0-9A-F]{8}\/\d+$/) });
    const { host, port } = target.connection;
    await database.cluster.coordinator.query(
      `select citus_schema_move($1::regnamespace, $2::text, $3::int)`,
      [fixture.schema, host, port],
    );
    await until(async () => (await database.getNode(fixture.schema)).name === target.name);
    expect((await lineage())?.epoch).toBe(before?.epoch);
    erp.put(1, { name: 'third' });
    expect((await fixture.sync()).status).toBe('succeeded');
    const after = await lineage();
    expect(after?.epoch).not.toBe(before?.epoch);
    expect(after?.timeline).not.toBe(before?.timeline);
    expect(after?.former).toEqual([{ epoch: before?.epoch, until: '2' }]);
  });
});
