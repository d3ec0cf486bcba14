// Describes columns that can't be taken for granted: which of them can be read, and their types.
import { type FieldMetadata, hasLabel } from '../../connector.ts';
import {
  isUnknown,
  type ProbeQuery,
  type Probes,
  probeColumns,
  type QueryRefusal,
  toQueryRefusal,
} from '../requests/probe.ts';
import type { Suiteql, SuiteqlRow } from '../requests/suiteql.ts';
import type { ColumnDefinition } from '../types/definition.ts';
import type { SuiteqlColumn } from '../types/queries.ts';
import { parentModifiedField } from '../types/stored-definition.ts';
import {
  clockKey,
  contradictions,
  guessQueryType,
  type Judged,
  judgeType,
  sampleSize,
} from './column-types.ts';

/** A field that a table may have. */
export type Candidate = Omit<ColumnDefinition, 'type' | 'derived'> & {
  readonly custom: boolean;
  /** Null: values decide. */
  readonly type: ColumnDefinition['type'] | null;
  /** What names the type, as the beginning of a sentence; null where nothing does. */
  readonly namedBy: string | null;
};

export type ColumnSource = {
  /** What shares its probes: the table, and the alias where it is read as lines. */
  readonly table: string;
  /** Rows of `SELECT *` and the column of each field. */
  readonly rows: readonly SuiteqlRow[];
  toColumn(field: string): string;
  /** Any rows with these fields: the cheapest query that has them. */
  probe(fields: readonly SuiteqlColumn[]): string;
  /** The first rows in the order of the key, so that types stay the same. */
  read(fields: readonly SuiteqlColumn[]): string;
  readonly alias: 't' | 'l';
  /** All rows: what follows FROM. */
  readonly from: string;
  /** Whether a column needs no probe that the rows have and that is read as they have it. */
  readonly trustsRows?: boolean;
};

export type QueryParts = { readonly suiteql: Suiteql; readonly probes: Probes; readonly signal: AbortSignal };

/** Null on success. Rejects for an error that says nothing about the query, such as an outage. */
export async function findRefusal(
  suiteql: Suiteql,
  query: string,
  signal: AbortSignal,
): Promise<QueryRefusal | null> {
  try {
    await suiteql.query(query, 1, signal);
    return null;
  } catch (error) {
    return toQueryRefusal(error);
  }
}

/** Whether a query has it in another form than `SELECT *`, or has a display text that decides its type. */
const isFormatted = ({ type, namedBy }: Queried): boolean =>
  type === 'date' || type === 'time' || (type === 'list' && namedBy === null);

type Queried = Candidate & { readonly type: ColumnDefinition['type'] };

/** In the candidates' order. Rejects with `ErpError` for an outage or refused login, or when aborted. */
export async function describeColumns(
  parts: QueryParts,
  source: ColumnSource,
  candidates: readonly Candidate[],
): Promise<FieldMetadata[]> {
  const queried = candidates.map(
    (each): Queried => ({
      ...each,
      type: each.type ?? guessQueryType(source.rows, source.toColumn(each.name)),
    }),
  );
  const { readable, reasons } = await probeAll(
    parts,
    source,
    queried.filter(({ excluded }) => excluded === null),
  );
  const isRead = source.trustsRows === true && !readable.some(isFormatted);
  const { rows } =
    isRead || readable.length === 0
      ? source
      : await parts.suiteql.query(withClocks(source, readable, 'read'), sampleSize, parts.signal);
  const judged = readable.map(({ name, type, namedBy }) => ({
    name,
    namedBy,
    ...judgeType(name, type, namedBy, rows),
  }));
  const types = new Map((await confirmTypes(parts, source, judged)).map((column) => [column.name, column]));
  return queried.map(({ excluded, namedBy, target, ...column }): FieldMetadata => {
    const judged = types.get(column.name);
    const reason = excluded ?? reasons.get(column.name) ?? null;
    const type = judged?.type ?? column.type;
    return {
      ...column,
      type,
      syncable: reason === null,
      reason,
      ...(judged?.warning !== undefined && { warning: judged.warning }),
      ...(type === 'text' && namedBy === null && { unconfirmed: 'values' as const }),
      ...(target !== undefined && type === 'reference' && { target }),
    };
  });
}

/**
 * The readable columns, those as text that can't be read as what they seem to be, and why the others can't be
 * read.
 */
async function probeAll(
  { suiteql, probes, signal }: QueryParts,
  source: ColumnSource,
  columns: readonly Queried[],
): Promise<{ readable: readonly Queried[]; reasons: ReadonlyMap<string, string> }> {
  const seen = new Set(
    columns
      .filter(({ name }) => source.rows.some((row) => row[source.toColumn(name)] !== undefined))
      .map(({ name }) => name),
  );
  const isCertain = (column: Queried): boolean =>
    source.trustsRows === true && seen.has(column.name) && !isFormatted(column) && !hasLabel(column);
  const runProbe: ProbeQuery<Queried> = (some) =>
    findRefusal(suiteql, withClocks(source, some, 'probe'), signal);
  const refused = await probes.probe(
    source.table,
    runProbe,
    customLast(columns).filter((column) => !isCertain(column)),
    seen,
  );
  const asText = columns
    .filter(
      ({ name, type }) =>
        type !== 'text' && seen.has(name) && refused.has(name) && !isUnknown(refused.get(name)),
    )
    .map((column): Queried => ({ ...column, type: 'text' }));
  const refusedText =
    asText.length === 0 ? refused : await probes.probe(source.table, runProbe, asText, seen);
  const readAsText = new Map(
    asText.filter(({ name }) => !refusedText.has(name)).map((column) => [column.name, column]),
  );
  const readable = columns.flatMap(
    (column) => readAsText.get(column.name) ?? (refused.has(column.name) ? [] : [column]),
  );
  return { readable, reasons: new Map([...refused].filter(([name]) => !readAsText.has(name))) };
}

type JudgedColumn = Judged & Pick<Candidate, 'name' | 'namedBy'>;

/** Types of the first values, widened where NetSuite's calculation over all rows contradicts them. */
async function confirmTypes(
  parts: QueryParts,
  source: ColumnSource,
  judged: readonly JudgedColumn[],
): Promise<JudgedColumn[]> {
  const { suiteql, signal } = parts;
  const counts = new Map<string, unknown>();
  const runProbe: ProbeQuery<JudgedColumn> = async (columns) => {
    const selected = columns.flatMap(({ name, type }, index) => {
      const sql = contradictions[type]?.sql(`${source.alias}.${source.toColumn(name)}`);
      return sql === undefined ? [] : [`SUM(CASE WHEN ${sql} THEN 1 ELSE 0 END) AS n${index}`];
    });
    try {
      const { rows } = await suiteql.query(
        `SELECT ${['COUNT(*) AS n', ...selected].join(', ')} FROM ${source.from}`,
        1,
        signal,
      );
      for (const [index, { name }] of columns.entries()) counts.set(name, rows[0]?.[`n${index}`]);
      return null;
    } catch (error) {
      return toQueryRefusal(error);
    }
  };
  const guessed = judged.filter(
    ({ type, namedBy, warning }) =>
      namedBy === null && warning !== undefined && contradictions[type] !== undefined,
  );
  const refused = guessed.length === 0 ? new Map<string, string>() : await probeColumns(runProbe, guessed);
  return judged.map((column) => {
    if (!guessed.includes(column)) return column;
    if (refused.has(column.name)) return { ...column, type: 'text' };
    const count = counts.get(column.name);
    const isContradicted = typeof count === 'string' && count !== '0';
    return isContradicted ? { ...column, type: contradictions[column.type]?.type ?? 'text' } : column;
  });
}

/** Queries that fail without naming a column mostly fail for a custom one. */
const customLast = (columns: readonly Queried[]): readonly Queried[] =>
  columns.toSorted((a, b) => Number(a.custom) - Number(b.custom));

/** With the local time of day of columns that are read as dates or times. */
function withClocks(source: ColumnSource, fields: readonly SuiteqlColumn[], kind: 'probe' | 'read'): string {
  const clocks = fields
    .filter(({ name, type }) => (type === 'date' || type === 'time') && name !== parentModifiedField)
    .map(
      ({ name }) => `TO_CHAR(${source.alias}.${source.toColumn(name)}, 'HH24:MI:SS') AS ${clockKey(name)}`,
    );
  return source[kind](fields).replace(/^SELECT /, `SELECT ${clocks.map((clock) => `${clock}, `).join('')}`);
}
