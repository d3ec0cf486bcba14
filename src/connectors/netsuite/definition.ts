// How this service describes a NetSuite record type: its table, the columns to request, its lines, and which records are open. Whether an
// account really has a column is found out by a probe (metadata.ts).
import type { FieldType, OpenWhen, ShownAs, SourceValue } from '../connector.ts';

/** How a field that NetSuite doesn't have is computed from a column: from its value or its display text, neither of them null. */
export type Derivation = {
  readonly from: string;
  readonly part: 'value' | 'label';
  readonly derive: (text: string) => SourceValue;
};

export type ColumnDefinition = {
  readonly name: string;
  readonly label: string;
  readonly type: Exclude<FieldType, 'lines'>;
  readonly volatile: boolean;
  /** Why it must never be read; null for columns that may be read. */
  readonly excluded: string | null;
  /** Only for a reference: the record type of ours whose records it names, where every value is certain to name one of these. */
  readonly target?: string;
  /** Only for an amount of the header: the column that names its currency, or null where none is certain to. */
  readonly currency?: string | null;
  /** Only for a field that is no column of NetSuite; its source is among the same columns. */
  readonly derived?: Derivation;
};

export type LinesDefinition = {
  readonly label: string;
  readonly table: string;
  /** Column of a line with the id of its record. */
  readonly parent: string;
  /** Integer column that paginates the lines of one record. Where lines may share a value, all that do are read together. */
  readonly key: string;
  readonly keyIsUnique: boolean;
  /** SQL condition on alias `l`: which rows are lines of the record. */
  readonly filter: string;
  readonly columns: readonly ColumnDefinition[];
  /** Number columns whose sums prove that all lines of a record were read. */
  readonly sums: readonly string[];
  /** Column with the time of the line's own last modification. */
  readonly modified: string;
  /** Prefix of its custom columns' names; null where there can be none. */
  readonly customPrefix: string | null;
};

export type RecordTypeDefinition = {
  readonly name: string;
  readonly label: string;
  readonly table: string;
  /** SQL condition on alias `t`; null for the whole table. */
  readonly filter: string | null;
  readonly columns: readonly ColumnDefinition[];
  readonly lines: LinesDefinition | null;
  /** The first one whose field can be read applies. If none can and there are volatile fields, every record is open. */
  readonly openWhen: readonly Exclude<OpenWhen, null | 'always'>[];
  /** Columns by which a person recognizes a record, the preferred ones first. */
  readonly shownAs: Readonly<Record<keyof ShownAs, readonly string[]>>;
  /** Entries of the metadata catalogue that describe it, and the prefix of its custom fields' names. */
  readonly catalogue: readonly string[];
  readonly customPrefix: string;
  /** Its names in the `deletedrecord` table, reduced to lower-case letters and digits. */
  readonly deletedAs: readonly string[];
};

type Row = readonly [name: string, label: string, type?: ColumnDefinition['type'], volatile?: 'volatile'];
export const defineColumns = (...rows: readonly Row[]): ColumnDefinition[] =>
  rows.map(([name, label, type = 'text', volatile]) => ({ name, label, type, volatile: volatile === 'volatile', excluded: null }));

/** `targets`: record types by the name of the reference column that names their records. */
export const withTargets = (columns: readonly ColumnDefinition[], targets: Readonly<Record<string, string>>): ColumnDefinition[] =>
  columns.map((column) => {
    const target = targets[column.name];
    return target === undefined ? column : { ...column, target };
  });

/** Marks columns as amounts of money. `currency`: the column that names their currency, or null where none is certain to. */
export const withAmounts = (
  columns: readonly ColumnDefinition[],
  currency: string | null,
  names: readonly string[],
): readonly ColumnDefinition[] => columns.map((column) => (names.includes(column.name) ? { ...column, currency } : column));

export const calculatedColumn = (name: string, label: string): ColumnDefinition => ({
  name,
  label,
  type: 'integer',
  volatile: true,
  excluded: 'NetSuite calculates it at the time of the query, so a stored value would be wrong the next day',
});
