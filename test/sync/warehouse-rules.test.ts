// What a company's schema in the warehouse may contain, whichever database it is on, and what belongs into
// one transaction there.
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, inject, it } from 'vitest';
import { openKnex } from '../../src/db/connect.ts';
import { inDataTransaction } from '../../src/db/transaction.ts';
import { LostLease, readRunState } from '../../src/warehouse/run-state-row.ts';
import { stagePage } from '../../src/warehouse/staging.ts';
import { datedFields, field, memoryErp, type SyncFixture, syncFixture } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 10 });

const lines = field('lines', 'lines', [field('item', 'reference'), field('quantity', 'number')]);
async function fixtureWith(count: number): Promise<SyncFixture> {
  const fixture = await syncFixture(
    site.ctx,
    memoryErp([...datedFields, field('customer', 'reference'), lines]),
  );
  fixture.erp.fill(count, () => [{}, { lines: [{ item: '7', quantity: '2' }] }]);
  return fixture;
}
const activeRows = async (fixture: SyncFixture) => {
  const table = (await fixture.state())?.activeTable;
  return fixture.query<{ id: string; xmin: string }>(
    `select t.id::text, t.xmin::text from ${fixture.schema}."${table}" t order by t.id`,
  );
};

describe("a company's schema", () => {
  it('has only logged tables with a primary key, no foreign key that leaves it, and no trigger', async () => {
    const fixture = await fixtureWith(60);
    await fixture.expectSuccess('full');
    // Rejected and held-back records, a table that was swapped out, and a run that reads only changes.
    fixture.erp.rejects.set('3', { id: '3', code: 'VALUE_INVALID', message: 'bad' });
    for (let id = 20; id <= 60; id += 1) fixture.erp.records.delete(String(id));
    fixture.erp.fields = [...fixture.erp.fields, field('added')];
    await fixture.expectPartial('full', 'DELETIONS_HELD');
    await fixture.expectPartial('incremental', 'DELETIONS_HELD');
    const tables = await fixture.query<{ name: string; persistence: string; keys: string; triggers: string }>(
      `select c.relname as name, c.relpersistence as persistence,
              (select count(*) from pg_constraint k where k.conrelid = c.oid and k.contype = 'p') as keys,
              (select count(*) from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal) as triggers
       from pg_class c where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p')`,
      [fixture.schema],
    );
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['record_state', 'run_state', 'rejections', 'staging_thing']),
    );
    for (const table of tables)
      expect(table).toEqual({ name: table.name, persistence: 'p', keys: '1', triggers: '0' });
    const leaving = await fixture.query(
      `select k.conname from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class target on target.oid = k.confrelid
       where k.contype = 'f' and (c.relnamespace = $1::regnamespace) <> (target.relnamespace = $1::regnamespace)`,
      [fixture.schema],
    );
    expect(leaving).toEqual([]);
  });

  it('is created as one that a distributed database places on a node', async () => {
    await site.admin.raw(`create table public.schemas_created (sharding text);
        create function public.note_schema() returns event_trigger language plpgsql security definer as
          $$ begin insert into public.schemas_created values (current_setting('citus.enable_schema_based_sharding', true)); end $$;
        create event trigger schema_watch on ddl_command_start when tag in ('CREATE SCHEMA') execute function public.note_schema()`);
    try {
      const fixture = await fixtureWith(1);
      await fixture.expectSuccess('full');
      expect(await site.admin('schemas_created').distinct('sharding')).toEqual([{ sharding: 'on' }]);
    } finally {
      await site.admin.raw('drop event trigger schema_watch');
    }
  });

  it('is updated without volatile functions, which a distributed database refuses', () => {
    const volatile = /\b(random|clock_timestamp|gen_random_uuid|nextval|timeofday|statement_timestamp)\s*\(/i;
    const updates = globSync('src/{warehouse,sync}/**/*.ts').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/`[^`]*\bupdate\s+\$\{[^`]*`/gi)].map(([sql]) => ({
        file,
        sql,
      })),
    );
    expect(updates.length).toBeGreaterThan(5);
    expect(updates.filter(({ sql }) => volatile.test(sql))).toEqual([]);
  });
});

describe('one transaction', () => {
  it('publishes rows, deletions, generation and counts of a run', async () => {
    const fixture = await fixtureWith(30);
    await fixture.sync();
    const before = new Map((await activeRows(fixture)).map(({ id, xmin }) => [id, xmin]));
    fixture.erp.put(5, { name: 'changed' }, { lines: [] });
    fixture.erp.put(31, {}, { lines: [] });
    fixture.erp.deleted = new Map();
    fixture.erp.drop(9);
    await fixture.expectSuccess('incremental', { inserted: 1, updated: 1, deleted: 1 });
    const after = await activeRows(fixture);
    const written = after.filter(({ id, xmin }) => before.get(id) !== xmin);
    expect(written.map(({ id }) => id)).toEqual(['5', '31']);
    const state = await fixture.query<{ xmin: string; generation: string; row_count: string }>(
      `select xmin::text, generation, row_count from ${fixture.schema}.record_state`,
    );
    expect(state).toMatchObject([{ generation: '2', row_count: '30' }]);
    const tombstones = await fixture.query<{ id: string; xmin: string }>(
      `select id, xmin::text from ${fixture.schema}.tombstones`,
    );
    expect(tombstones.map(({ id }) => id)).toEqual(['9']);
    expect(new Set([...written, ...state, ...tombstones].map(({ xmin }) => xmin)).size).toBe(1);
  });

  it('stages a page with its checkpoint and counters, and a repeated page takes effect once', async () => {
    const fixture = await fixtureWith(25);
    await fixture.sync();
    fixture.erp.fill(25, (id) => [{ name: `again ${id}` }, { lines: [] }]);
    const id = await fixture.queue();
    fixture.erp.fail('readPage', new LostLease('the process is gone'), '10');
    await fixture.work(await fixture.claim());
    fixture.erp.onCall = () => undefined;
    const staged = () =>
      fixture.query<{ id: string; xmin: string }>(
        `select t.id::text, t.xmin::text from ${fixture.schema}.staging_thing t order by t.id`,
      );
    const first = await staged();
    expect(first.map((row) => row.id)).toEqual(Array.from({ length: 10 }, (_, index) => String(index + 1)));
    const [run] = await fixture.query<{ xmin: string }>(
      `select xmin::text from ${fixture.schema}.run_state where run_id = $1`,
      [id],
    );
    expect(new Set([...first, { xmin: run?.xmin }].map(({ xmin }) => xmin)).size).toBe(1);
    const held = await readRunState(site.ctx.db.data, fixture.schema, id);
    if (held === undefined) throw new Error('no state');
    const page = {
      records: [],
      rejected: [{ id: '99', code: 'X', message: 'bad' }],
      lastId: '20',
      hasMore: true,
    };
    const write = () =>
      inDataTransaction(site.ctx.db.data, (client) => stagePage(client, fixture.schema, held, page, '2'));
    expect(await write()).toMatchObject({ page: held.page + 1, checkpoint: '20' });
    await expect(write()).rejects.toThrow(LostLease);
    expect(await readRunState(site.ctx.db.data, fixture.schema, id)).toMatchObject({
      page: held.page + 1,
      checkpoint: '20',
      counters: { fetched: 11, rejected: 1 },
    });
    expect(await staged()).toEqual(first);
  });

  it('follows an ANALYZE: a table that goes live has statistics for its readers', async () => {
    const fixture = await fixtureWith(50);
    await fixture.sync();
    const table = (await fixture.state())?.activeTable;
    // On Citus the node that has the table knows it, under a name with a number behind it.
    const known = inject('nodes').map(async (node) => {
      const admin = openKnex({ ...node, database: site.database.address.database }, null, 1);
      await admin.raw('set citus.override_table_visibility to off');
      return admin('pg_stats')
        .where({ schemaname: fixture.schema, attname: 'id' })
        .whereRaw('tablename ~ ?', `^${table}(_\\d+)?$`)
        .finally(() => admin.destroy());
    });
    expect((await Promise.all(known)).flat()).toHaveLength(1);
  });
});
