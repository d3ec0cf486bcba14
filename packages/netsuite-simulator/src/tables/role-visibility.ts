// Which tables, columns and rows the integration's role can see. They are hidden and shown while the account
// runs: by the account's owner (`setVisible`), by its features, by the role's permissions, and by the control
// interface (`setHidden`).
import type { ProfileName } from '../profile/profile-name.ts';
import { accountTables, UNAVAILABLE_TABLES, UNAVAILABLE_TYPES } from './all-tables.ts';
import { type CustomField, choiceTables, customColumn } from './custom-fields.ts';
import {
  type Access,
  type Purpose,
  type Restrictions,
  restrictionConditions,
  UNRESTRICTED,
} from './role-restrictions.ts';
import { type AccountTable, getIdColumn, quoteSqlName } from './table.ts';

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

const FEATURE_PARTS: Record<
  'oneWorld' | 'multipleCurrencies',
  { tables: readonly string[]; columns: readonly string[] }
> = {
  oneWorld: {
    tables: [
      'subsidiary',
      'customersubsidiaryrelationship',
      'vendorsubsidiaryrelationship',
      'subsidiarymainaddress',
      'accountingbook',
      'consolidatedexchangerate',
    ],
    columns: ['subsidiary'],
  },
  multipleCurrencies: { tables: ['currency', 'currencyrate'], columns: ['currency', 'exchangerate'] },
};

const UNAVAILABLE_IN_PROFILES: ReadonlySet<string> = new Set(
  UNAVAILABLE_TYPES.map((name) => name.toLowerCase()),
);

/** Columns and rows (internal ids) by table, in lower case. */
export type Hidden = {
  tables: readonly string[];
  columns: Readonly<Record<string, readonly string[]>>;
  rows: Readonly<Record<string, readonly string[]>>;
};
export const NOTHING_HIDDEN: Hidden = { tables: [], columns: {}, rows: {} };

export type RoleVisibility = {
  /** All tables of the account, whatever the role can see. */
  tables: readonly AccountTable[];
  find(table: string): TableLookup;
  /** The table with its custom fields, whatever the role can see. */
  known(table: string): AccountTable | undefined;
  /** The columns of a table that the role can see in queries. */
  columns(table: AccountTable): ReadonlySet<string>;
  /** The columns of a table that the role can see in records: those that queries refuse, too. */
  recordColumns(table: AccountTable): ReadonlySet<string>;
  /** The profile of the account, if it has one. */
  profile: ProfileName | undefined;
  /**
   * SQL of the table's rows that the role can see, or write, and that meet the conditions, for a FROM clause.
   */
  rowsSql(table: string, conditions?: readonly string[], purpose?: Purpose): string;
  isRowHidden(table: string, id: string): boolean;
  /** Throws RangeError for an unknown table. */
  setVisible(table: string, visible: boolean): void;
  /** Throws RangeError for an unknown table or column. */
  setColumnVisible(table: string, column: string, visible: boolean): void;
  /** Shows or hides the tables and columns of these features. */
  setFeatures(features: Partial<Features>): void;
  /** Whether the account's features include this table or column, even if it is hidden from the role. */
  isEnabled(table: string, column?: string): boolean;
  /** Whether the metadata catalog lists this table or column: enabled, and not in `setHidden`. */
  isInCatalog(table: string, column?: string): boolean;
  hidden(): Hidden;
  /** Replaces what is hidden from queries, records and metadata. The names must be in lower case. */
  setHidden(hidden: Hidden): void;
  /** Replaces what the role may do, by table; a table that isn't in it is `full`. */
  setAccess(access: ReadonlyMap<string, Access>): void;
  canWrite(table: string): boolean;
  restrictions(): Restrictions;
  /** Replaces the subsidiaries, departments and so on to which the role is restricted. */
  setRestrictions(restrictions: Restrictions): void;
  customFields(table: string): readonly CustomField[];
  setCustomFields(fields: readonly CustomField[]): void;
};

function createRowsSql(
  known: ReturnType<typeof createKnownTables>['known'],
  mayFind: (table: string) => boolean,
  restrictions: () => Restrictions,
  hiddenRows: () => Hidden['rows'],
): RoleVisibility['rowsSql'] {
  const rowsSql: RoleVisibility['rowsSql'] = (name, conditions = [], purpose = 'read') => {
    const restricted = restrictionConditions({ restrictions: restrictions(), known, mayFind }, name, purpose);
    const all = [
      ...conditions,
      ...hiddenRowConditions(name, hiddenRows()),
      ...restricted,
      ...ofSeenRecords(known(name), rowsSql),
    ];
    return all.length === 0
      ? quoteView(name)
      : `(SELECT * FROM ${quoteView(name)} WHERE ${all.join(' AND ')})`;
  };
  return rowsSql;
}

const isHidden = ({ tables, columns }: Hidden, table: string, column: string): boolean =>
  tables.includes(table) || columns[table]?.includes(column) === true;

function kindOfUnseen(name: string, table: unknown, profile: ProfileName | undefined): 'unseen' | 'unknown' {
  const unavailable = profile === undefined ? UNAVAILABLE_TABLES : UNAVAILABLE_IN_PROFILES;
  return table !== undefined || unavailable.has(name) ? 'unseen' : 'unknown';
}

/**
 * Everything of the enabled features is visible at first. `setVisible` and `setColumnVisible` throw
 * RangeError for unknown names.
 */
export function createRoleVisibility(features: Features, profile?: ProfileName): RoleVisibility {
  let hidden = NOTHING_HIDDEN;
  const seen = new Map<string, ReadonlySet<string>>(); // cached until a setting changes
  const forget = (): void => seen.clear();
  const parts = createFeatureParts(features, forget);
  const tables = createKnownTables(accountTables(profile), forget);
  const owner = createOwnersChoice(tables.known, forget);
  const { mayFind, ...access } = createRoleAccess();

  const canSee = (table: string, column: string): boolean =>
    parts.isEnabled('', column) && owner.shows(table, column) && !hidden.columns[table]?.includes(column);
  const canFind = (name: string): boolean =>
    parts.isEnabled(name) && owner.shows(name) && !hidden.tables.includes(name) && mayFind(name);
  const rowsSql = createRowsSql(tables.known, mayFind, access.restrictions, () => hidden.rows);
  return {
    ...tables,
    ...parts,
    ...access,
    find(name) {
      const table = tables.known(name);
      const isSeen = table !== undefined && canFind(name) && (table.of === undefined || canFind(table.of));
      return isSeen ? { kind: 'table', table } : { kind: kindOfUnseen(name, table, profile) };
    },
    columns({ name, columns }) {
      const known =
        seen.get(name) ??
        new Set(columns.flatMap((each) => (each.refusal || !canSee(name, each.name) ? [] : [each.name])));
      seen.set(name, known);
      return known;
    },
    recordColumns: ({ name, columns }) =>
      new Set(columns.map((column) => column.name).filter((column) => canSee(name, column))),
    profile,
    rowsSql,
    isRowHidden: (table, id) => hidden.rows[table]?.includes(id) ?? false,
    setVisible: owner.setVisible,
    setColumnVisible: owner.setColumnVisible,
    isInCatalog: (table, column = '') => parts.isEnabled(table, column) && !isHidden(hidden, table, column),
    hidden: () => hidden,
    setHidden(wanted) {
      hidden = wanted;
      forget();
    },
  };
}

type RoleAccess = Pick<RoleVisibility, 'setAccess' | 'canWrite' | 'restrictions' | 'setRestrictions'> & {
  mayFind(table: string): boolean;
};

function createRoleAccess(): RoleAccess {
  let access: ReadonlyMap<string, Access> = new Map();
  let restrictions = UNRESTRICTED;
  return {
    mayFind: (table) => access.get(table) !== 'none',
    setAccess(wanted) {
      access = wanted;
    },
    canWrite: (table) => (access.get(table) ?? 'full') === 'full',
    restrictions: () => restrictions,
    setRestrictions(wanted) {
      restrictions = wanted;
    },
  };
}

function createFeatureParts(
  features: Features,
  onChange: () => void,
): Pick<RoleVisibility, 'isEnabled' | 'setFeatures'> {
  const disabled = { tables: new Set<string>(), columns: new Set<string>() };
  const setFeatures = (wanted: Partial<Features>): void => {
    for (const feature of ['oneWorld', 'multipleCurrencies'] as const) {
      const isOn = wanted[feature];
      if (isOn === undefined) continue;
      const parts = FEATURE_PARTS[feature];
      for (const name of parts.tables) isOn ? disabled.tables.delete(name) : disabled.tables.add(name);
      for (const name of parts.columns) isOn ? disabled.columns.delete(name) : disabled.columns.add(name);
    }
    onChange();
  };
  setFeatures(features);
  return {
    setFeatures,
    // By column name alone: the currency table's own exchangerate is disabled along with that table anyway.
    isEnabled: (table, column = '') => !disabled.tables.has(table) && !disabled.columns.has(column),
  };
}

type KnownTables = Pick<RoleVisibility, 'tables' | 'known' | 'customFields' | 'setCustomFields'>;
function createKnownTables(all: readonly AccountTable[], onChange: () => void): KnownTables {
  const withFields = (fields: readonly CustomField[]) =>
    new Map(
      [...all.map((table) => addCustomFields(table, fields)), ...choiceTables(fields)].map((table) => [
        table.name,
        table,
      ]),
    );
  let tables = withFields([]);
  let custom: readonly CustomField[] = [];
  return {
    tables: all,
    known: (name) => tables.get(name),
    customFields: (table) => custom.filter((field) => field.table === table),
    setCustomFields(fields) {
      custom = fields;
      tables = withFields(fields);
      onChange();
    },
  };
}

type OwnersChoice = Pick<RoleVisibility, 'setVisible' | 'setColumnVisible'> & {
  shows(table: string, column?: string): boolean;
};

/** The methods throw RangeError for unknown names. */
function createOwnersChoice(known: RoleVisibility['known'], onChange: () => void): OwnersChoice {
  const invisible = new Set<string>(); // `table` and `table.column`
  const set = (name: string, isKnown: boolean, visible: boolean): void => {
    if (!isKnown)
      throw new RangeError(`The account has no ${name.includes('.') ? 'column' : 'table'} ${name}.`);
    if (visible) invisible.delete(name);
    else invisible.add(name);
    onChange();
  };
  return {
    shows: (table, column) => !invisible.has(column === undefined ? table : `${table}.${column}`),
    setVisible: (table, visible) =>
      set(table.toLowerCase(), known(table.toLowerCase()) !== undefined, visible),
    setColumnVisible(table, column, visible) {
      const [tableName, name] = [table.toLowerCase(), column.toLowerCase()];
      const isKnown = known(tableName)?.columns.some((each) => each.name === name) ?? false;
      set(`${tableName}.${name}`, isKnown, visible);
    },
  };
}

/** The table with a column for each of its custom fields. */
export function addCustomFields(table: AccountTable, fields: readonly CustomField[]): AccountTable {
  const own = fields.filter((field) => field.table === table.name);
  return own.length === 0 ? table : { ...table, columns: [...table.columns, ...own.map(customColumn)] };
}

const quoteView = (table: string): string => `suiteql.${quoteSqlName(table)}`;

/** The chosen entries of a record that the role doesn't see are hidden with it. */
function ofSeenRecords(table: AccountTable | undefined, rowsSql: RoleVisibility['rowsSql']): string[] {
  const of = table?.of;
  const seen = of === undefined ? undefined : rowsSql(of);
  return of === undefined || seen === quoteView(of)
    ? []
    : [`mapone IN (SELECT ${getIdColumn(of)} FROM ${seen} r)`];
}

const LINE_TABLES = ['transactionline', 'transactionaccountingline'];

/** The lines of a hidden transaction, and their postings, are hidden with it. Ids are whole numbers. */
function hiddenRowConditions(table: string, rows: Hidden['rows']): string[] {
  const notIn = (column: string, ids: readonly string[] = []): string[] =>
    ids.length === 0 ? [] : [`${quoteSqlName(column)} NOT IN (${ids.join(', ')})`];
  return [
    ...notIn(getIdColumn(table), rows[table]),
    ...(LINE_TABLES.includes(table) ? notIn('transaction', rows['transaction']) : []),
  ];
}
