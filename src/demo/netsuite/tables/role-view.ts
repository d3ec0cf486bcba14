// What the integration's role sees: tables and columns can be hidden and shown again while the account runs.
import { ALL_TABLES, UNSEEN_TABLES } from './all-tables.ts';
import type { Table } from './table.ts';

export type TableAnswer = { kind: 'table'; table: Table } | { kind: 'unseen' } | { kind: 'unknown' };

export type RoleView = {
  find(table: string): TableAnswer;
  /** The columns of a table that the role sees. */
  columns(table: Table): ReadonlySet<string>;
  setVisible(table: string, visible: boolean): void;
  setColumnVisible(table: string, column: string, visible: boolean): void;
};

export function makeRoleView(): RoleView {
  const byName = new Map(ALL_TABLES.map((table) => [table.name, table]));
  const hidden = new Set(UNSEEN_TABLES);
  const seen = new Map(ALL_TABLES.map((table) => [table.name, new Set(table.columns.map((column) => column.name))]));
  return {
    find(name) {
      if (hidden.has(name)) return { kind: 'unseen' };
      const table = byName.get(name);
      return table === undefined ? { kind: 'unknown' } : { kind: 'table', table };
    },
    columns: (table) => seen.get(table.name) ?? new Set(),
    setVisible(table, visible) {
      const name = table.toLowerCase();
      if (!byName.has(name)) throw new RangeError(`The account has no table ${name}.`);
      if (visible) hidden.delete(name);
      else hidden.add(name);
    },
    setColumnVisible(table, column, visible) {
      const name = column.toLowerCase();
      const columns = seen.get(table.toLowerCase());
      if (!columns || !byName.get(table.toLowerCase())?.columns.some((known) => known.name === name)) {
        throw new RangeError(`The account has no column ${table}.${column}.`);
      }
      if (visible) columns.add(name);
      else columns.delete(name);
    },
  };
}
