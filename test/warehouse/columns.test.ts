import { describe, expect, it } from 'vitest';
import type { FieldMetadata } from '../../src/connectors/connector.ts';
import { planColumns, type RecordColumn } from '../../src/warehouse/columns.ts';
import { field } from '../sync/fixture.ts';

/** The columns after a plan was carried out and every column was filled. */
function settled(existing: readonly RecordColumn[], fields: readonly FieldMetadata[]): RecordColumn[] {
  const { added, changed } = planColumns(existing, fields);
  const byName = new Map([...existing, ...changed, ...added].map((column) => [column.column, column]));
  const filled = ['loading', 'returned'];
  return [...byName.values()].map((column) =>
    filled.includes(column.state) ? { ...column, state: 'live' } : column,
  );
}
const brief = (columns: readonly RecordColumn[]): string[] =>
  columns.map(({ column, type, state }) => `${column} ${type} ${state}`);

describe('planColumns', () => {
  it('new fields are loading; references and lists get a label column', () => {
    const { added, changed } = planColumns(
      [],
      [field('total', 'number'), field('entity', 'reference'), field('status', 'list')],
    );
    expect(brief(added)).toEqual([
      'f_total number loading',
      'f_entity text loading',
      'l_entity text loading',
      'f_status text loading',
      'l_status text loading',
    ]);
    expect(changed).toEqual([]);
  });

  it('no new fields need no changes', () => {
    const fields = [
      field('a'),
      field('e', 'reference'),
      field('lines', 'lines', [field('item', 'reference'), field('qty', 'number')]),
    ];
    expect(planColumns(settled([], fields), fields)).toEqual({ added: [], changed: [] });
  });

  it('a changed type gets a new column, and the old one stays', () => {
    const { added, changed } = planColumns(settled([], [field('a', 'text')]), [field('a', 'number')]);
    expect(brief(added)).toEqual(['f_a_2 number loading']);
    expect(brief(changed)).toEqual(['f_a text replaced']);
  });

  it('a type that changes back and forth never reuses an old column', () => {
    const once = settled(settled([], [field('a', 'text')]), [field('a', 'number')]);
    expect(brief(planColumns(once, [field('a', 'text')]).added)).toEqual(['f_a_3 text loading']);
  });

  it('a vanished field keeps its column, which is filled in place when the field returns', () => {
    const gone = settled(settled([], [field('a'), field('b')]), [field('a')]);
    expect(brief(gone)).toEqual(['f_a text live', 'f_b text vanished']);
    expect(planColumns(gone, [field('a')])).toEqual({ added: [], changed: [] });
    expect(brief(planColumns(gone, [field('a'), field('b')]).changed)).toEqual(['f_b text returned']);
  });

  it('a field that is missing for the moment is stale, until it returns or is accepted as missing', () => {
    const before = settled([], [field('a'), field('b', 'reference')]);
    const { changed } = planColumns(before, [field('a')], new Set(['b']));
    expect(brief(changed)).toEqual(['f_b text stale', 'l_b text stale']);
    const stale = [...before.slice(0, 1), ...changed];
    expect(planColumns(stale, [field('a')], new Set(['b']))).toEqual({ added: [], changed: [] });
    expect(brief(planColumns(stale, [field('a'), field('b', 'reference')]).changed)).toEqual([
      'f_b text returned',
      'l_b text returned',
    ]);
    expect(brief(planColumns(stale, [field('a')]).changed)).toEqual([
      'f_b text vanished',
      'l_b text vanished',
    ]);
  });

  it('a vanished field that returns with another type gets a new column', () => {
    const gone = settled(settled([], [field('a'), field('b')]), [field('a')]);
    const { added, changed } = planColumns(gone, [field('a'), field('b', 'date')]);
    expect([brief(added), brief(changed)]).toEqual([['f_b_2 date loading'], ['f_b text replaced']]);
  });

  it('a reference that becomes a text loses only its label', () => {
    const { added, changed } = planColumns(settled([], [field('a', 'reference')]), [field('a', 'text')]);
    expect([brief(added), brief(changed)]).toEqual([[], ['l_a text vanished']]);
  });

  it('lines with other fields are updated in place; unsyncable ones are left out', () => {
    const before = [field('lines', 'lines', [field('item', 'reference')])];
    const after = [
      field('lines', 'lines', [
        field('item', 'reference'),
        field('qty', 'number'),
        { ...field('x'), syncable: false },
      ]),
    ];
    const { changed } = planColumns(settled([], before), after);
    expect(changed).toMatchObject([
      {
        column: 'f_lines',
        state: 'returned',
        lineFields: [{ name: 'item' }, { name: 'item.name' }, { name: 'qty', type: 'number' }],
      },
    ]);
  });

  it('names are legal, unique, and at most 63 bytes', () => {
    const long = 'custbody_'.padEnd(80, 'x');
    const { added } = planColumns(
      [],
      [
        field('a-b'),
        field('a.b'),
        field('id'),
        field('generation'),
        field('ähm'),
        field(`${long}1`),
        field(`${long}2`),
      ],
    );
    const names = added.map(({ column }) => column);
    expect(names.slice(0, 5)).toEqual(['f_a_b', 'f_a_b_2', 'f_id', 'f_generation', 'f__hm']);
    expect(new Set(names).size).toBe(7);
    expect(names.every((name) => Buffer.byteLength(name) <= 63)).toBe(true);
  });

  it('the column of an old field is not reused for a new one', () => {
    const old = settled(settled([], [field('a-b')]), []);
    expect(brief(planColumns(old, [field('a.b')]).added)).toEqual(['f_a_b_2 text loading']);
  });
});
