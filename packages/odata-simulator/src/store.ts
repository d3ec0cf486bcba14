// The service's records, in memory: a table per entity set (and company), ordered lists of its rows, and a sequence
// number for each change, from which deltas are read.
import { type Comparable, compare, toComparable, type Values } from './edm.ts';
import type { EntitySet, Profile } from './profiles/profile.ts';

export type Row = {
  readonly key: string;
  values: Values;
  /** Numbers of the last changes of the entity, and of its lines. */
  changedAt: number;
  linesChangedAt: number;
  /** In the order of their numbers. */
  lines: Row[];
};
export type Order = readonly { readonly property: string; readonly isDescending: boolean }[];
export type OrderedList = {
  readonly rows: readonly Row[];
  readonly keys: readonly (readonly Comparable[])[];
};
export type Removed = { readonly values: Values; readonly at: number };
export type Table = {
  readonly set: EntitySet;
  readonly rows: Map<string, Row>;
  readonly removed: Map<string, Removed>;
  /** By the text of the order; dropped when a change may move a row. */
  readonly lists: Map<string, OrderedList>;
};
export type Store = {
  readonly profile: Profile;
  table(company: string, set: EntitySet): Table;
  /** Adds or replaces an entity. Returns its row. `isChange`: deltas have it. */
  put(table: Table, values: Values, isChange: boolean): Row;
  /** `isListed`: deltas have the deletion. */
  remove(table: Table, key: string, isListed: boolean): void;
  noteLinesChange(row: Row): void;
  sequence(): number;
  /** Deltas since an earlier number have expired. */
  expireDeltas(): void;
  firstValidDelta(): number;
};

/** Identifies an entity within its set, also in paths of the control interface. */
export const toKey = (set: EntitySet, values: Values): string =>
  set.keys.map((name) => encodeURIComponent(String(values[name]))).join(',');

export function createStore(profile: Profile): Store {
  const tables = new Map<string, Table>();
  let sequence = 0;
  let firstValid = 0;
  return {
    profile,
    table(company, set) {
      const name = `${set.name === profile.companies ? '' : company} ${set.name}`;
      const table = tables.get(name) ?? { set, rows: new Map(), removed: new Map(), lists: new Map() };
      tables.set(name, table);
      return table;
    },
    put({ set, rows, removed, lists }, values, isChange) {
      const key = toKey(set, values);
      if (isChange) sequence += 1;
      const row = rows.get(key);
      if (row === undefined) {
        const added = { key, values, changedAt: sequence, linesChangedAt: 0, lines: [] };
        rows.set(key, added);
        removed.delete(key);
        lists.clear();
        return added;
      }
      for (const text of lists.keys())
        if (parseOrder(text).some(({ property }) => row.values[property] !== values[property]))
          lists.delete(text);
      row.values = values;
      if (isChange) row.changedAt = sequence;
      return row;
    },
    remove({ rows, removed, lists }, key, isListed) {
      const row = rows.get(key);
      if (!row) return;
      sequence += 1;
      rows.delete(key);
      lists.clear();
      if (isListed) removed.set(key, { values: row.values, at: sequence });
    },
    noteLinesChange(row) {
      sequence += 1;
      row.linesChangedAt = sequence;
    },
    sequence: () => sequence,
    expireDeltas() {
      sequence += 1;
      firstValid = sequence;
    },
    firstValidDelta: () => firstValid,
  };
}

const toOrderText = (order: Order): string =>
  order.map((by) => `${by.property}${by.isDescending ? ' desc' : ''}`).join(',');
const parseOrder = (text: string): Order =>
  text.split(',').map((by) => ({ property: by.split(' ')[0] ?? '', isDescending: by.endsWith(' desc') }));

export function compareKeys(order: Order, a: readonly Comparable[], b: readonly Comparable[]): number {
  for (const [i, { isDescending }] of order.entries()) {
    const result = compare(a[i] ?? null, b[i] ?? null);
    if (result !== 0) return isDescending ? -result : result;
  }
  return 0;
}

export const toKeys = (
  profile: Profile,
  { properties }: EntitySet,
  order: Order,
  values: Values,
): Comparable[] =>
  order.map(({ property }) =>
    toComparable(profile, properties[property]?.type ?? '', values[property] ?? null),
  );

/** All rows in an order that must end with the key. */
export function loadOrdered(profile: Profile, { set, rows, lists }: Table, order: Order): OrderedList {
  const text = toOrderText(order);
  const known = lists.get(text);
  if (known) return known;
  const entries = [...rows.values()].map((row) => ({ row, keys: toKeys(profile, set, order, row.values) }));
  entries.sort((a, b) => compareKeys(order, a.keys, b.keys));
  const list = { rows: entries.map(({ row }) => row), keys: entries.map(({ keys }) => keys) };
  lists.set(text, list);
  return list;
}

/** The index of the first row for which `isBefore` is false; it must be true for all rows up to there. */
export function findFirst({ keys }: OrderedList, isBefore: (keys: readonly Comparable[]) => boolean): number {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(keys[middle] ?? [])) low = middle + 1;
    else high = middle;
  }
  return low;
}
