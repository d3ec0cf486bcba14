// Custom fields: what an administrator adds to a record in NetSuite. Their values are kept in `extra` of the
// base row, as text, so a field can change its type: values that don't fit the new type are null.
import {
  type AccountColumn,
  type AccountTable,
  type ColumnKind,
  extraSql,
  getIdColumn,
  getNameColumn,
  type QueryRefusal,
  quoteSqlText,
  tableColumn,
} from './table.ts';
import { transactionLabel } from './transaction.ts';

export type CustomFieldType =
  | 'text'
  | 'textarea'
  | 'longtext'
  | 'email'
  | 'phone'
  | 'url'
  | 'integer'
  | 'number'
  | 'currency'
  | 'percent'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'list'
  | 'multiselect'
  | 'reference';
/** An entry of a list. */
export type Choice = { id: string; name: string };
export type CustomField = {
  table: string;
  name: string;
  type: CustomFieldType;
  label: string;
  /** The entries of a list or multiple select. */
  values: readonly Choice[];
  /**
   * The custom list that these entries are of, by its SuiteQL table; absent for entries of no list that
   * queries have.
   */
  list?: string | undefined;
  /** Of a reference: the SuiteQL table of the records that it names. */
  target?: string | undefined;
  /** Why queries refuse the field, which records and the metadata catalog have; absent if they don't. */
  refusal?: QueryRefusal | undefined;
  /** Queries have the field; records and the metadata catalog don't. */
  isOnlyInQueries?: boolean | undefined;
};

type TypeFacts = {
  column: ColumnKind;
  /** The kind of its property in the record service. */
  property:
    | 'string'
    | 'boolean'
    | 'number'
    | 'integer'
    | 'date'
    | 'date-time'
    | 'enum'
    | 'reference'
    | 'choices';
  /** Values of `customfield.fieldtype` and `fieldvaluetype`. */
  fieldType: string;
  valueType: string;
  /** The PostgreSQL type that a value must be valid for; text accepts everything. */
  sqlType?: string;
};

const number = (column: 'integer' | 'decimal', fieldType: string, valueType: string): TypeFacts => ({
  column,
  property: column === 'integer' ? 'integer' : 'number',
  fieldType,
  valueType,
  sqlType: column === 'integer' ? 'bigint' : 'numeric',
});
const text = (fieldType: string, valueType: string): TypeFacts => ({
  column: 'text',
  property: 'string',
  fieldType,
  valueType,
});
const choice = (property: 'enum' | 'reference'): TypeFacts => ({
  ...number('integer', 'SELECT', 'List/Record'),
  property,
});

export const CUSTOM_FIELD_TYPES: Readonly<Record<CustomFieldType, TypeFacts>> = {
  text: text('TEXT', 'Free-Form Text'),
  textarea: text('TEXTAREA', 'Text Area'),
  longtext: text('CLOBTEXT', 'Long Text'),
  email: text('EMAIL', 'Email Address'),
  phone: text('PHONE', 'Phone Number'),
  url: text('URL', 'Hyperlink'),
  integer: number('integer', 'INTEGER', 'Integer Number'),
  number: number('decimal', 'FLOAT', 'Decimal Number'),
  currency: number('decimal', 'CURRENCY', 'Currency'),
  percent: number('decimal', 'PERCENT', 'Percent'),
  boolean: { column: 'flag', property: 'boolean', fieldType: 'CHECKBOX', valueType: 'Check Box' },
  date: { column: 'date', property: 'date', fieldType: 'DATE', valueType: 'Date', sqlType: 'date' },
  datetime: {
    column: 'datetime',
    property: 'date-time',
    fieldType: 'DATETIMETZ',
    valueType: 'Date/Time',
    sqlType: 'timestamptz',
  },
  list: choice('enum'),
  multiselect: { ...text('MULTISELECT', 'Multiple Select'), property: 'choices' },
  reference: choice('reference'),
};

/** Whether fields of the type have entries to choose from. */
export const hasChoices = (type: CustomFieldType): boolean => type === 'list' || type === 'multiselect';

const PREFIXES: Readonly<Record<string, string>> = {
  customer: 'custentity',
  vendor: 'custentity',
  employee: 'custentity',
  contact: 'custentity',
  item: 'custitem',
  transaction: 'custbody',
  transactionline: 'custcol',
};
export const isCustomRecord = (table: string): boolean => table.startsWith('customrecord_');

/** What the names of a table's custom fields start with; undefined for a table that can't have any. */
export const customPrefix = (table: string): string | undefined =>
  isCustomRecord(table) ? 'custrecord' : PREFIXES[table];
export const TABLES_WITH_CUSTOM_FIELDS = Object.keys(PREFIXES);

/** SQL of a record's display text, given the SQL of its id. */
const recordLabel = (table: string, id: string): string =>
  table === 'transaction'
    ? transactionLabel(id)
    : `SELECT r.${getNameColumn(table)} FROM ledger.${table} r WHERE r.id = ${id}`;

/** The record types that custom fields can refer to, by table, with their names in the record service. */
export const REFERENCE_TYPES: Readonly<Record<string, string>> = {
  customer: 'customer',
  vendor: 'vendor',
  employee: 'employee',
  contact: 'contact',
  item: 'inventoryItem',
  transaction: 'transaction',
};
export const referenceType = (table: string): string => REFERENCE_TYPES[table] ?? table;

const caseSql = (id: string, values: readonly Choice[]): string =>
  `CASE ${id} ${values.map((each) => `WHEN ${quoteSqlText(each.id)} THEN ${quoteSqlText(each.name)}`).join(' ')} END`;
/** The entries that a multiple select holds, as rows of (id, n). Its value joins their ids by commas. */
const chosenSql = (stored: string): string =>
  `regexp_split_to_table(${stored}, ', *') WITH ORDINALITY e(id, n)`;

const entrySql = (id: string, { values, list }: CustomField): string =>
  list === undefined
    ? caseSql(id, values)
    : `(SELECT v.name FROM ledger.customlistvalue v WHERE v.list = '${list}' AND v.id::text = ${id})`;

/**
 * SQL of the display text of a value, given the SQL of the value if it is valid; undefined where it is the
 * value.
 */
function labelSql(field: CustomField, stored: string, valid: string): string | undefined {
  const { type, values, target } = field;
  if (type === 'reference' && target !== undefined) return recordLabel(target, `(${valid})::bigint`);
  if (!hasChoices(type) || values.length === 0) return undefined;
  return type === 'list'
    ? entrySql(stored, field)
    : `SELECT string_agg(${entrySql('e.id', field)}, ', ' ORDER BY e.n) FROM ${chosenSql(stored)}`;
}

/** The field as a column of its table's view. The names of field and target must match /^[a-z0-9_]+$/. */
export function customColumn(field: CustomField): AccountColumn {
  const { name, type, refusal } = field;
  const { column, sqlType } = CUSTOM_FIELD_TYPES[type];
  const stored = extraSql(name);
  const isValid =
    type === 'boolean'
      ? `${stored} IN ('T', 'F')`
      : sqlType && `pg_catalog.pg_input_is_valid(${stored}, '${sqlType}')`;
  const sql = isValid === undefined ? stored : `CASE WHEN ${isValid} THEN ${stored} END`;
  return { ...tableColumn(column, name, sql, labelSql(field, stored, sql)), ...(refusal && { refusal }) };
}

/**
 * The table with a row for each chosen entry of a multiple select, as NetSuite joins it:
 * `map_customer_custentity_interests`.
 */
const choiceTable = ({ table, name }: CustomField): AccountTable => ({
  name: `map_${table}_${name}`,
  of: table,
  from: `(SELECT r.${getIdColumn(table)} AS mapone, e.id AS maptwo FROM ledger.${table} r, LATERAL ${chosenSql(`r.extra->>'${name}'`)}
    WHERE pg_catalog.pg_input_is_valid(e.id, 'bigint')) b`,
  columns: [tableColumn('integer', 'mapone'), tableColumn('integer', 'maptwo')],
});

export const choiceTables = (fields: readonly CustomField[]): AccountTable[] =>
  fields.filter(({ type }) => type === 'multiselect').map(choiceTable);
