// Stored records that a run could not update: readers under a row scope don't see them while their newest
// values differ or can't be read.
import { describe, expect, it } from 'vitest';
import { field } from './fixture.ts';
import {
  enter,
  entries,
  readChanges,
  readList,
  reject,
  scopedFields,
  scopedFixture,
  scopeState,
  setFields,
  sync,
  withheldIds,
} from './scope-fixture.ts';
import { useSync } from './site.ts';

const site = useSync();

const made = (customers: Parameters<typeof scopedFixture>[1], options = {}) =>
  scopedFixture(site.ctx, customers, options);
describe('a stored record that is rejected', () => {
  it.each<[string, Record<string, string | null> | undefined, string[]]>([
    ['the stored value', { customer: 'A', name: 'changed' }, []],
    ['another value', { customer: 'B' }, ['1']],
    ['no value', { customer: null }, ['1']],
    ['no readable value', { name: 'changed' }, ['1']],
    ['no readable values', undefined, ['1']],
    ['a value that its type cannot store', { customer: 'a\0' }, ['1']],
  ])('with %s: withheld %#', async (_, values, withheld) => {
    const fixture = await made({ 1: 'A', 2: 'A' });
    reject(fixture, '1', values);
    expect(await sync(fixture)).toMatchObject({ status: 'partial', counts: { rejected: 1 } });
    expect(await withheldIds(fixture)).toEqual(withheld);
    expect(await readList(fixture, 'A')).toEqual(['1', '2'].filter((id) => !withheld.includes(id)));
    expect((await scopeState(fixture)).generation).toBe(withheld.length === 0 ? '1' : '2');
    expect(await entries(fixture)).toEqual(
      withheld.map((id) => ({ generation: '2', id, before: { f_customer: 'A' } })),
    );
    await sync(fixture, 'full');
    expect((await scopeState(fixture)).generation).toBe(withheld.length === 0 ? '1' : '2');
  });

  it('stays withheld while its deletion waits for approval, because its newest values are unknown', async () => {
    const fixture = await made({ 1: 'A', 2: 'A' }, { deletions: 'none' });
    reject(fixture, '1', { customer: 'B' });
    await sync(fixture);
    fixture.erp.rejects.delete('1');
    fixture.erp.records.delete('1');
    await sync(fixture, 'full');
    expect((await fixture.rows()).map(({ id }) => id)).toEqual(['1', '2']);
    expect(await withheldIds(fixture)).toEqual(['1']);
    fixture.erp.put(1, { customer: 'A' });
    await sync(fixture, 'full');
    expect(await withheldIds(fixture)).toEqual([]);
  });

  it('by the service itself is compared by the values that were read', async () => {
    const fixture = await made({ 1: 'A', 2: 'A', 3: 'A', 4: 'A' });
    await setFields(fixture, [...scopedFields, field('due', 'date')]);
    await sync(fixture, 'full');
    fixture.erp.put(1, { customer: 'A', total: 'many' });
    fixture.erp.put(2, { customer: 'B', total: 'many' });
    fixture.erp.put(3, { customer: 'A', due: '2026-02-30' });
    fixture.erp.put(4, { customer: 'B', due: '2026-02-30' });
    expect(await sync(fixture)).toMatchObject({ status: 'partial', counts: { rejected: 4 } });
    const rejections = `select id, code, scope_values from ${fixture.schema}.rejections order by id`;
    expect(await fixture.query(rejections)).toEqual(
      ['A', 'B', 'A', 'B'].map((customer, index) => ({
        ...{ id: String(index + 1), code: 'VALUE_UNREADABLE' },
        scope_values: { f_customer: customer },
      })),
    );
    expect(await withheldIds(fixture)).toEqual(['2', '4']);
  });

  it.each([
    ['f_total', 'total', '1.50', '01.5', '1.51'],
    ['f_modified', 'modified', '2026-05-01T08:00:00Z', '2026-05-01T08:00:00Z', '2026-05-01T08:00:01Z'],
    ['f_count', 'count', '7', '7', '8'],
    ['f_paid', 'paid', 'true', 'true', 'false'],
    ['f_due', 'due', '2026-05-01', '2026-05-01', '2026-05-02'],
  ])('%s is compared by its type', async (column, name, stored, same, other) => {
    const fixture = await made({ 1: 'A', 2: 'A' });
    await setFields(fixture, [
      ...scopedFields,
      field('count', 'integer'),
      field('paid', 'boolean'),
      field('due', 'date'),
    ]);
    for (const id of ['1', '2']) fixture.erp.put(id, { customer: 'A', [name]: stored });
    await sync(fixture, 'full');
    await enter(fixture, 'v2', [column]);
    reject(fixture, '1', { customer: 'A', [name]: same });
    reject(fixture, '2', { customer: 'A', [name]: other });
    expect(await sync(fixture)).toMatchObject({ counts: { rejected: 2 } });
    expect(await withheldIds(fixture)).toEqual(['2']);
  });

  it('before a version allows row scopes is withheld as soon as one does, and served once its values are known', async () => {
    const fixture = await made({ 1: 'A', 2: 'A' });
    reject(fixture, '1', { customer: 'A', site: null });
    fixture.erp.rejects.set('77', { id: '77', code: 'X', message: 'never stored' });
    const withoutId = { id: 'no id', code: 'ID_UNREADABLE', message: 'no id' };
    fixture.erp.bendPage = (page) => ({ ...page, rejected: [...page.rejected, withoutId] });
    await sync(fixture);
    const before = await scopeState(fixture);
    await enter(fixture, 'v2', ['f_site']);
    const after = await scopeState(fixture);
    expect(after).toMatchObject({
      generation: '2',
      epoch: before.epoch,
      columns: { f_customer: '1', f_site: '2' },
    });
    expect(await withheldIds(fixture)).toEqual(['1']);
    expect(await readChanges(fixture, '1', 'A')).toEqual({ upserts: [], deletes: { 1: '2' } });
    await enter(fixture, 'v2', ['f_site']);
    expect((await scopeState(fixture)).generation).toBe('2');
    await sync(fixture);
    expect(await withheldIds(fixture)).toEqual([]);
    expect(await readChanges(fixture, '2', 'A')).toEqual({ upserts: ['1'], deletes: {} });
  });
});

it('a full run that was compared with the table is published although a version withheld a rejected record in between', async () => {
  const fixture = await made({ 1: 'A', 2: 'A' });
  reject(fixture, '1', { customer: 'A', site: null });
  await sync(fixture);
  fixture.erp.put(2, { customer: 'B' });
  fixture.erp.once('count', () => enter(fixture, 'v2', ['f_site']));
  expect(await sync(fixture, 'full')).toMatchObject({ status: 'partial', generation: '3' });
  expect(await entries(fixture)).toEqual([
    { generation: '2', id: '1', before: { f_customer: 'A', f_site: null } },
    { generation: '3', id: '2', before: { f_customer: 'A', f_site: null } },
  ]);
});
