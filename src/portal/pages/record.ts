// One record: fields, lines, and records that it refers to or that refer to it. Someone else's is none.
import Big from 'big.js';
import type { Request } from 'express';
import { AppError } from '../../core/errors.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import type { Meaning } from '../../core/text/portal-terms.ts';
import { recordsEndpoint } from '../../platform/index.ts';
import { nameDocument, nameType } from '../navigation.ts';
import { findOffer } from '../offer.ts';
import { listAddress, readTable, recordAddress } from '../record-table.ts';
import {
  findMeaning,
  findShown,
  isAddress,
  isPositive,
  listShownFields,
  type RecordRow,
  readingOf,
  type ShownField,
  toMoney,
  toValue,
} from '../shown-fields.ts';
import type { Label, RecordPage, Table, Value } from '../view-model.ts';
import { notFoundHere, type Visit } from '../visit.ts';

const maxRelated = 20;
const maxLines = 1_000;
/** On paper: what has more is refused there. */
const maxPaperLines = 5_101;

/** Rejects with 404 for a record that isn't the customer's, and for a text that is no id. */
async function readRow(visit: Visit, recordType: string, id: string) {
  const { records, fields, syncedAt } = await visit.reader
    .list(recordsEndpoint(recordType), { id })
    .catch((error: unknown) => {
      throw error instanceof AppError && error.status === 400 ? notFoundHere() : error;
    });
  const [row] = parseExact(records) as RecordRow[];
  if (row === undefined) throw notFoundHere();
  return { row, fields, syncedAt };
}

type LineKind = Extract<Label, { readonly line: string }>['line'];
/** Fields of lines that say what was delivered, by the ERP's names; the first that the lines have. */
const lineSources: readonly (readonly [LineKind, readonly string[]])[] = [
  ['item', ['item.name', 'itemname', 'item']],
  ['text', ['memo', 'description', 'account.name']],
  ['quantity', ['displayQuantity', 'quantity']],
  ['rate', ['rate', 'price']],
  ['amount', ['displayForeignAmount', 'foreignamount', 'amount', 'netamount']],
];

type Line = Readonly<Record<string, unknown>>;
type LineColumn = { readonly kind: LineKind; readonly name: string };

function listLineColumns(visit: Visit, recordType: string): LineColumn[] {
  const endpoint = visit.endpoints.get(recordsEndpoint(recordType));
  const names = new Map(
    endpoint?.fields
      .find(({ source }) => source === 'lines')
      ?.fields?.map(({ source, name }) => [source, name]),
  );
  return lineSources.flatMap(([kind, sources]) => {
    const name = sources.map((source) => names.get(source)).find((found) => found !== undefined);
    return name === undefined ? [] : [{ kind, name }];
  });
}

const isDigits = (value: unknown): boolean =>
  typeof value === 'number' ||
  (typeof value === 'object' && value !== null) ||
  /^-?\d+(\.\d+)?$/.test(String(value));

function toCell(kind: LineKind, value: unknown, currency: unknown): Value {
  if (value === null || value === undefined || value === '') return null;
  if (kind === 'item' || kind === 'text' || !isDigits(value)) return { kind: 'text', text: String(value) };
  const money = toMoney(value, currency);
  return kind === 'quantity'
    ? { kind: 'number', value: money.amount, digits: null }
    : { kind: 'money', digits: null, ...money };
}

/** Null where the lines aren't shown, or say nothing. */
function toLines(visit: Visit, recordType: string, row: RecordRow, most: number): Table | null {
  const mapping = visit.content.mappings.get(recordType);
  const isShown = mapping?.some(({ source, visible }) => source === 'lines' && visible) === true;
  const lines = isShown && Array.isArray(row['lines']) ? (row['lines'] as Line[]).slice(0, most) : [];
  const columns = listLineColumns(visit, recordType).filter(({ name }) =>
    lines.some((line) => line[name] !== null && line[name] !== undefined),
  );
  if (lines.length === 0 || columns.length === 0) return null;
  const currency = findMeaning(visit, recordType, 'currency');
  const given = currency === undefined ? null : row[currency];
  const rows = lines.map((line) => ({
    href: null,
    cells: columns.map(({ kind, name }) => toCell(kind, line[name], given)),
  }));
  const amounts = columns.findIndex(({ kind }) => kind === 'amount');
  const isWhole = amounts > 0 && lines.length < most;
  return {
    columns: columns.map(({ kind }) => ({
      label: { line: kind },
      numeric: kind !== 'item' && kind !== 'text',
      sort: null,
    })),
    rows,
    ...(isWhole && {
      totals: columns.map((_, at) => (at === amounts ? addUp(rows.map(({ cells }) => cells[at])) : null)),
    }),
  };
}

/** Null where one of them is no amount. */
function addUp(values: readonly (Value | undefined)[]): Value {
  const given = values.filter((value) => value != null);
  const amounts = given.filter((value) => value.kind === 'money');
  const [first] = amounts;
  if (first === undefined || amounts.length < given.length) return null;
  const sum = amounts.reduce((total, { amount }) => total.plus(amount), new Big(0));
  return { ...first, amount: sum.toFixed() };
}

type Related = RecordPage['related'][number];

/** Records that this one refers to, and those that refer to it, as far as the visitor may see them. */
async function readRelated(visit: Visit, recordType: string, row: RecordRow): Promise<Related[]> {
  const references = visit.portal.settings.references ?? [];
  const nameOf = (type: string, source: string): string | undefined =>
    visit.endpoints.get(recordsEndpoint(type))?.fields.find((field) => field.source === source)?.name;
  const wanted = references.flatMap((reference) => {
    const name = nameOf(reference.recordType, reference.source);
    if (name === undefined) return [];
    const outgoing =
      reference.recordType === recordType && row[name] != null
        ? [{ type: reference.target, query: { id: String(row[name]) } }]
        : [];
    const incoming =
      reference.target === recordType
        ? [{ type: reference.recordType, query: { [name]: String(row.id) } }]
        : [];
    return [...outgoing, ...incoming];
  });
  const found = await Promise.all(
    wanted.map(async ({ type, query }) => {
      const sized = { ...query, pageSize: String(maxRelated) };
      const { table } = await readTable(visit, { recordType: type, query: sized });
      return { title: nameType(visit, type), table };
    }),
  );
  return found.filter(({ table }) => table.rows.length > 0);
}

const large: readonly Meaning[] = ['amount', 'amountDue'];
const isLarge = ({ meaning }: ShownField): boolean => meaning !== undefined && large.includes(meaning);

/** Null where nothing is open, and for a record that visitors don't pay. */
async function findPayAddress(visit: Visit, recordType: string, row: RecordRow): Promise<string | null> {
  if (findShown(visit, recordType)?.role !== 'invoice') return null;
  const offer = await findOffer(visit);
  if (offer?.recordType !== recordType || !isPositive(row[offer.amountDue])) return null;
  return `${visit.site.base}/pay?invoice=${encodeURIComponent(String(row.id))}`;
}

/** Rejects with 404 for a record type that the portal doesn't show and a record that isn't the customer's. */
export async function readRecord(
  visit: Visit,
  { params, query }: Pick<Request, 'params' | 'query'>,
  { isPaper = false } = {},
): Promise<RecordPage> {
  const { recordType = '', id = '' } = params as Readonly<Record<string, string>>;
  if (findShown(visit, recordType) === undefined) throw notFoundHere();
  const { row, fields, syncedAt } = await readRow(visit, recordType, id);
  const reading = readingOf(visit, recordType, fields);
  const shown = listShownFields(visit, recordType).map((field) => ({
    field,
    value: toValue(field, row, reading),
  }));
  const number = shown.find(({ field }) => field.meaning === 'number')?.value;
  const status = shown.find(({ field }) => field.meaning === 'status')?.value;
  return {
    kind: 'record',
    type: nameType(visit, recordType),
    document: nameDocument(visit, recordType),
    title: number != null && 'text' in number ? number.text : id,
    list: listAddress(visit, recordType),
    asOf: syncedAt,
    status: status != null && 'text' in status ? status.text : null,
    amounts: shown
      .filter(({ field }) => isLarge(field))
      .map(({ field, value }) => ({ label: field.label, value })),
    fields: shown
      .filter(({ field }) => !isLarge(field) && field.meaning !== 'number' && field.meaning !== 'status')
      .map(({ field, value }) => ({ label: field.label, value, isAddress: isAddress(field) })),
    lines: toLines(visit, recordType, row, isPaper ? maxPaperLines : maxLines),
    related: isPaper ? [] : await readRelated(visit, recordType, row),
    pay: isPaper ? null : await findPayAddress(visit, recordType, row),
    pdf: `${recordAddress(visit, recordType, id)}.pdf`,
    hasNoPdf: query['pdf'] === 'none',
  };
}
