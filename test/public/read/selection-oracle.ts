// Random invoices with lines, a version that declares every way to select and sort them, and what each way
// means, computed in memory.
import fc from 'fast-check';
import { expect } from 'vitest';
import {
  fieldsWith,
  type Get,
  type InvoiceRow,
  invoicesEndpoint,
  listIds,
  openSite,
  richLineColumns,
  withFields,
} from '../fixture.ts';

export type Line = Readonly<Record<string, string | number | boolean>>;
export type Invoice = InvoiceRow & { readonly id: number; readonly parsed: readonly Line[] | null };

const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { freq: 4 });
const chooseFrom = <T>(...values: T[]) => fc.constantFrom(...values);

export const items = ['11', '12', 'A "1"', "it's", '\\', '', 'é'];
export const quantities = ['-3', '0', '1.5', '2', '2.25', '10', '9007199254740993'];
export const days = ['2026-01-30', '2026-01-31', '2026-02-01'];
export const instants = [
  '2026-01-30T23:59:59Z',
  '2026-01-31T00:00:00Z',
  '2026-01-31T12:30:00Z',
  '2026-01-31T23:59:59Z',
  '2026-02-01T00:00:00Z',
];
export const words = [
  ...['Bolt & Söhne', 'BOLT', 'ÉCLAIR 100%', 'INV_001', 'INV-001', 'nut\\s', 'ab'],
  // A final sigma; a letter and its mark; letters with several small or large forms.
  ...['ΜΑΡΙΑΣ Α.Ε.', 'μαριας α.ε.', 'e\u0301clair 100%', 'STRAẞE 5', 'straße 5', 'µ-ſhop', 'Μ-SHOP'],
];

const line: fc.Arbitrary<string> = fc
  .record({
    item: maybe(chooseFrom(...items)),
    'item.name': maybe(chooseFrom(...words)),
    quantity: maybe(chooseFrom(...quantities)),
    position: maybe(chooseFrom('1', '2', '3')),
    taxed: maybe(fc.boolean()),
    due: maybe(chooseFrom(...days)),
    shipped: maybe(chooseFrom(...instants)),
  })
  .map((values) => {
    // Numbers keep their digits, which JSON.stringify would lose.
    const members = Object.entries(values).flatMap(([name, value]) => {
      if (value === null) return [];
      const isDigits = name === 'quantity' || name === 'position';
      return `${JSON.stringify(name)}:${isDigits ? value : JSON.stringify(value)}`;
    });
    return `{${members.join()}}`;
  });

/** A few invoices have more lines than an index of lines holds. */
const lines = fc.oneof(
  { weight: 8, arbitrary: fc.array(line, { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.array(line, { minLength: 65, maxLength: 80 }) },
);

const invoice = fc.record({
  tranid: maybe(chooseFrom(...words)),
  status: maybe(chooseFrom('open', 'paid', 'a,b', '(x)', 'say "hi"')),
  total: maybe(chooseFrom('-1', '0', '1.5', '1.50', '1000', '1000.01')),
  trandate: maybe(chooseFrom(...days)),
  entityName: maybe(chooseFrom(...words)),
  lines: maybe(lines),
});

/** The same in every run. */
export function randomInvoices(count: number): Invoice[] {
  return fc
    .sample(invoice, { numRuns: count, seed: 27 })
    .map(({ lines: texts, ...values }, index): Invoice => {
      const text = texts === null ? null : `[${texts.join()}]`;
      return {
        id: index + 1,
        ...values,
        lines: text,
        parsed: text === null ? null : (JSON.parse(text) as Line[]),
      };
    });
}

const ranges = ['eq', 'gt', 'gte', 'lt', 'lte'];
const dated = ['eq', 'after', 'before', 'gte', 'lte'];

export const selectableInvoices = {
  ...invoicesEndpoint,
  fields: fieldsWith({
    lines: {
      fields: [
        { name: 'item', source: 'item' },
        { name: 'itemName', source: 'item.name' },
        { name: 'quantity', source: 'quantity' },
        { name: 'position', source: 'position' },
        { name: 'taxed', source: 'taxed' },
        { name: 'due', source: 'due' },
        { name: 'shipped', source: 'shipped' },
      ],
    },
  }),
  filters: [
    ...invoicesEndpoint.filters,
    { field: 'lines.item', operators: ['eq'] },
    { field: 'lines.itemName', operators: ['eq'] },
    { field: 'lines.quantity', operators: ranges },
    { field: 'lines.position', operators: ranges },
    { field: 'lines.taxed', operators: ['eq'] },
    { field: 'lines.due', operators: dated },
    { field: 'lines.shipped', operators: dated },
  ],
  defaultSort: { field: 'date', order: 'desc' },
  search: ['number', 'customerName'],
  or: true,
  sortSets: [
    ['date', '-total'],
    ['-status', 'date', 'total'],
    ['-date', '-total'],
  ],
};

export const parameter = (name: string, value: string): string =>
  `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;

const alphabet = [...'abcdefghijklmnopqrstuvwxyzäöüéßαεμρισ'];
const letters = new Map<string, string>();
/** The letter that stands for all that differ from it in case alone, by the tables of regular expressions. */
function standingFor(letter: string): string {
  const found =
    letters.get(letter) ?? alphabet.find((each) => new RegExp(`^${each}$`, 'iu').test(letter)) ?? letter;
  letters.set(letter, found);
  return found;
}

/** The text in which two strings are compared regardless of case and composition. */
export const folded = (text: string): string => Array.from(text.normalize('NFC'), standingFor).join('');

export const compares = (operator: string, value: number | string, other: number | string): boolean => {
  if (operator === 'eq') return value === other;
  if (operator === 'gt' || operator === 'after') return value > other;
  if (operator === 'lt' || operator === 'before') return value < other;
  return operator === 'gte' ? value >= other : value <= other;
};

/** Such a resource under another name, with more said of some of its fields. */
export const selectableAs = (name: string, more: Readonly<Record<string, object>>) => ({
  ...withFields(selectableInvoices, more),
  name,
});

/** An organization with these invoices, and a version of `invoices`, `plain`, which declares no more than filters, and more. */
export const openSelection = (rows: readonly Invoice[], more: readonly object[] = []) =>
  openSite({
    rows,
    columns: richLineColumns,
    versions: [{ endpoints: [selectableInvoices, { ...invoicesEndpoint, name: 'plain' }, ...more] }],
  });

/** A list and an export have these records and no others, in any order. */
export async function expectSelected(get: Get, query: string, expected: readonly string[]): Promise<void> {
  const ids = [...expected].sort();
  const list = await get(`/v1/invoices?${query}&pageSize=100`).expect(200);
  expect({ query, ids: listIds(list).sort(), total: list.body.pagination.total }).toEqual({
    query,
    ids,
    total: ids.length,
  });
  const exported = await get(`/v1/invoices?${query}`, { accept: 'application/x-ndjson' }).expect(200);
  expect({ query, ids: idsInLines(exported.text).sort() }).toEqual({ query, ids });
}

export const idsInLines = (text: string): string[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { id: string }).id]));
