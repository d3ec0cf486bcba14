// The items of the sidebar as rows in the order of display, and how they move. Pure.

export type Kind = 'view' | 'page' | 'record-type' | 'link' | 'group';
/** An item as it is stored: the children are items too. */
export type Item = {
  readonly label: string;
  readonly icon: string | null;
  readonly kind: Kind;
  readonly target: string | null;
  readonly children: readonly unknown[];
};
/** `depth` is 0 at the top. `key` stays while the row moves. */
export type Row = Omit<Item, 'children'> & { readonly key: number; readonly depth: number };
export type Rows = readonly Row[];

const maxDepth = 3;

let lastKey = 0;
export const nextKey = (): number => {
  lastKey += 1;
  return lastKey;
};

export const toRows = (items: readonly Item[], depth = 0): Row[] =>
  items.flatMap(({ children, ...item }) => [
    { ...item, depth, key: nextKey() },
    ...toRows(children as readonly Item[], depth + 1),
  ]);

/** One after the last row of what is below the row. */
export function endOf(rows: Rows, at: number): number {
  const depth = rows[at]?.depth ?? 0;
  const next = rows.findIndex((row, index) => index > at && row.depth <= depth);
  return next < 0 ? rows.length : next;
}

export const hasChildren = (rows: Rows, at: number): boolean => endOf(rows, at) > at + 1;

export function toItems(rows: Rows): Item[] {
  const items: Item[] = [];
  for (let at = 0; at < rows.length; at = endOf(rows, at)) {
    const row = rows[at];
    if (row === undefined) break;
    const { key: _, depth: __, ...item } = row;
    items.push({ ...item, children: toItems(rows.slice(at + 1, endOf(rows, at))) });
  }
  return items;
}

/** Where the service's problems name each row. */
export function toPaths(rows: Rows): string[] {
  const counts: number[] = [];
  return rows.map(({ depth }) => {
    counts.length = depth + 1;
    counts[depth] = (counts[depth] ?? -1) + 1;
    return counts.map((count, level) => `${level === 0 ? 'items' : 'children'}[${count}]`).join('.');
  });
}

const parentOf = (rows: Rows, at: number): number =>
  rows.findLastIndex((row, index) => index < at && row.depth < (rows[at]?.depth ?? 0));

/** The row before it at the same depth, below the same parent; -1 for the first one. */
function siblingBefore(rows: Rows, at: number): number {
  const depth = rows[at]?.depth ?? 0;
  return rows.findLastIndex((row, index) => index < at && row.depth === depth && index > parentOf(rows, at));
}

/** The rows from `at` on that belong together, put before row `to`, so much deeper. */
function move(rows: Rows, at: number, to: number, deeper = 0): Rows {
  const end = endOf(rows, at);
  const moved = rows.slice(at, end).map((row) => ({ ...row, depth: row.depth + deeper }));
  const rest = rows.toSpliced(at, end - at);
  return rest.toSpliced(to > at ? to - moved.length : to, 0, ...moved);
}

export type Direction = 'up' | 'down' | 'in' | 'out';

/** The rows after the move; undefined where there is nowhere to go. */
export function moveRow(rows: Rows, at: number, direction: Direction): Rows | undefined {
  const row = rows[at];
  if (row === undefined) return undefined;
  const before = siblingBefore(rows, at);
  const end = endOf(rows, at);
  if (direction === 'up') return before < 0 ? undefined : move(rows, at, before);
  if (direction === 'down')
    return rows[end]?.depth === row.depth ? move(rows, at, endOf(rows, end)) : undefined;
  if (direction === 'out') {
    const parent = parentOf(rows, at);
    return parent < 0 ? undefined : move(rows, at, endOf(rows, parent), -1);
  }
  const deepest = Math.max(...rows.slice(at, end).map(({ depth }) => depth));
  const isPossible = rows[before]?.kind === 'group' && deepest < maxDepth;
  return isPossible ? move(rows, at, at, 1) : undefined;
}

/** What was dragged is put before another row, at its depth; undefined where it does not fit. */
export function dropBefore(rows: Rows, at: number, to: number): Rows | undefined {
  const end = endOf(rows, at);
  const [from, target] = [rows[at], rows[to]];
  if (from === undefined || target === undefined || (to >= at && to < end)) return undefined;
  const deeper = target.depth - from.depth;
  const deepest = Math.max(...rows.slice(at, end).map(({ depth }) => depth)) + deeper;
  return deepest > maxDepth ? undefined : move(rows, at, to, deeper);
}

/** A new item at the end of the group in row `at`, or of everything. */
export function addRow(rows: Rows, kind: Kind, at?: number): { readonly rows: Rows; readonly at: number } {
  const group = at === undefined ? undefined : rows[at];
  const place = at === undefined ? rows.length : endOf(rows, at);
  const depth = group === undefined ? 0 : group.depth + 1;
  const row: Row = {
    key: nextKey(),
    depth,
    label: '',
    icon: null,
    kind,
    target: kind === 'group' ? null : '',
  };
  return { rows: rows.toSpliced(place, 0, row), at: place };
}

export const canHaveMore = ({ kind, depth }: Row): boolean => kind === 'group' && depth < maxDepth;
