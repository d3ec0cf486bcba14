// What a company's schema in the warehouse may contain, whichever database it is on, and what belongs into
// one transaction there.
import { globSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Ctx } from '../../src/core/ctx.ts';
import { openKnex } from '../../src/db/connect.ts';
import { inDataTransaction } from '../../src/db/transaction.ts';
import { LostLease, readRunState } from '../../src/warehouse/run-state-row.ts';
import { stagePage } from '../../src/warehouse/staging.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { asAdmin, datedFields, endOpenRuns, field, memoryErp, type SyncWorld, syncWorld } from './fixture.ts';

let database: TestDatabase;
let ctx: Ctx;
beforeAll(async () => {
  database = await testDatabase();
  ctx = {
    ...database.ctx,
    settings: { ...database.ctx.settings, sync: { ...database.ctx.settings.sync, pageSize: 10 } },
  };
});
afterEach(() => endOpenRuns(database));
afterAll(() => database.close());

const lines = field('lines', 'lines', [field('item', 'reference'), field('quantity', 'number')]);
async function worldWith(count: number): Promise<SyncWorld> {
  const world = await syncWorld(ctx, memoryErp([...datedFields, field('customer', 'reference'), lines]));
  for (let id = 1; id <= count; id += 1) world.erp.put(id, {}, { lines: [{ item: '7', quantity: '2' }] });
  return world;
}
const activeRows = async (world: SyncWorld) => {
  const table = (await world.state())?.activeTable;
  return world.query<{ id: string; xmin: string }>(
    `select t.id::text, t.xmin::text from ${world.schema}."${table}" t order by t.id`,
  );
};

describe("a company's schema", () => {
  it('has only logged tables with a primary key, no foreign key that leaves it, and no trigger', async () => {
    const world = await worldWith(60);
    expect(await world.sync()).toMatchObject({ status: 'succeeded' });
    // Rejected and held-back records, a table that was swapped out, and a run that reads only changes.
    world.erp.rejects.set('3', { id: '3', code: 'VALUE_INVALID', message: 'bad' });
    for (let id = 20; id <= 60; id += 1) world.erp.records.delete(String(id));
    world.erp.fields = [...world.erp.fields, field('added')];
    expect(await world.sync()).toMatchObject({ status: 'partial' });
    expect(await world.sync('incremental')).toMatchObject({ status: 'partial' });
    const tables = await world.query<{ name: string; persistence: string; keys: string; triggers: string }>(
      `select c.relname as name, c.relpersistence as persistence,
              (select count(*) from pg_constraint k where k.conrelid = c.oid and k.contype = 'p') as keys,
              (select count(*) from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal) as triggers
       from pg_class c where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p')`,
      [world.schema],
    );
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['record_state', 'run_state', 'rejections', 'staging_thing']),
    );
    expect(
      tables.filter(
        ({ persistence, keys, triggers }) => persistence !== 'p' || keys !== '1' || triggers !== '0',
      ),
    ).toEqual([]);
    const leaving = await world.query(
      `select k.conname from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class target on target.oid = k.confrelid
       where k.contype = 'f' and (c.relnamespace = $1::regnamespace) <> (target.relnamespace = $1::regnamespace)`,
      [world.schema],
    );
    expect(leaving).toEqual([]);
  });

  it('is created as one that a distributed database places on a node', async () => {
    await asAdmin(database, async (admin) => {
      await admin.raw(`create table public.schemas_created (sharding text);
        create function public.note_schema() returns event_trigger language plpgsql security definer as
          $$ begin insert into public.schemas_created values (current_setting('citus.enable_schema_based_sharding', true)); end $$;
        create event trigger schema_watch on ddl_command_start when tag in ('CREATE SCHEMA') execute function public.note_schema()`);
      try {
        const world = await worldWith(1);
        expect(await world.sync()).toMatchObject({ status: 'succeeded' });
        expect(await admin('schemas_created').distinct('sharding')).toEqual([{ sharding: 'on' }]);
      } finally {
        await admin.raw('drop event trigger schema_watch');
      }
    });
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
    const world = await worldWith(30);
    await world.sync();
    const before = new Map((await activeRows(world)).map(({ id, xmin }) => [id, xmin]));
    world.erp.put(5, { name: 'changed' }, { lines: [] });
    world.erp.put(31, {}, { lines: [] });
    world.erp.deleted = new Map();
    world.erp.drop(9);
    expect(await world.sync('incremental')).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 1, updated: 1, deleted: 1 },
    });
    const after = await activeRows(world);
    const written = after.filter(({ id, xmin }) => before.get(id) !== xmin);
    expect(written.map(({ id }) => id)).toEqual(['5', '31']);
    const state = await world.query<{ xmin: string; generation: string; row_count: string }>(
      `select xmin::text, generation, row_count from ${world.schema}.record_state`,
    );
    expect(state).toMatchObject([{ generation: '2', row_count: '30' }]);
    const tombstones = await world.query<{ id: string; xmin: string }>(
      `select id, xmin::text from ${world.schema}.tombstones`,
    );
    expect(tombstones.map(({ id }) => id)).toEqual(['9']);
    expect(new Set([...written, ...state, ...tombstones].map(({ xmin }) => xmin)).size).toBe(1);
  });

  it('stages a page with its checkpoint and counters, and a repeated page takes effect once', async () => {
    const world = await worldWith(25);
    await world.sync();
    for (let id = 1; id <= 25; id += 1) world.erp.put(id, { name: `again ${id}` }, { lines: [] });
    const id = await world.queue();
    world.erp.onCall = ({ operation, afterId }) => {
      if (operation === 'readPage' && afterId === '10') throw new LostLease('the process is gone');
    };
    await world.work(await world.claim());
    world.erp.onCall = () => undefined;
    const staged = () =>
      world.query<{ id: string; xmin: string }>(
        `select t.id::text, t.xmin::text from ${world.schema}.staging_thing t order by t.id`,
      );
    const first = await staged();
    expect(first.map((row) => row.id)).toEqual(Array.from({ length: 10 }, (_, index) => String(index + 1)));
    const [run] = await world.query<{ xmin: string }>(
      `select xmin::text from ${world.schema}.run_state where run_id = $1`,
      [id],
    );
    expect(new Set([...first, { xmin: run?.xmin }].map(({ xmin }) => xmin)).size).toBe(1);
    const held = await readRunState(ctx.db.data, world.schema, id);
    if (held === undefined) throw new Error('no state');
    const page = {
      records: [],
      rejected: [{ id: '99', code: 'X', message: 'bad' }],
      lastId: '20',
      hasMore: true,
    };
    const write = () =>
      inDataTransaction(ctx.db.data, (client) => stagePage(client, world.schema, held, page, '2'));
    expect(await write()).toMatchObject({ page: held.page + 1, checkpoint: '20' });
    await expect(write()).rejects.toThrow(LostLease);
    expect(await readRunState(ctx.db.data, world.schema, id)).toMatchObject({
      page: held.page + 1,
      checkpoint: '20',
      counters: { fetched: 11, rejected: 1 },
    });
    expect(await staged()).toEqual(first);
  });

  it('follows an ANALYZE: a table that goes live has statistics for its readers', async () => {
    const world = await worldWith(50);
    await world.sync();
    const table = (await world.state())?.activeTable;
    // On Citus the node that has the table knows it, under a name with a number behind it.
    const known = inject('nodes').map(async (node) => {
      const admin = openKnex({ ...node, database: database.address.database }, null, 1);
      await admin.raw('set citus.override_table_visibility to off');
      return admin('pg_stats')
        .where({ schemaname: world.schema, attname: 'id' })
        .whereRaw('tablename ~ ?', `^${table}(_\\d+)?$`)
        .finally(() => admin.destroy());
    });
    expect((await Promise.all(known)).flat()).toHaveLength(1);
  });
});
