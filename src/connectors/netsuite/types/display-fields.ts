// Fields in the form that a document shows to a person, derived from a column that is read anyway. The
// ledger's sign is that of its account: what an invoice or an order sells is negative there and positive on
// the document; what a credit memo credits is positive in both. Their names are camelCase, which no NetSuite
// column is, so they can't clash. The raw columns keep their values.
import type { ColumnDefinition, Derivation } from './definition.ts';
import type { SuiteqlColumn } from './queries.ts';

const withoutMinus = (text: string): string => (text.startsWith('-') ? text.slice(1) : text);
export const isZero = (text: string): boolean => !/[1-9]/.test(text);

/** Exact: only the sign changes. Zero has none. */
const negate = (text: string) => (isZero(text) || text.startsWith('-') ? withoutMinus(text) : `-${text}`);
const keepSign = (text: string): string => (isZero(text) ? withoutMinus(text) : text);

/** `Invoice : Open` → `Open`, in any language; whole without the separator. Null if nothing follows it. */
function removeType(label: string): string | null {
  const separator = /\s:\s/.exec(label);
  const status = separator === null ? label : label.slice(separator.index + separator[0].length).trim();
  return status === '' ? null : status;
}

const derivedColumn = (
  name: string,
  label: string,
  source: ColumnDefinition,
  derivation: Omit<Derivation, 'from'>,
): ColumnDefinition => ({
  name,
  label,
  type: derivation.part === 'label' ? 'text' : source.type,
  volatile: source.volatile,
  excluded: null,
  derived: { ...derivation, from: source.name },
});

/** Adds each derived column right behind its source. */
const withDerived = (
  columns: readonly ColumnDefinition[],
  derive: (source: ColumnDefinition) => readonly ColumnDefinition[],
) => columns.flatMap((column) => [column, ...derive(column)]);

const amounts: ReadonlyMap<string, readonly [name: string, label: string]> = new Map([
  ['quantity', ['displayQuantity', 'Quantity']],
  ['netamount', ['displayNetAmount', 'Amount in the base currency']],
  ['foreignamount', ['displayForeignAmount', 'Amount in the transaction currency']],
]);

/** `ledgerSign`: how the ledger holds what the document shows as positive. */
export const withDisplayAmounts = (
  columns: readonly ColumnDefinition[],
  ledgerSign: 'negative' | 'positive',
): ColumnDefinition[] =>
  withDerived(columns, (source) => {
    const [name, label] = amounts.get(source.name) ?? [];
    if (name === undefined) return [];
    const shown = `${label} as the document shows it (positive for what is sold or credited)`;
    return [
      derivedColumn(name, shown, source, {
        part: 'value',
        derive: ledgerSign === 'negative' ? negate : keepSign,
      }),
    ];
  });

export const withDisplayStatus = (columns: readonly ColumnDefinition[]): ColumnDefinition[] =>
  withDerived(columns, (source) =>
    source.name !== 'status'
      ? []
      : [
          derivedColumn('displayStatus', 'Status without the type of the transaction', source, {
            part: 'label',
            derive: removeType,
          }),
        ],
  );

/** A column to read; a derived one is computed from its source, which is queried in any case. */
export type ReadColumn = SuiteqlColumn & {
  readonly derived?: Pick<Derivation, 'part' | 'derive'> & { readonly source: SuiteqlColumn };
};

/** The columns to query, each once. */
export function queriedColumns(columns: readonly ReadColumn[]): SuiteqlColumn[] {
  const sources = columns.map((column) => column.derived?.source ?? column);
  return sources.filter(({ name }, index) => sources.findIndex((other) => other.name === name) === index);
}
