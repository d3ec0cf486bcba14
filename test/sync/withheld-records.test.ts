// Stored records that a run could not update: readers under a row scope don't see them while their newest
// values differ or can't be read.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { endOpenRuns, field } from './fixture.ts';
import {
  enter,
  entries,
  mend,
  readChanges,
  readList,
  reject,
  scopedFields,
  scopedWorld,
  scopeState,
  setFields,
  sync,
  withheldIds,
} from './scope-fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterEach(() => endOpenRuns(database));
afterAll(() => database.close());

const made = (customers: Parameters<typeof scopedWorld>[1], options = {}) =>
  scopedWorld(database.ctx, customers, options);
describe('a stored record that is rejected', () => {
  it.each<[string, Record<string, string | null> | undefined, string[]]>([
    ['the stored value', { customer: 'A', name: 'changed' }, []],
    ['another value', { customer: 'B' }, ['1']],
    ['no value', { customer: null }, ['1']],
    ['no readable value', { name: 'changed' }, ['1']],
    ['no readable values', undefined, ['1']],
    ['a value that its type cannot store', { customer: 'a\0' }, ['1']],
  ])('with %s: withheld %#', async (_, values, withheld) => {
    const world = await made({ 1: 'A', 2: 'A' });
    reject(world, '1', values);
    expect(await sync(world)).toMatchObject({ status: 'partial', counts: { rejected: 1 } });
    expect(await withheldIds(world)).toEqual(withheld);
    expect(await readList(world, 'A')).toEqual(['1', '2'].filter((id) => !withheld.includes(id)));
    expect((await scopeState(world)).generation).toBe(withheld.length === 0 ? '1' : '2');
    expect(await entries(world)).toEqual(
      withheld.map((id) => ({ generation: '2', id, before: { f_customer: 'A' } })),
    );
    await sync(world, 'full');
    expect((await scopeState(world)).generation).toBe(withheld.length === 0 ? '1' : '2');
  });

  it('leaves every scope once, whatever happens to it while it is withheld, and enters with the generation in which it is stored', async () => {
    const world = await made({ 1: 'A', 2: 'A' });
    reject(world, '1', { customer: 'B' });
    await sync(world);
    reject(world, '1', { customer: 'C' });
    await sync(world);
    world.erp.put(2, { customer: 'A', name: 'other' });
    await sync(world);
    expect(await readChanges(world, '1', 'A')).toEqual({ upserts: ['2'], deletes: { 1: '2' } });
    mend(world, '1', 'B');
    await sync(world);
    expect(await withheldIds(world)).toEqual([]);
    expect(await entries(world)).toEqual([{ generation: '2', id: '1', before: { f_customer: 'A' } }]);
    expect(await readChanges(world, '1', 'A')).toEqual({ upserts: ['2'], deletes: { 1: '2' } });
    expect(await readChanges(world, '3', 'B')).toEqual({ upserts: ['1'], deletes: {} });
    expect((await world.rows())[0]).toMatchObject({ id: '1', generation: '4' });
  });

  it('is served again as it was when its newest value is the stored one again, rejected or not', async () => {
    const world = await made({ 1: 'A', 2: 'A' });
    for (const id of ['1', '2']) reject(world, id, { customer: 'B' });
    await sync(world);
    reject(world, '1', { customer: 'A' });
    mend(world, '2', 'A');
    await sync(world, 'full');
    expect(await withheldIds(world)).toEqual([]);
    expect(await readChanges(world, '1', 'A')).toEqual({ upserts: ['1', '2'], deletes: {} });
    expect(await readChanges(world, '2', 'A')).toEqual({ upserts: ['1', '2'], deletes: {} });
  });

  it('is released by a full run that finds it unchanged', async () => {
    const world = await made({ 1: 'A', 2: 'A' });
    const { values } = world.erp.records.get('1') ?? { values: {} };
    world.erp.rejects.set('1', { id: '1', code: 'X', message: 'no' });
    await sync(world, 'full');
    expect(await withheldIds(world)).toEqual(['1']);
    world.erp.rejects.clear();
    expect(world.erp.records.get('1')?.values).toEqual(values);
    expect(await sync(world, 'full')).toMatchObject({
      status: 'succeeded',
      counts: { unchanged: 2, updated: 0 },
    });
    expect(await withheldIds(world)).toEqual([]);
    expect(await readChanges(world, '2', 'A')).toEqual({ upserts: ['1'], deletes: {} });
  });

  it('is deleted without leaving again', async () => {
    const world = await made({ 1: 'A', 2: 'A' });
    reject(world, '1', { customer: 'B' });
    await sync(world);
    world.erp.rejects.delete('1');
    world.erp.drop(1);
    await sync(world);
    expect(await withheldIds(world)).toEqual([]);
    expect((await world.rows()).map(({ id }) => id)).toEqual(['2']);
    expect(await entries(world)).toEqual([{ generation: '2', id: '1', before: { f_customer: 'A' } }]);
  });

  it('stays withheld while its deletion waits for approval, because its newest values are unknown', async () => {
    const world = await made({ 1: 'A', 2: 'A' }, { deletions: 'none' });
    reject(world, '1', { customer: 'B' });
    await sync(world);
    world.erp.rejects.delete('1');
    world.erp.records.delete('1');
    await sync(world, 'full');
    expect((await world.rows()).map(({ id }) => id)).toEqual(['1', '2']);
    expect(await withheldIds(world)).toEqual(['1']);
    world.erp.put(1, { customer: 'A' });
    await sync(world, 'full');
    expect(await withheldIds(world)).toEqual([]);
  });

  it('by the service itself is compared by the values that were read', async () => {
    const world = await made({ 1: 'A', 2: 'A', 3: 'A', 4: 'A' });
    await setFields(world, [...scopedFields, field('due', 'date')]);
    await sync(world, 'full');
    world.erp.put(1, { customer: 'A', total: 'many' });
    world.erp.put(2, { customer: 'B', total: 'many' });
    world.erp.put(3, { customer: 'A', due: '2026-02-30' });
    world.erp.put(4, { customer: 'B', due: '2026-02-30' });
    expect(await sync(world)).toMatchObject({ status: 'partial', counts: { rejected: 4 } });
    expect(
      await world.query(`select id, code, scope_values from ${world.schema}.rejections order by id`),
    ).toEqual([
      { id: '1', code: 'VALUE_UNREADABLE', scope_values: { f_customer: 'A' } },
      { id: '2', code: 'VALUE_UNREADABLE', scope_values: { f_customer: 'B' } },
      { id: '3', code: 'VALUE_UNREADABLE', scope_values: { f_customer: 'A' } },
      { id: '4', code: 'VALUE_UNREADABLE', scope_values: { f_customer: 'B' } },
    ]);
    expect(await withheldIds(world)).toEqual(['2', '4']);
  });

  it.each([
    ['f_total', 'total', '1.50', '01.5', '1.51'],
    ['f_modified', 'modified', '2026-05-01T08:00:00Z', '2026-05-01T08:00:00Z', '2026-05-01T08:00:01Z'],
    ['f_count', 'count', '7', '7', '8'],
    ['f_paid', 'paid', 'true', 'true', 'false'],
    ['f_due', 'due', '2026-05-01', '2026-05-01', '2026-05-02'],
  ])('%s is compared by its type', async (column, name, stored, same, other) => {
    const world = await made({ 1: 'A', 2: 'A' });
    await setFields(world, [
      ...scopedFields,
      field('count', 'integer'),
      field('paid', 'boolean'),
      field('due', 'date'),
    ]);
    for (const id of ['1', '2']) world.erp.put(id, { customer: 'A', [name]: stored });
    await sync(world, 'full');
    await enter(world, 'v2', [column]);
    reject(world, '1', { customer: 'A', [name]: same });
    reject(world, '2', { customer: 'A', [name]: other });
    expect(await sync(world)).toMatchObject({ counts: { rejected: 2 } });
    expect(await withheldIds(world)).toEqual(['2']);
  });

  it('before a version allows row scopes is withheld as soon as one does, and served once its values are known', async () => {
    const world = await made({ 1: 'A', 2: 'A' });
    reject(world, '1', { customer: 'A', site: null });
    world.erp.rejects.set('77', { id: '77', code: 'X', message: 'never stored' });
    const withoutId = { id: 'no id', code: 'ID_UNREADABLE', message: 'no id' };
    world.erp.bendPage = (page) => ({ ...page, rejected: [...page.rejected, withoutId] });
    await sync(world);
    const before = await scopeState(world);
    await enter(world, 'v2', ['f_site']);
    const after = await scopeState(world);
    expect(after).toMatchObject({
      generation: '2',
      epoch: before.epoch,
      columns: { f_customer: '1', f_site: '2' },
    });
    expect(await withheldIds(world)).toEqual(['1']);
    expect(await readChanges(world, '1', 'A')).toEqual({ upserts: [], deletes: { 1: '2' } });
    await enter(world, 'v2', ['f_site']);
    expect((await scopeState(world)).generation).toBe('2');
    await sync(world);
    expect(await withheldIds(world)).toEqual([]);
    expect(await readChanges(world, '2', 'A')).toEqual({ upserts: ['1'], deletes: {} });
  });
});

describe('a full run that was compared with the table', () => {
  it('is published although a version withheld a rejected record in between', async () => {
    const world = await made({ 1: 'A', 2: 'A' });
    reject(world, '1', { customer: 'A', site: null });
    await sync(world);
    world.erp.put(2, { customer: 'B' });
    world.erp.onCall = async ({ operation }) => {
      if (operation !== 'count') return;
      world.erp.onCall = () => undefined;
      await enter(world, 'v2', ['f_site']);
    };
    expect(await sync(world, 'full')).toMatchObject({ status: 'partial', generation: '3' });
    expect(await entries(world)).toEqual([
      { generation: '2', id: '1', before: { f_customer: 'A', f_site: null } },
      { generation: '3', id: '2', before: { f_customer: 'A', f_site: null } },
    ]);
  });
});
