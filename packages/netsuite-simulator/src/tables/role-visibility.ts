// Which tables and columns the integration's role can see. Tests hide and show them while the account runs.
import { ALL_TABLES, UNAVAILABLE_TABLES } from './all-tables.ts';
import type { AccountTable } from './table.ts';

/** `unseen`: NetSuite has the table, but this role or account doesn't. */
export type TableLookup = { kind: 'table'; table: AccountTable } | { kind: 'unseen' } | { kind: 'unknown' };

/** The account's features. */
export type Features = {
  /** Subsidiaries: their tables, and the columns that refer to them. */
  oneWorld: boolean;
  /** The currency table, and the columns with a currency or an exchange rate. */
  multipleCurrencies: boolean;
  tokenBasedAuthentication: boolean;
};

const FEATURE_PARTS: Record<'oneWorld' | 'multipleCurrencies', { tables: readonly string[]; columns: readonly string[] }> = {
  oneWorld: { tables: ['subsidiary', 'customersubsidiaryrelationship'], columns: ['subsidiary'] },
  multipleCurrencies: { tables: ['currency'], columns: ['currency', 'exchangerate'] },
};

export type RoleVisibility = {
  find(table: string): TableLookup;
  /** The columns of a table that the role can see. */
  columns(table: AccountTable): ReadonlySet<string>;
  /** Throws RangeError for an unknown table. */
  setVisible(table: string, visible: boolean): void;
  /** Throws RangeError for an unknown table or column. */
  setColumnVisible(table: string, column: string, visible: boolean): void;
  /** Shows or hides the tables and columns of these features. */
  setFeatures(features: Partial<Features>): void;
  /** Whether the account's features include this table or column, even if it is hidden from the role. */
  isEnabled(table: string, column?: string): boolean;
};

/** Everything of the enabled features is visible at first. `setVisible` and `setColumnVisible` throw RangeError for unknown names. */
export function createRoleVisibility(features: Features): RoleVisibility {
  const byName = new Map(ALL_TABLES.map((table) => [table.name, table]));
  const hidden = new Set(UNAVAILABLE_TABLES);
  const seen = new Map(ALL_TABLES.map((table) => [table.name, new Set(table.columns.map((column) => column.name))]));
  const [disabledTables, disabledColumns] = [new Set<string>(), new Set<string>()];
  const role: RoleVisibility = {
    find(name) {
      if (disabledTables.has(name)) return { kind: 'unseen' };
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
        const { tables, columns } = FEATURE_PARTS[feature];
        for (const name of tables) isOn ? disabledTables.delete(name) : disabledTables.add(name);
        for (const name of columns) isOn ? disabledColumns.delete(name) : disabledColumns.add(name);
        for (const table of ALL_TABLES.filter(({ name }) => !tables.includes(name))) {
          for (const name of columns)
            if (table.columns.some((column) => column.name === name)) role.setColumnVisible(table.name, name, isOn);
        }
      }
    },
    // By column name alone: the currency table's own exchangerate is disabled along with that table anyway.
    isEnabled: (table, column = '') => !disabledTables.has(table) && !disabledColumns.has(column),
  };
  role.setFeatures(features);
  return role;
}
