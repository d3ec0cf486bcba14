// The layout `invoice-1`: the fields of a record as facts, and its lines as a table. It says what the JSON of the
// record says, in the same digits, and nothing else. Published versions name the layout: one that says something
// else gets another name.
import type { DigitsJson } from '../../core/text/exact-json.ts';
import type { PdfDocument, PdfTable } from '../../pdf/index.ts';
import { isNumeric } from '../../warehouse/columns.ts';
import type {
  CompiledDocument,
  LineOutput,
  LinesField,
  OutputField,
  ValueField,
} from '../version/compile.ts';
import { findCurrency } from '../version/money.ts';

/** `fields`: those that the caller asked for and may read, as `record` has them. */
export type ShownRecord = {
  readonly fields: readonly OutputField[];
  readonly record: Readonly<Record<string, DigitsJson>>;
  readonly document: CompiledDocument;
};

/** `dueDate` → `Due date`, `VATRate` → `VAT rate`. */
function toLabel(name: string): string {
  const words = name
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ')
    .split(/[\s_]+/)
    .map((word) => (/^[A-Z]{2}/.test(word) ? word : word.toLowerCase()));
  const text = words.join(' ').trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A list is its entries. */
function toText(value: DigitsJson | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return value;
  return Object.values(value)
    .map(toText)
    .filter((text) => text !== '')
    .join(', ');
}

const listValues = ({ fields }: ShownRecord): ValueField[] =>
  fields.filter((field) => field.kind === 'value');

/** What the ERP numbers the record by, or its id where the caller doesn't see that. */
export function numberOf(shown: ShownRecord): string {
  const { record, document } = shown;
  const numbered = listValues(shown).filter(({ source }) => source === document.number);
  return numbered.map(({ name }) => toText(record[name])).find((text) => text !== '') ?? toText(record['id']);
}

/** A value as the record has it; an amount with its currency, where the caller sees that one. */
function factText(shown: ShownRecord, { name, source, column, mask }: ValueField): string {
  const { record, document } = shown;
  const text = toText(record[name]);
  const currency = mask === null && isNumeric(column.type) ? findCurrency(document.money, source) : undefined;
  const named = listValues(shown).find(
    (field) => typeof currency === 'string' && field.source === `${currency}.name` && field.mask === null,
  );
  return [text, named === undefined ? '' : toText(record[named.name])]
    .filter((part) => part !== '')
    .join(' ');
}

const isNumber = ({ type, mask }: LineOutput): boolean => isNumeric(type) && mask === null;

/** The text that is longest over all rows takes what is left of the width. */
function findWide(lines: readonly LineOutput[], rows: readonly (readonly string[])[]): number {
  const lengths = lines.map((line, at) =>
    isNumber(line) ? -1 : rows.reduce((sum, row) => sum + (row[at] ?? '').length, 0),
  );
  return lengths.indexOf(Math.max(...lengths));
}

function toTable(record: ShownRecord['record'], { name, lines }: LinesField): PdfTable[] {
  const values = record[name] as readonly Readonly<Record<string, DigitsJson>>[] | null;
  if (values === null || values.length === 0) return [];
  const rows = values.map((line) => lines.map((field) => toText(line[field.name])));
  const wide = findWide(lines, rows);
  const columns = lines.map((line, at) => ({
    label: toLabel(line.name),
    numeric: isNumber(line),
    wide: at === wide,
  }));
  return [{ title: toLabel(name), columns, rows, totals: [] }];
}

/** Without the brand. */
export function layOutInvoice(shown: ShownRecord): Omit<PdfDocument, 'brand' | 'from' | 'notes'> {
  const { fields, record, document } = shown;
  const facts = listValues(shown).filter(({ name }) => record[name] !== null);
  return {
    language: 'en',
    title: `${document.label} ${numberOf(shown)}`,
    to: [],
    facts: facts.map((field) => [toLabel(field.name), factText(shown, field)] as const),
    tables: fields.flatMap((field) => (field.kind === 'lines' ? toTable(record, field) : [])),
    pageOf: 'Page {page} of {pages}',
  };
}
