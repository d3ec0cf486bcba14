// Custom fields: what an administrator adds to a record in NetSuite. Their values are kept in `extra` of the base row, as text, so a field
// can change its type: values that don't fit the new type are null.
import { type AccountColumn, type ColumnKind, extraSql, tableColumn } from './table.ts';

export type CustomFieldType =
  | 'text'
  | 'textarea'
  | 'integer'
  | 'number'
  | 'currency'
  | 'percent'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'list';
/** An entry of a list. */
export type Choice = { id: string; name: string };
export type CustomField = { table: string; name: string; type: CustomFieldType; label: string; values: readonly Choice[] };

type TypeFacts = {
  column: ColumnKind;
  /** The kind of its property in the record service. */
  property: 'string' | 'boolean' | 'number' | 'integer' | 'date' | 'date-time' | 'enum';
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

export const CUSTOM_FIELD_TYPES: Readonly<Record<CustomFieldType, TypeFacts>> = {
  text: { column: 'text', property: 'string', fieldType: 'TEXT', valueType: 'Free-Form Text' },
  textarea: { column: 'text', property: 'string', fieldType: 'TEXTAREA', valueType: 'Text Area' },
  integer: number('integer', 'INTEGER', 'Integer Number'),
  number: number('decimal', 'FLOAT', 'Decimal Number'),
  currency: number('decimal', 'CURRENCY', 'Currency'),
  percent: number('decimal', 'PERCENT', 'Percent'),
  boolean: { column: 'flag', property: 'boolean', fieldType: 'CHECKBOX', valueType: 'Check Box' },
  date: { column: 'date', property: 'date', fieldType: 'DATE', valueType: 'Date', sqlType: 'date' },
  datetime: { column: 'datetime', property: 'date-time', fieldType: 'DATETIMETZ', valueType: 'Date/Time', sqlType: 'timestamptz' },
  list: { column: 'integer', property: 'enum', fieldType: 'SELECT', valueType: 'List/Record', sqlType: 'bigint' },
};

/** What the names of a table's custom fields start with. */
export const CUSTOM_PREFIXES: Readonly<Record<string, string>> = {
  customer: 'custentity',
  vendor: 'custentity',
  employee: 'custentity',
  contact: 'custentity',
  item: 'custitem',
  transaction: 'custbody',
  transactionline: 'custcol',
};

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The field as a column of its table's view. The name must match /^[a-z0-9_]+$/. */
export function customColumn({ name, type, values }: CustomField): AccountColumn {
  const { column, sqlType } = CUSTOM_FIELD_TYPES[type];
  const stored = extraSql(name);
  const isValid = type === 'boolean' ? `${stored} IN ('T', 'F')` : sqlType && `pg_catalog.pg_input_is_valid(${stored}, '${sqlType}')`;
  const sql = isValid === undefined ? stored : `CASE WHEN ${isValid} THEN ${stored} END`;
  const label = `CASE ${stored} ${values.map((choice) => `WHEN ${literal(choice.id)} THEN ${literal(choice.name)}`).join(' ')} END`;
  return tableColumn(column, name, sql, type === 'list' && values.length > 0 ? label : undefined);
}
