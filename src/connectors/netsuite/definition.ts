// How a record type of this product is described: NetSuite's table, the columns that are asked for, its lines, and when it is open.
// Which of the columns an account really has, only a probe tells (metadata.ts).
import type { FieldType, OpenWhen } from '../connector.ts';

export type ColumnDefinition = {
  readonly name: string;
  readonly label: string;
  readonly type: Exclude<FieldType, 'lines'>;
  readonly volatile: boolean;
  /** Why it must never be read; null for what may. */
  readonly excluded: string | null;
};

export type LinesDefinition = {
  readonly label: string;
  readonly table: string;
  /** Column of a line that names its record. */
  readonly parent: string;
  /** Integer column by which the lines of one record are read on. Where lines may share a value, all that do are read together. */
  readonly key: string;
  readonly keyIsUnique: boolean;
  /** SQL on alias `l`: which lines count. */
  readonly filter: string;
  readonly columns: readonly ColumnDefinition[];
  /** How the names of its custom columns begin; null where there can be none. */
  readonly customPrefix: string | null;
};

export type RecordTypeDefinition = {
  readonly name: string;
  readonly label: string;
  readonly table: string;
  /** SQL on alias `t`; null for the whole table. */
  readonly filter: string | null;
  readonly columns: readonly ColumnDefinition[];
  readonly lines: LinesDefinition | null;
  /** The first whose field the account lets us read applies. Without one, but with volatile fields, every record is open. */
  readonly openWhen: readonly Exclude<OpenWhen, null | 'always'>[];
  /** Entries of the metadata catalogue that describe it, and how its custom fields' names begin. */
  readonly catalogue: readonly string[];
  readonly customPrefix: string;
  /** What `deletedrecord` may call it, in small letters and digits alone. */
  readonly deletedAs: readonly string[];
};

type Row = readonly [name: string, label: string, type?: ColumnDefinition['type'], volatile?: 'volatile'];
export const columns = (...rows: readonly Row[]): ColumnDefinition[] =>
  rows.map(([name, label, type = 'text', volatile]) => ({ name, label, type, volatile: volatile === 'volatile', excluded: null }));

export const calculated = (name: string, label: string): ColumnDefinition => ({
  name,
  label,
  type: 'integer',
  volatile: true,
  excluded: 'NetSuite calculates it when it is asked, so a stored value would be wrong the next day',
});
