// How this service describes a NetSuite record type: its table, the columns to request, its lines, and which
// records are open. Whether an account really has a column is found out by a probe (metadata.ts). Record
// types that it doesn't know by name: stored-definition.ts.
import type { FieldType, OpenWhen, ShownAs } from '../../connector.ts';
import type { SourceValue } from '../../source-records.ts';
import { maxIdDigits, parentModifiedField, type StoredDefinition } from './stored-definition.ts';

/** How a field that NetSuite lacks is computed: from a column's value or display text, neither null. */
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
  /** Why the type may be wrong in an account; absent where it is certain. */
  readonly warning?: string;
  /** Only for a reference: our record type that every value is certain to name a record of. */
  readonly target?: string;
  /** Only for an amount of the header: the column that names its currency; null where none is certain to. */
  readonly currency?: string | null;
  /** Only for a field that is no column of NetSuite; its source is among the same columns. */
  readonly derived?: Derivation;
};

export type LinesDefinition = {
  readonly label: string;
  readonly table: string;
  /** Column of a line with the id of its record. */
  readonly parent: string;
  /**
   * Integer column that paginates the lines of one record. Where lines may share a value, all that do are
   * read together.
   */
  readonly key: string;
  readonly keyIsUnique: boolean;
  /** SQL condition on alias `l`: which rows are lines of the record; null for all. */
  readonly filter: string | null;
  readonly columns: readonly ColumnDefinition[];
  /** Number columns whose sums prove that all lines of a record were read. */
  readonly sums: readonly string[];
  /** Column with the time of the line's own last modification; null where there is none. */
  readonly modified: string | null;
  /** Prefix of its custom columns' names; null where there can be none. */
  readonly customPrefix: string | null;
};

/** A table with the alias `t`, and what tells its rows apart: see `StoredDefinition`. */
export type RowSource = Pick<StoredDefinition, 'parent' | 'renamed'> & {
  /** Also a SELECT in parentheses. */
  readonly table: string;
  /** SQL condition on alias `t`; null for the whole table. */
  readonly filter: string | null;
  readonly key: readonly KeyColumn[];
  readonly modified: StoredDefinition['modified'];
};
export type KeyColumn = StoredDefinition['key'][number];

/** Whether the rows are those of a customer's query, whose key may be empty in some of them. */
export const isQuerySource = ({ table }: Pick<RowSource, 'table'>): boolean => table.startsWith('(');

/** Rows with an id and a modification time of their own, as the record types have that are known by name. */
export const ownIdAndTime: Pick<RowSource, 'key' | 'modified' | 'parent' | 'renamed'> = {
  key: [{ column: 'id', digits: maxIdDigits }],
  modified: { column: 'lastmodifieddate', from: 'own' },
  parent: null,
  renamed: {},
};

/** The field with the time of the last modification; null where there is none. */
export const findModifiedField = ({ modified }: Pick<RowSource, 'modified'>): string | null =>
  modified?.from === 'parent' ? parentModifiedField : (modified?.column ?? null);

/** What reading records takes. */
export type ReadDefinition = RowSource & {
  readonly name: string;
  /** Those that are known by name: a field that the account has besides them is read like a plain column. */
  readonly columns: readonly ColumnDefinition[];
  readonly lines: LinesDefinition | null;
  /**
   * Its names in the `deletedrecord` table, reduced to lower-case letters, digits and `_`; empty where it is
   * never listed there.
   */
  readonly deletedAs: readonly string[];
};

export type RecordTypeDefinition = ReadDefinition & {
  readonly label: string;
  /** The first one whose field can be read applies; if none, with volatile fields, every record is open. */
  readonly openWhen: readonly Exclude<OpenWhen, null | 'always'>[];
  /** Columns by which a person recognizes a record, the preferred ones first. */
  readonly shownAs: Readonly<Record<keyof ShownAs, readonly string[]>>;
  /** Entries of the metadata catalogue that describe it, and the prefix of its custom fields' names. */
  readonly catalogue: readonly string[];
  readonly customPrefix: string;
};

type Row = readonly [name: string, label: string, type?: ColumnDefinition['type'], volatile?: 'volatile'];
export const defineColumns = (...rows: readonly Row[]): ColumnDefinition[] =>
  rows.map(([name, label, type = 'text', volatile]) => ({
    name,
    label,
    type,
    volatile: volatile === 'volatile',
    excluded: null,
  }));

/** `targets`: record types by the name of the reference column that names their records. */
export const withTargets = (
  columns: readonly ColumnDefinition[],
  targets: Readonly<Record<string, string>>,
): ColumnDefinition[] =>
  columns.map((column) => {
    const target = targets[column.name];
    return target === undefined ? column : { ...column, target };
  });

/** Marks columns as amounts. `currency`: the column that names theirs; null where none is certain to. */
export const withAmounts = (
  columns: readonly ColumnDefinition[],
  currency: string | null,
  names: readonly string[],
): readonly ColumnDefinition[] =>
  columns.map((column) => (names.includes(column.name) ? { ...column, currency } : column));

export const calculatedColumn = (name: string, label: string): ColumnDefinition => ({
  name,
  label,
  type: 'integer',
  volatile: true,
  excluded: 'NetSuite calculates it at the time of the query, so a stored value would be wrong the next day',
});
