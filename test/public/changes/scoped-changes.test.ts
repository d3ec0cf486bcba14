// The change feed under a row scope: a client that follows it has the scoped list, learns of each record that
// leaves its scope once, in the generation in which it left, and of no record that was never in it. Compared
// with a history that is kept in memory, over real syncs. Which readers may exchange tokens: test/access.
import type { Express } from 'express';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RowScopes } from '../../../src/core/record-access.ts';
import { enterVersions } from '../../../src/platform/api-schemas/shown-columns.ts';
import { pruneTombstones } from '../../../src/sync/deletions/prune-tombstones.ts';
import { testDatabase } from '../../setup/database.ts';
import { makeKey } from '../../setup/organization.ts';
import { useStarted } from '../../setup/use-started.ts';
import { field, memoryErp, noSignal, syncFixture } from '../../sync/fixture.ts';
import { createCaller, publicApp, publishVersion } from '../fixture.ts';

type Get = ReturnType<typeof createCaller>;
type Thing = { id: string; [field: string]: unknown };
type Change = { op: 'upsert' | 'delete'; id: string; at: string; record: Thing | null };
type Page = { data: Change[]; next: string; hasMore: boolean };

const fields = [
  field('name'),
  field('total', 'number'),
  field('customer'),
  field('region', 'integer'),
  field('modified', 'time'),
];
const endpoint = {
  name: 'things',
  recordType: 'thing',
  fields: [
    { name: 'name', source: 'name' },
    { name: 'amount', source: 'total', mask: 'last4' },
    { name: 'customerId', source: 'customer', scopable: true },
    { name: 'region', source: 'region', scopable: true },
  ],
  sorts: ['name'],
};

/** The values to show, by the name of the source. */
type Conditions = Readonly<Record<string, readonly string[]>>;
/** A row scope on `things`. */
const createRowScopes = (conditions: Conditions): RowScopes => ({
  resources: {
    things: {
      recordType: 'thing',
      conditions: Object.entries(conditions).map(([source, values]) => ({
        field: source,
        source,
        in: values,
      })),
    },
  },
  others: false,
});

const database = useStarted(() => testDatabase({ settings: { cacheTtlMs: 0 } }));
let app: Express;

async function openFeed() {
  const fixture = await syncFixture(database.ctx, memoryErp(fields));
  fixture.erp.deleted = new Map();
  fixture.erp.put(1, { customer: 'A', region: '1' });
  await fixture.sync();
  await publishVersion(database.ctx, fixture.organizationId, { endpoints: [endpoint] });
  await enterVersions(fixture.tenant);
  return {
    fixture,
    scoped: async (conditions: Conditions | null): Promise<Get> => {
      const rows = conditions === null ? {} : { rows: createRowScopes(conditions) };
      const { secret } = await makeKey(database.ctx, fixture.organizationId, rows);
      return createCaller(app, { secret, organizationId: fixture.organizationId });
    },
  };
}

type Feed = Awaited<ReturnType<typeof openFeed>>;

beforeAll(async () => {
  app = publicApp(database.ctx);
});

const page = async (get: Get, since: string | null, limit = 1_000): Promise<Page> =>
  (await get(`/v1/things/changes?limit=${limit}${since === null ? '' : `&since=${since}`}`).expect(200)).body;
const listOps = ({ data }: Page): string[] => data.map(({ op, id }) => `${op} ${id}`);
const refusal = async (get: Get, since: string) => {
  const { status, body } = await get(`/v1/things/changes?since=${since}`);
  return [status, body.error?.details[0].path, body.error?.details[0].code];
};
const unreadable = { code: 'VALUE_UNREADABLE', message: 'The total is not a number' };
const expired = [410, 'since', 'token_expired'];

/**
 * What the test knows of one record: what was stored, and whether its newest version could not be stored and
 * moved it.
 */
type Row = { customer: string | null; region: string | null; generation: number; withheld: boolean };
type History = ReadonlyMap<string, Row>[];

const matches = (conditions: Conditions, id: string, row: Row | undefined): boolean =>
  row !== undefined &&
  !row.withheld &&
  Object.entries(conditions).every(([source, values]) => {
    const value = source === 'id' ? id : row[source as 'customer' | 'region'];
    return value !== null && values.includes(value);
  });

/**
 * The changes that a client of the scope must get which has everything up to the generation `seen`.
 * `history[g]` is generation g.
 */
function expectedChanges(history: History, conditions: Conditions, seen: number): string[] {
  const last = history.length - 1;
  const ids = new Set(history.flatMap((rows) => [...(rows?.keys() ?? [])]));
  const isIn = (id: string, generation: number) => matches(conditions, id, history[generation]?.get(id));
  const found = [...ids].flatMap((id) => {
    const row = history[last]?.get(id);
    if (isIn(id, last))
      return row !== undefined && row.generation > seen
        ? [{ kind: 'upsert', id, generation: row.generation }]
        : [];
    const left = history.findLastIndex(
      (_rows, generation) => generation > seen && isIn(id, generation - 1) && !isIn(id, generation),
    );
    return left === -1 ? [] : [{ kind: 'delete', id, generation: left }];
  });
  const byId = (a: string, b: string, kind: string) =>
    kind === 'upsert' ? Number(a) - Number(b) : a < b ? -1 : 1;
  return found
    .sort(
      (a, b) =>
        a.generation - b.generation ||
        (a.kind === b.kind ? byId(a.id, b.id, a.kind) : a.kind === 'upsert' ? -1 : 1),
    )
    .map(({ kind, id }) => `${kind} ${id}`);
}

type Stored = { id: string; generation: string; f_customer: string | null; f_region: string | null };

describe('GET /{version}/{resource}/changes under a row scope', () => {
  let fixture: Feed['fixture'];
  let scoped: Feed['scoped'];
  beforeAll(async () => {
    ({ fixture, scoped } = await openFeed());
  });

  it('follows the scoped list over random histories, for every scope', async () => {
    const scopes: Conditions[] = [
      { customer: ['A'] },
      { customer: ['A', 'B'] },
      { customer: ['B'], region: ['1', '2'] },
      { region: ['2'] },
      { id: ['1', '2', '7'] },
    ];
    const all = await scoped(null);
    const clients = await Promise.all(
      scopes.map(async (conditions) => ({
        conditions,
        get: await scoped(conditions),
        copy: new Map<string, Thing | null>(),
        since: null as string | null,
        seen: 0,
      })),
    );
    let deletions = 0;
    const withheld = new Set<string>();
    const history: History = [];
    const remember = async () => {
      const state = await fixture.state();
      const rows = await fixture.query<Stored>(
        `select id::text, generation::text, f_customer, f_region::text from ${fixture.schema}."${state?.activeTable}"`,
      );
      const generation = Number(state?.generation);
      for (let earlier = history.length; earlier < generation; earlier += 1)
        history[earlier] = new Map(history[earlier - 1]);
      history[generation] = new Map(
        rows.map((row) => [
          row.id,
          {
            customer: row.f_customer,
            region: row.f_region,
            generation: Number(row.generation),
            withheld: withheld.has(row.id),
          },
        ]),
      );
      expect(history).toHaveLength(generation + 1);
    };
    type Step = { id: number; what: string; customer: string | null; region: string | null };
    const act = ({ id, what, customer, region }: Step) => {
      const key = String(id);
      if (what === 'drop' && fixture.erp.records.size > 1) {
        fixture.erp.drop(id);
        fixture.erp.rejects.delete(key);
        withheld.delete(key);
      } else if (what === 'reject' && fixture.erp.records.has(key)) {
        fixture.erp.put(id, { customer, region });
        fixture.erp.rejects.set(key, { id: key, ...unreadable });
        withheld.add(key);
      } else if (what === 'write' || what === 'move') {
        fixture.erp.rejects.delete(key);
        withheld.delete(key);
        const held = fixture.erp.records.get(key)?.values;
        const kept = { customer: held?.['customer'] ?? 'C', region: held?.['region'] ?? null };
        fixture.erp.put(id, {
          total: `1234.${fixture.erp.calls.length}`,
          ...(what === 'move' ? { customer, region } : kept),
        });
      }
    };
    const step = fc.record({
      id: fc.integer({ min: 1, max: 9 }),
      what: fc.constantFrom('write', 'move', 'move', 'move', 'drop', 'reject'),
      customer: fc.constantFrom('A', 'B', 'C', null),
      region: fc.constantFrom('1', '2', '3', null),
    });
    const catchUp = async (client: (typeof clients)[number], limit: number) => {
      const ops: string[] = [];
      for (let hasMore = true; hasMore; ) {
        const found: Page = await page(client.get, client.since, limit);
        for (const { op, id, record } of found.data) {
          if (op === 'upsert') client.copy.set(id, record);
          else client.copy.delete(id);
        }
        ops.push(...listOps(found));
        ({ hasMore, next: client.since } = found);
      }
      return ops;
    };
    const sorted = (records: Iterable<Thing | null>) =>
      [...records].sort((a, b) => Number(a?.id) - Number(b?.id));
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 6 }),
        fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
        fc.constantFrom('full', 'incremental'),
        async (steps, asks, mode) => {
          for (const each of steps) act(each);
          await fixture.sync(mode as 'full');
          await remember();
          const whole: Thing[] = (await all('/v1/things?pageSize=100').expect(200)).body.data;
          for (const [at, client] of clients.entries()) {
            // Some clients miss some of the syncs.
            if (asks[at] === false) continue;
            const visible = whole.filter(({ id }) => matches(client.conditions, id, history.at(-1)?.get(id)));
            const changes = expectedChanges(history, client.conditions, client.seen);
            // A client that has nothing needs no deletions.
            const expected =
              client.since === null ? changes.filter((op) => op.startsWith('upsert')) : changes;
            expect(await catchUp(client, 1 + at)).toEqual(expected);
            deletions += client.seen > 0 ? changes.filter((op) => op.startsWith('delete')).length : 0;
            client.seen = history.length - 1;
            expect(sorted(client.copy.values())).toEqual(sorted(visible));
            expect((await client.get('/v1/things?pageSize=100').expect(200)).body.data).toEqual(visible);
            if (at !== history.length % clients.length) continue;
            const fresh = { ...client, copy: new Map(), since: null };
            await catchUp(fresh, 3);
            expect(sorted(fresh.copy.values())).toEqual(sorted(visible));
          }
        },
      ),
      { numRuns: 30, endOnFailure: true },
    );
    expect(deletions).toBeGreaterThan(20);
  }, 60_000);
});

describe('a token of the change feed', () => {
  let fixture: Feed['fixture'];
  let scoped: Feed['scoped'];
  beforeAll(async () => {
    ({ fixture, scoped } = await openFeed());
    for (const id of [2, 3, 4]) fixture.erp.put(id, { customer: 'A', region: '1' });
    await fixture.sync();
  });

  it('reports a move as one delete to the former scope and one upsert to the new one, and nothing afterwards', async () => {
    const [a, b] = [await scoped({ customer: ['A'] }), await scoped({ customer: ['B'] })];
    const [heldA, heldB] = [(await page(a, null)).next, (await page(b, null)).next];
    fixture.erp.put(2, { customer: 'B', region: '1' });
    await fixture.sync();
    const movedAt = (await page(a, heldA)).data[0]?.at;
    expect(listOps(await page(a, heldA))).toEqual(['delete 2']);
    expect(await page(b, heldB)).toMatchObject({
      data: [{ op: 'upsert', id: '2', record: { customerId: 'B' } }],
    });
    fixture.erp.put(2, { customer: 'B', name: 'other' });
    fixture.erp.put(5, { customer: 'A' });
    await fixture.sync();
    const later = await page(a, heldA);
    expect(listOps(later)).toEqual(['delete 2', 'upsert 5']);
    expect(later.data[0]).toEqual({ op: 'delete', id: '2', at: movedAt, record: null });
    fixture.erp.drop(2);
    await fixture.sync();
    expect(listOps(await page(a, heldA))).toEqual(['delete 2', 'upsert 5']);
    expect(listOps(await page(a, later.next))).toEqual([]);
    expect(listOps(await page(b, heldB))).toEqual(['delete 2']);
  });

  it('410 when the values of the scope were not recorded from its floor on, and once they are pruned', async () => {
    const get = await scoped({ customer: ['A'] });
    const { next } = await page(get, null);
    const generation = Number((await fixture.state())?.generation);
    const recording = (text: string) =>
      fixture.query(`update ${fixture.schema}.record_state set scope_columns = scope_columns || $1::jsonb`, [
        text,
      ]);
    await recording(`{"f_customer": "${generation + 1}"}`);
    expect(await refusal(get, next)).toEqual(expired);
    expect(
      listOps(await page(await scoped({ id: ['1'] }), (await page(await scoped({ id: ['1'] }), null)).next)),
    ).toEqual([]);
    await recording(`{"f_customer": "${generation}"}`);
    expect((await page(get, next)).data).toEqual([]);
    fixture.erp.put(3, { customer: 'C' });
    await fixture.sync();
    const { next: later } = await page(get, next);
    await fixture.query(`update ${fixture.schema}.scope_changes set at = now() - interval '31 days'`);
    await pruneTombstones(database.ctx, noSignal);
    expect(await refusal(get, next)).toEqual(expired);
    expect((await page(get, later)).data).toEqual([]);
  });

  it('reports a record that was withheld and one that is served again', async () => {
    const get = await scoped({ customer: ['A'] });
    const { next } = await page(get, null);
    fixture.erp.put(4, { customer: 'A', name: 'newest' });
    fixture.erp.rejects.set('4', { id: '4', ...unreadable });
    await fixture.sync();
    const withheld = await page(get, next);
    expect(listOps(withheld)).toEqual(['delete 4']);
    await get('/v1/things/4').expect(404);
    fixture.erp.rejects.clear();
    await fixture.sync();
    for (const since of [next, withheld.next])
      expect(await page(get, since)).toMatchObject({
        data: [{ op: 'upsert', id: '4', record: { name: 'newest' } }],
      });
  });

  it('keeps the order of a walk during which records leave and come back', async () => {
    for (const id of [11, 12, 13, 14, 15]) fixture.erp.put(id, { customer: 'W' });
    await fixture.sync();
    const get = await scoped({ customer: ['W'] });
    const first = await page(get, null, 2);
    expect([listOps(first), first.hasMore]).toEqual([['upsert 11', 'upsert 12'], true]);
    fixture.erp.put(11, { customer: 'X' });
    fixture.erp.put(14, { customer: 'X' });
    await fixture.sync();
    fixture.erp.drop(12);
    fixture.erp.put(14, { customer: 'W' });
    await fixture.sync();
    const second = await page(get, first.next, 2);
    expect([listOps(second), second.hasMore]).toEqual([['upsert 13', 'upsert 15'], true]);
    const third = await page(get, second.next, 2);
    expect([listOps(third), third.hasMore]).toEqual([['delete 11', 'upsert 14'], true]);
    const last = await page(get, third.next, 2);
    expect([listOps(last), last.hasMore]).toEqual([['delete 12'], false]);
  });

  it('sends records of any size, in pages that end early, and none of other scopes', async () => {
    for (const id of [21, 22, 23, 24, 25, 26]) {
      const customer = id % 2 === 0 ? 'L' : 'M';
      fixture.erp.put(id, { customer, name: `${customer} ${id}`.repeat(60_000) });
    }
    await fixture.sync();
    const get = await scoped({ customer: ['L'] });
    const { text, body } = await get('/v1/things/changes').expect(200);
    expect(listOps(body)).toEqual(['upsert 22', 'upsert 24', 'upsert 26']);
    expect(text.length).toBeGreaterThan(512 * 1024);
    expect(text).not.toContain('M ');
    expect(body.data.map(({ record }: Change) => record)).toEqual(
      (await get('/v1/things').expect(200)).body.data,
    );
    fixture.erp.put(24, { customer: 'M', name: 'short' });
    await fixture.sync();
    expect(listOps(await page(get, body.next))).toEqual(['delete 24']);
  });

  it('works before the first sync after an update of the service', async () => {
    const { fixture: older, scoped: scopedOlder } = await openFeed();
    const get = await scopedOlder({ id: ['1'] });
    await older.query(
      `alter table ${older.schema}.record_state drop column scope_columns, drop column scope_pruned`,
    );
    await older.query(`drop table ${older.schema}.scope_changes, ${older.schema}.withheld_records`);
    const { body } = await get('/v1/things/changes').expect(200);
    expect(listOps(body)).toEqual(['upsert 1']);
    expect(listOps(await page(get, body.next))).toEqual([]);
  });

  it('410 after the table was replaced', async () => {
    const get = await scoped({ customer: ['A'] });
    const { next } = await page(get, null);
    await fixture.query(`update ${fixture.schema}.record_state set epoch = 'another'`);
    expect(await refusal(get, next)).toEqual(expired);
    await page(get, (await page(get, null)).next);
  });
});
