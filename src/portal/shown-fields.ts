// Which fields of a record type visitors see, under which labels, and how a record's values become those of a page.
// A value keeps the digits that the ERP sent.
import type { Meaning } from '../core/text/portal-terms.ts';
import { customersEndpoint, type FieldFormat, recordsEndpoint } from '../platform/index.ts';
import type { DateStyle, Label, Money, Value } from './view-model.ts';
import type { Visit } from './visit.ts';

export type ShownField = {
  /** The ERP's. */
  readonly source: string;
  /** In the portal's document. */
  readonly name: string;
  readonly label: Label;
  readonly meaning: Meaning | undefined;
  readonly format: FieldFormat | null;
};

/** A field as the reader describes it. */
export type FieldType = { readonly type: string; readonly currency?: string | null };
export type RecordRow = Readonly<Record<string, unknown>> & { readonly id: string | number };

/** Whether letters to the customer go there. */
export const isAddress = ({ source }: ShownField): boolean =>
  /^(?!.*(?:ship|mail|ip_?addr)).*addr/i.test(source);

/** Of a record type that the portal shows; undefined for any other. */
export const findShown = ({ portal }: Pick<Visit, 'portal'>, recordType: string) =>
  portal.settings.records.find((entry) => entry.recordType === recordType);

/** The organization has no mapping of the record type. */
const plainMeanings: readonly Meaning[] = ['number', 'date', 'dueDate', 'status', 'amount', 'amountDue'];

/** In their order: those of the field mapping that are visible; without one, those whose meaning is known. */
export function listShownFields(visit: Visit, recordType: string): ShownField[] {
  const { fields = {} } = findShown(visit, recordType) ?? {};
  const isCustomers = recordType === visit.portal.settings.customerType;
  const endpoint = visit.endpoints.get(isCustomers ? customersEndpoint : recordsEndpoint(recordType));
  const names = new Map(endpoint?.fields.map(({ source, name }) => [source, name]));
  const meanings = new Map(Object.entries(fields).map(([meaning, source]) => [source, meaning as Meaning]));
  const mapping = visit.content.mappings.get(recordType);
  if (mapping !== undefined)
    return mapping.flatMap(({ source, label, format, visible }) => {
      const name = source === 'id' ? 'id' : names.get(source);
      return !visible || name === undefined || name === 'lines'
        ? []
        : [{ source, name, label, meaning: meanings.get(source), format }];
    });
  return plainMeanings.flatMap((meaning) => {
    const source = fields[meaning] ?? '';
    const name = names.get(source);
    return name === undefined ? [] : [{ source, name, label: { meaning }, meaning, format: null }];
  });
}

/** The field that has a meaning, in the portal's document. */
export function findMeaning(visit: Visit, recordType: string, meaning: Meaning): string | undefined {
  const source = findShown(visit, recordType)?.fields[meaning];
  const endpoint = visit.endpoints.get(recordsEndpoint(recordType));
  return endpoint?.fields.find((field) => field.source === source)?.name;
}

/** Selects the records of which something is open. Credits are negative in some ERPs. */
export function openQuery(visit: Visit, recordType: string): Readonly<Record<string, string>> {
  const name = findMeaning(visit, recordType, 'amountDue');
  const { filters = [] } = visit.endpoints.get(recordsEndpoint(recordType)) ?? {};
  // Portals that were enabled before have no such filter.
  const takesNot = filters.some(({ field, operators }) => field === name && operators.includes('not'));
  return takesNot && findShown(visit, recordType)?.role !== 'invoice'
    ? { [`${name}_not`]: '0', [`${name}_null`]: 'false' }
    : { [`${name}_gt`]: '0' };
}

/** Text of a number as it was sent: a float would have lost digits. */
export const toDigits = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);
const isNumber = (text: string): boolean => /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text);

export const toMoney = (amount: unknown, currency: unknown): Money => ({
  amount: amount === null || amount === undefined ? '0' : toDigits(amount),
  currency: typeof currency === 'string' ? currency : null,
});

/** `Invoice : Paid In Full`: the ERP puts the record type before the state. */
const shortStatus = (text: string): string => text.replace(/^[^:]* : /, '');

const dayMs = 86_400_000;
export const daysBetween = (from: string, to: string): number =>
  Math.round((Date.parse(to) - Date.parse(from)) / dayMs);

export const isPositive = (value: unknown): boolean =>
  value != null && /[1-9]/.test(toDigits(value)) && !toDigits(value).startsWith('-');

type Reading = {
  readonly types: ReadonlyMap<string, FieldType>;
  /** `YYYY-MM-DD`. */
  readonly today: string;
  /** Names of the fields with these meanings. */
  readonly currency: string | undefined;
  readonly amountDue: string | undefined;
};

export const readingOf = (
  visit: Visit,
  recordType: string,
  fields: readonly (FieldType & { readonly name: string })[],
): Reading => ({
  types: new Map(fields.map((field) => [field.name, field])),
  today: visit.today,
  currency: findMeaning(visit, recordType, 'currency'),
  amountDue: findMeaning(visit, recordType, 'amountDue'),
});

function toDue(date: string, row: RecordRow, { today, amountDue }: Reading): Value {
  const isOpen = amountDue !== undefined && isPositive(row[amountDue]);
  return { kind: 'due', date, days: isOpen ? daysBetween(today, date) : null };
}

const styleOf = (format: FieldFormat | null): DateStyle =>
  format !== null && 'style' in format ? format.style : 'medium';

function toNumber(value: unknown, field: ShownField, row: RecordRow, reading: Reading): Value {
  const { format, meaning, name } = field;
  const text = toDigits(value);
  if (!isNumber(text)) return { kind: 'text', text };
  if (format?.type === 'currency')
    return { kind: 'money', amount: text, currency: format.currency, digits: format.digits };
  if (format?.type === 'number') return { kind: 'number', value: text, digits: format.digits };
  const given = reading.types.get(name)?.currency ?? undefined;
  const currencyName = given ?? reading.currency;
  if (meaning === 'amount' || meaning === 'amountDue' || given !== undefined)
    return { kind: 'money', digits: null, ...toMoney(value, currencyName && row[currencyName]) };
  return { kind: 'number', value: text, digits: null };
}

export function toValue(field: ShownField, row: RecordRow, reading: Reading): Value {
  const { name, meaning, format } = field;
  const value = row[name];
  const type = name === 'id' ? 'text' : reading.types.get(name)?.type;
  if (value === null || value === undefined || value === '') return null;
  if (meaning === 'number') return { kind: 'number-of-record', text: String(value) };
  if (typeof value === 'boolean')
    return format?.type === 'text' ? { kind: 'text', text: String(value) } : { kind: 'yes-no', value };
  if (format?.type !== 'text') {
    if (type === 'date') {
      const date = String(value).slice(0, 10);
      return meaning === 'dueDate'
        ? toDue(date, row, reading)
        : { kind: 'date', date, style: styleOf(format) };
    }
    if (type === 'time')
      return format?.type === 'date'
        ? { kind: 'date', date: String(value).slice(0, 10), style: format.style }
        : { kind: 'time', instant: String(value), style: styleOf(format) };
    if (type === 'number' || type === 'integer') return toNumber(value, field, row, reading);
  }
  const text = typeof value === 'string' ? value : toDigits(value);
  return meaning === 'status' ? { kind: 'status', text: shortStatus(text) } : { kind: 'text', text };
}

/** Whether a column of such values is aligned by its digits. */
export const isNumeric = ({ name, meaning, format }: ShownField, { types }: Reading): boolean =>
  meaning !== 'number' &&
  name !== 'id' &&
  format?.type !== 'text' &&
  ['number', 'integer'].includes(types.get(name)?.type ?? '');
