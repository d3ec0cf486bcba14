// Which rows a restricted role sees: by subsidiary, by department, class and location, and by transaction
// type. A row that belongs to a hidden record, such as a line of a transaction, is hidden with it.
// ../../docs/wire.md says which rules are Oracle's.
import { type AccountTable, hiddenColumn, quoteSqlName } from './table.ts';

/** What the role may do with a table's records, or with a type of transactions. */
export type Access = 'none' | 'view' | 'full';

/** `viewing`: what lies outside can be seen but not written ("Allow Cross-Subsidiary Record Viewing"). */
export type SubsidiaryRestriction = { ids: readonly string[]; viewing: boolean };
/**
 * The records of these departments (classes, locations) and of those below them. `unassigned`: also records
 * without one; `viewing`: what lies outside can be seen but not written; `items`: applies to items too.
 */
export type SegmentRestriction = {
  ids: readonly string[];
  unassigned: boolean;
  viewing: boolean;
  items: boolean;
};
export type Restrictions = {
  subsidiaries?: SubsidiaryRestriction | undefined;
  departments?: SegmentRestriction | undefined;
  classes?: SegmentRestriction | undefined;
  locations?: SegmentRestriction | undefined;
  /** By the value of `transaction.type`, such as CustInvc; a type that isn't in it is `full`. */
  transactionTypes: Readonly<Record<string, Access>>;
};
export const UNRESTRICTED: Restrictions = { transactionTypes: {} };

export type Purpose = 'read' | 'write';

const SEGMENTS = [
  { key: 'departments', table: 'department', column: 'department' },
  { key: 'classes', table: 'classification', column: 'class' },
  { key: 'locations', table: 'location', column: 'location' },
] as const;

/** Rows that belong to records of other tables: column → that table, or its column that refers to the row. */
const OWNERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  transactionline: { transaction: 'transaction' },
  transactionaccountingline: { transaction: 'transaction' },
  nexttransactionlinelink: { previousdoc: 'transaction', nextdoc: 'transaction' },
  previoustransactionlinelink: { previousdoc: 'transaction', nextdoc: 'transaction' },
  customeraddressbook: { entity: 'customer' },
  customeraddressbookentityaddress: { nkey: 'customeraddressbook.addressbookaddress' },
  vendoraddressbook: { entity: 'vendor' },
  vendoraddressbookentityaddress: { nkey: 'vendoraddressbook.addressbookaddress' },
  transactionbillingaddress: { nkey: 'transaction.billingaddress' },
  transactionshippingaddress: { nkey: 'transaction.shippingaddress' },
  inventoryitemlocations: { item: 'item', location: 'location' },
  pricing: { item: 'item' },
  itemprice: { item: 'item' },
};
/** Tables with columns for subsidiaries or segments that don't decide who sees the row. */
const FREE: ReadonlySet<string> = new Set([
  'transactionline',
  'transactionaccountingline',
  'consolidatedexchangerate',
  'role',
]);
/** Records without a department, class or location of their own are seen by all roles. */
const OFTEN_UNASSIGNED: ReadonlySet<string> = new Set(['account', 'item']);

export type RestrictedRole = {
  restrictions: Restrictions;
  known(table: string): AccountTable | undefined;
  /** Whether the role's permissions show the table. */
  mayFind(table: string): boolean;
};

/**
 * SQL conditions on the columns of the table's view. All of them are empty for a role without restrictions.
 */
export function restrictionConditions(role: RestrictedRole, name: string, purpose: Purpose): string[] {
  const table = role.known(name);
  if (!table) return [];
  // Its column `customer` is the id of an entity that is a customer, and so on.
  if (name === 'entity')
    return table.columns.flatMap((column) =>
      role.known(column.name) ? entityCondition(role, column.name, purpose) : [],
    );
  const owners = Object.entries(OWNERS[name] ?? {}).flatMap(([column, owner]) =>
    belongsTo(role, column, owner, purpose),
  );
  const own = FREE.has(name)
    ? []
    : [...subsidiaryConditions(role, table, purpose), ...segmentConditions(role, table, purpose)];
  return [...owners, ...own, ...(name === 'transaction' ? typeConditions(role, purpose) : [])];
}

/**
 * The ids, or another column, of the visible rows of a table, for a subquery; undefined if the role sees all
 * of them.
 */
function visibleIds(
  role: RestrictedRole,
  table: string,
  purpose: Purpose,
  column = 'id',
): string | undefined {
  const conditions = restrictionConditions(role, table, purpose);
  if (conditions.length === 0) return undefined;
  return `(SELECT ${quoteSqlName(column)} FROM suiteql.${quoteSqlName(table)} WHERE ${conditions.join(' AND ')})`;
}

function belongsTo(role: RestrictedRole, column: string, owner: string, purpose: Purpose): string[] {
  const [table = '', key] = owner.split('.');
  const ids = visibleIds(role, table, purpose, key);
  return ids === undefined ? [] : [`${quoteSqlName(column)} IN ${ids}`];
}

function entityCondition(role: RestrictedRole, kind: string, purpose: Purpose): string[] {
  if (!role.mayFind(kind)) return [`${quoteSqlName(kind)} IS NULL`];
  const ids = visibleIds(role, kind, purpose);
  return ids === undefined ? [] : [`(${quoteSqlName(kind)} IS NULL OR ${quoteSqlName(kind)} IN ${ids})`];
}

function typeConditions({ restrictions: { transactionTypes } }: RestrictedRole, purpose: Purpose): string[] {
  const codes = Object.entries(transactionTypes).filter(
    ([, access]) => access === 'none' || (purpose === 'write' && access === 'view'),
  );
  return codes.length === 0 ? [] : [`type NOT IN (${codes.map(([code]) => `'${code}'`).join(', ')})`];
}

function subsidiaryConditions(
  { restrictions: { subsidiaries }, known }: RestrictedRole,
  table: AccountTable,
  purpose: Purpose,
): string[] {
  if (!subsidiaries || (subsidiaries.viewing && purpose === 'read')) return [];
  const { ids } = subsidiaries;
  if (table.name === 'subsidiary') return [`id IN (${ids.join(', ')})`];
  const column = table.columns.find(({ name }) => name === 'subsidiary');
  if (!column) return [];
  if (column.kind === 'integer')
    return [`(subsidiary IN (${ids.join(', ')})${sharedCondition(known, table.name, ids)})`];
  // A multi-select column: the ids, joined by commas. Empty means all subsidiaries.
  const own = "pg_catalog.string_to_array(pg_catalog.replace(subsidiary, ' ', ''), ',')";
  return [
    `(subsidiary IS NULL OR ${own} OPERATOR(pg_catalog.&&) ARRAY[${ids.map((id) => `'${id}'`).join(', ')}])`,
  ];
}

/** Customers and vendors can belong to further subsidiaries. */
function sharedCondition(known: RestrictedRole['known'], table: string, ids: readonly string[]): string {
  const relationship = known(`${table}subsidiaryrelationship`);
  if (!relationship) return '';
  return ` OR id IN (SELECT entity FROM suiteql.${quoteSqlName(relationship.name)} WHERE subsidiary IN (${ids.join(', ')}))`;
}

const SEGMENTED: ReadonlySet<string> = new Set(['transaction', 'employee', 'partner', 'account', 'item']);

function segmentConditions(
  { restrictions, known }: RestrictedRole,
  { name, columns, hidden }: AccountTable,
  purpose: Purpose,
): string[] {
  return SEGMENTS.flatMap(({ key, table, column }) => {
    const restriction = restrictions[key];
    if (
      !restriction ||
      (restriction.viewing && purpose === 'read') ||
      (name === 'item' && !restriction.items)
    )
      return [];
    const ids = withDescendants(table, restriction.ids, known(table));
    if (name === table) return [`id IN (${ids})`];
    const value = hidden?.[column]
      ? hiddenColumn(column)
      : columns.find((each) => each.name === column)?.name;
    if (!SEGMENTED.has(name) || value === undefined) return [];
    const own = `${quoteSqlName(value)} IN (${ids})`;
    return [
      restriction.unassigned || OFTEN_UNASSIGNED.has(name)
        ? `(${quoteSqlName(value)} IS NULL OR ${own})`
        : own,
    ];
  });
}

function withDescendants(name: string, ids: readonly string[], table: AccountTable | undefined): string {
  const list = ids.join(', ');
  if (!table?.columns.some((column) => column.name === 'parent')) return list;
  const view = `suiteql.${quoteSqlName(name)}`;
  return `WITH RECURSIVE "own" AS (SELECT id FROM ${view} WHERE id IN (${list})
    UNION SELECT "below".id FROM ${view} "below" JOIN "own" ON "below".parent = "own".id) SELECT id FROM "own"`;
}
