// What the integration's role sees: tables and columns can be hidden and shown again while the account runs.
import { ALL_TABLES, UNSEEN_TABLES } from './all-tables.ts';
import type { Table } from './table.ts';

export type TableAnswer = { kind: 'table'; table: Table } | { kind: 'unseen' } | { kind: 'unknown' };

/** What is switched on in the account. */
export type Features = {
  /** Subsidiaries: their table, and a column that says which. */
  oneWorld: boolean;
  /** The currency table, and the columns that name a currency and its rate. */
  multipleCurrencies: boolean;
  tokenBasedAuthentication: boolean;
};

const PARTS: Record<'oneWorld' | 'multipleCurrencies', { tables: readonly string[]; columns: readonly string[] }> = {
  oneWorld: { tables: ['subsidiary', 'customersubsidiaryrelationship'], columns: ['subsidiary'] },
  multipleCurrencies: { tables: ['currency'], columns: ['currency', 'exchangerate'] },
};

export type RoleView = {
  find(table: string): TableAnswer;
  /** The columns of a table that the role sees. */
  columns(table: Table): ReadonlySet<string>;
  setVisible(table: string, visible: boolean): void;
  setColumnVisible(table: string, column: string, visible: boolean): void;
  /** Shows what belongs to these features, or hides it. */
  setFeatures(features: Partial<Features>): void;
  /** Whether a table, or a column of it, is there for this account, be it hidden from the role or not. */
  isSwitchedOn(table: string, column?: string): boolean;
};

export function makeRoleView(features: Features): RoleView {
  const byName = new Map(ALL_TABLES.map((table) => [table.name, table]));
  const hidden = new Set(UNSEEN_TABLES);
  const seen = new Map(ALL_TABLES.map((table) => [table.name, new Set(table.columns.map((column) => column.name))]));
  const [switchedOff, columnsOff] = [new Set<string>(), new Set<string>()];
  const role: RoleView = {
    find(name) {
      if (switchedOff.has(name)) return { kind: 'unseen' };
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
    setFeatures(wanted) {
      for (const feature of ['oneWorld', 'multipleCurrencies'] as const) {
        const isOn = wanted[feature];
        if (isOn === undefined) continue;
        const { tables, columns } = PARTS[feature];
        for (const name of tables) isOn ? switchedOff.delete(name) : switchedOff.add(name);
        for (const name of columns) isOn ? columnsOff.delete(name) : columnsOff.add(name);
        for (const table of ALL_TABLES.filter(({ name }) => !tables.includes(name))) {
          for (const name of columns)
            if (table.columns.some((column) => column.name === name)) role.setColumnVisible(table.name, name, isOn);
        }
      }
    },
    // The currency table has a rate of its own, which goes with the table.
    isSwitchedOn: (table, column = '') => !switchedOff.has(table) && !columnsOff.has(column),
  };
  role.setFeatures(features);
  return role;
}
