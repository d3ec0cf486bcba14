// Random histories of an account, synced step by step and replayed against a model in memory: under every row
// scope, the list and the replayed changes are what the model says, with each deletion at the generation in
// which the record left. PROPERTY_SEED selects other histories, HISTORIES their number.
import { describe, expect, it } from 'vitest';
import { field, type SyncFixture } from './fixture.ts';
import {
  enter,
  scopedChanges,
  scopedFixture,
  scopedList,
  scopeState,
  setFields,
  wait,
} from './scope-fixture.ts';
import { useSync } from './site.ts';

const seed = Number(process.env['PROPERTY_SEED'] ?? 20_261_123);
const [histories, steps, ids] = [Number(process.env['HISTORIES'] ?? 4), 14, 12];

const site = useSync();

function createRandom(from: number) {
  let state = from >>> 0;
  const below = (max: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return (state ^ (state >>> 13)) % max;
  };
  return { below, one: <T>(values: readonly T[]): T => values[below(values.length)] as T };
}
type Random = ReturnType<typeof createRandom>;

const customers = ['A', 'B', 'C', null];
const scopes: readonly (readonly string[])[] = [['A'], ['B'], ['A', 'C']];

/** What a reader under no scope should find stored, and which of it no scoped reader may see. */
type Model = { readonly stored: Map<string, string | null>; readonly withheld: Set<string> };
type Reader = {
  readonly customers: readonly string[];
  /** The copy that follows the changes, and the generation that it has. */
  readonly copy: Set<string>;
  since: string;
  /** By id: the generation of each leaving of the scope. */
  readonly left: Map<string, string[]>;
  shown: readonly string[];
};

const shownBy = ({ stored, withheld }: Model, allowed: readonly string[]): string[] =>
  [...stored].flatMap(([id, customer]) =>
    customer !== null && allowed.includes(customer) && !withheld.has(id) ? [id] : [],
  );

const rejections = (customer: string | null) => [
  undefined,
  { customer },
  { name: 'no customer' },
  { customer, name: 'changed' },
  { customer: 'A' },
];

function change({ erp }: SyncFixture, { stored }: Model, { below, one }: Random): void {
  const id = String(below(ids) + 1);
  const kind = below(10);
  if (kind < 4) {
    erp.rejects.delete(id);
    erp.put(id, { customer: one(customers) });
  } else if (kind < 6) {
    erp.rejects.delete(id);
    if (erp.records.has(id)) erp.drop(id);
  } else if (kind < 9) {
    const values = one(rejections(one([stored.get(id) ?? null, one(customers)])));
    erp.put(id, { customer: one(customers) });
    erp.rejects.set(id, {
      id,
      code: 'LINE_UNREADABLE',
      message: 'line 1',
      ...(values !== undefined && { values }),
    });
  } else for (const other of [...erp.rejects.keys()]) erp.rejects.delete(other);
}

/** What a published run makes of the account. */
function follow({ stored, withheld }: Model, { erp }: SyncFixture): void {
  for (const id of stored.keys()) if (!erp.records.has(id)) stored.delete(id);
  for (const [id, { values }] of erp.records)
    if (!erp.rejects.has(id)) stored.set(id, values['customer'] ?? null);
  withheld.clear();
  for (const [id, { values }] of erp.rejects)
    if (
      stored.has(id) &&
      (values === undefined || !('customer' in values) || values['customer'] !== stored.get(id))
    )
      withheld.add(id);
}

async function compare(
  fixture: SyncFixture,
  model: Model,
  readers: readonly Reader[],
  catchesUp: (reader: Reader) => boolean,
): Promise<void> {
  const { generation } = await scopeState(fixture);
  for (const reader of readers) {
    const shown = shownBy(model, reader.customers).sort((a, b) => Number(a) - Number(b));
    for (const id of reader.shown)
      if (!shown.includes(id)) reader.left.set(id, [...(reader.left.get(id) ?? []), generation]);
    reader.shown = shown;
    const table = { fixture, customers: reader.customers };
    expect(await scopedList(table)).toEqual(shown);
    const { upserts, deletes } = await scopedChanges(table, reader.since);
    const due = [...reader.left].flatMap(([id, left]) => {
      const last = left.at(-1) ?? '0';
      return shown.includes(id) || BigInt(last) <= BigInt(reader.since) ? [] : [[id, last] as const];
    });
    expect(deletes).toEqual(Object.fromEntries(due));
    expect(upserts.filter((id) => !shown.includes(id))).toEqual([]);
    if (!catchesUp(reader)) continue;
    for (const id of upserts) reader.copy.add(id);
    for (const id of Object.keys(deletes)) reader.copy.delete(id);
    expect([...reader.copy].sort((a, b) => Number(a) - Number(b))).toEqual(shown);
    reader.since = generation;
  }
}

async function startReaders(fixture: SyncFixture, model: Model): Promise<Reader[]> {
  const { generation } = await scopeState(fixture);
  return scopes.map((allowed) => {
    const shown = shownBy(model, allowed);
    return { customers: allowed, copy: new Set(shown), since: generation, left: new Map(), shown };
  });
}

/**
 * A run that fills a new column in a fresh table, as it does above a number of rows: every copy begins again.
 */
async function swap(fixture: SyncFixture, extra: number): Promise<void> {
  await fixture.query(`update ${fixture.schema}.record_state set row_count = 10000`);
  await setFields(fixture, [...fixture.erp.fields, field(`extra${extra}`)]);
}

describe(`random histories, PROPERTY_SEED=${seed}`, () => {
  it.each(Array.from({ length: histories }, (_unused, n) => n))('history %i', async (n) => {
    const random = createRandom(seed + n * 7_919);
    const initial = Object.fromEntries(
      Array.from({ length: ids - 3 }, (_unused, at) => [String(at + 1), random.one(customers)]),
    );
    const fixture = await scopedFixture(site.ctx, initial);
    const model: Model = { stored: new Map(Object.entries(initial)), withheld: new Set() };
    let readers = await startReaders(fixture, model);
    for (let step = 0; step < steps; step += 1) {
      for (let changes = random.below(5); changes > 0; changes -= 1) change(fixture, model, random);
      wait(fixture);
      const swaps = random.below(12) === 0;
      const { epoch } = await scopeState(fixture);
      if (swaps) await swap(fixture, step);
      const run = await fixture.sync(swaps || random.below(4) === 0 ? 'full' : 'incremental');
      expect(run.error?.code ?? 'RECORDS_REJECTED').toBe('RECORDS_REJECTED');
      expect((await scopeState(fixture)).epoch !== epoch).toBe(swaps);
      follow(model, fixture);
      if (swaps) readers = await startReaders(fixture, model);
      await compare(fixture, model, readers, () => random.below(3) > 0);
      if (random.below(8) === 0) await enter(fixture, `v${step + 2}`, ['f_customer'], ['f_total']);
    }
    await compare(fixture, model, readers, () => true);
  });
});
