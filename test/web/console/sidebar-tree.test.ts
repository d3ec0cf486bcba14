// The sidebar's tree as rows: there and back, and each move with all that is below the row.
import { describe, expect, it } from 'vitest';
import {
  addRow,
  type Direction,
  dropBefore,
  type Item,
  moveRow,
  type Rows,
  toItems,
  toPaths,
  toRows,
} from '../../../web/console/src/screens/portal/sidebar-tree.ts';

const group = (label: string, ...children: Item[]): Item => ({
  ...{ label, icon: null, kind: 'group', target: null },
  children,
});
const link = (label: string): Item => ({
  ...{ label, icon: 'star', kind: 'link', target: 'https://a.example' },
  children: [],
});
const items = [link('a'), group('b', link('c'), group('d', link('e'))), link('f')];

/** Labels, indented by their depth. */
const draw = (rows: Rows | undefined): string[] | undefined =>
  rows?.map(({ label, depth }) => '.'.repeat(depth) + label);
const drawMove = (label: string, direction: Direction) => {
  const rows = toRows(items);
  return draw(
    moveRow(
      rows,
      rows.findIndex((row) => row.label === label),
      direction,
    ),
  );
};

describe('the sidebar as rows', () => {
  it('is the same tree again', () => {
    expect(toItems(toRows(items))).toEqual(items);
    expect(draw(toRows(items))).toEqual(['a', 'b', '.c', '.d', '..e', 'f']);
  });

  it('names each row as the service does', () => {
    expect(toPaths(toRows(items))).toEqual([
      'items[0]',
      'items[1]',
      'items[1].children[0]',
      'items[1].children[1]',
      'items[1].children[1].children[0]',
      'items[2]',
    ]);
  });

  it.each<[string, Direction, string[] | undefined]>([
    ['a', 'up', undefined],
    ['a', 'down', ['b', '.c', '.d', '..e', 'a', 'f']],
    ['b', 'up', ['b', '.c', '.d', '..e', 'a', 'f']],
    ['b', 'down', ['a', 'f', 'b', '.c', '.d', '..e']],
    ['c', 'up', undefined],
    ['d', 'up', ['a', 'b', '.d', '..e', '.c', 'f']],
    ['d', 'down', undefined],
    ['d', 'out', ['a', 'b', '.c', 'd', '.e', 'f']],
    ['c', 'out', ['a', 'b', '.d', '..e', 'c', 'f']],
    ['e', 'out', ['a', 'b', '.c', '.d', '.e', 'f']],
    ['f', 'out', undefined],
    ['f', 'in', ['a', 'b', '.c', '.d', '..e', '.f']],
    ['b', 'in', undefined],
    ['d', 'in', undefined],
    ['f', 'down', undefined],
  ])('%s moves %s', (label, direction, expected) => expect(drawMove(label, direction)).toEqual(expected));

  it('has four levels at most', () => {
    const rows = toRows([group('1', group('2', group('3', link('4'))), group('x'), group('y', link('z')))]);
    const at = rows.findIndex(({ label }) => label === 'y');
    const once = moveRow(rows, at, 'in');
    expect(draw(once)?.slice(-3)).toEqual(['.x', '..y', '...z']);
    expect(moveRow(once ?? [], at, 'in')).toBeUndefined();
    expect(dropBefore(rows, at, 3)).toBeUndefined();
  });

  it('what is dragged is put before a row, at its depth', () => {
    const rows = toRows(items);
    expect(draw(dropBefore(rows, 5, 2))).toEqual(['a', 'b', '.f', '.c', '.d', '..e']);
    expect(draw(dropBefore(rows, 3, 0))).toEqual(['d', '.e', 'a', 'b', '.c', 'f']);
    expect(dropBefore(rows, 1, 4)).toBeUndefined();
  });

  it('gets new items at the end of a group, or of everything', () => {
    const rows = toRows(items);
    expect(draw(addRow(rows, 'page', 1).rows)).toEqual(['a', 'b', '.c', '.d', '..e', '.', 'f']);
    expect(addRow(rows, 'group').at).toBe(6);
  });
});
