// Values of columns as JSON gives them, checked by the column's kind and written as PostgreSQL's text.
import { type AccountColumn, type ColumnKind, quoteSqlName, quoteSqlText, SQL_TYPE } from './table.ts';

const MAX_TEXT = 100_000;

/**
 * The value's text, null for an empty one (the empty text, as in Oracle), or undefined when it doesn't fit
 * the kind.
 */
export function parseColumnValue(kind: ColumnKind, value: unknown): string | null | undefined {
  if (value === null || value === '') return null;
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  const text = String(value);
  switch (kind) {
    case 'integer':
      return /^-?\d{1,18}$/.test(text) ? text : undefined;
    case 'decimal':
      return /^-?\d{1,20}(\.\d{1,20})?$/.test(text) ? text : undefined;
    case 'flag':
      return /^(true|T)$/.test(text) ? 'T' : /^(false|F)$/.test(text) ? 'F' : undefined;
    case 'date':
      return /^\d{4}-\d\d-\d\d$/.test(text) && isTime(`${text}T00:00:00Z`, text) ? text : undefined;
    case 'datetime':
      return parseTime(text)?.toISOString();
    case 'text':
      return text.length > MAX_TEXT || text.includes('\0') ? undefined : text;
  }
}

const isTime = (text: string, beginning: string): boolean =>
  new Date(text).toJSON()?.startsWith(beginning) ?? false;

const TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

/** A time with its zone, such as 2011-08-22T09:30:00Z; undefined for anything else. */
export function parseTime(text: string): Date | undefined {
  const day = TIME.exec(text)?.[1];
  const at = new Date(text);
  return day === undefined || Number.isNaN(at.getTime()) || !isTime(`${day}T00:00:00Z`, day) ? undefined : at;
}

/** What a value of the kind must be, for an error message. */
export const VALUE_HINTS: Readonly<Record<ColumnKind, string>> = {
  integer: 'a whole number',
  decimal: 'a number of at most 20 digits before and after the point',
  flag: 'true, false, "T" or "F"',
  date: 'a day such as "2011-08-22"',
  datetime: 'a time such as "2011-08-22T09:30:00Z"',
  text: 'a text of at most 100,000 characters',
};

/**
 * An SQL condition. `value` must be a result of `parseColumnValue`; `alias` is that of the table, where the
 * query has several.
 */
export function equalsSql({ name, kind }: AccountColumn, value: string | null, alias?: string): string {
  const column = `${alias === undefined ? '' : `${quoteSqlName(alias)}.`}${quoteSqlName(name)}`;
  return value === null
    ? `${column} IS NULL`
    : `${column} IS NOT DISTINCT FROM ${quoteSqlText(value)}::${SQL_TYPE[kind]}`;
}
