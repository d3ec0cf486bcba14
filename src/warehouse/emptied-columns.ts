// Finds the columns that had a value in the stored row and have none in the row that a run read, and the
// fields that some of a record's lines lost.
import { escapeLiteral, type PoolClient } from 'pg';
import type { RecordColumn } from './columns.ts';
import { mayDifferSql, publishedColumns } from './merge-rows.ts';
import { rfc3339Sql } from './record-state.ts';
import { type RunState, usesFreshTable } from './run-state-row.ts';
import { quoteIdentifier } from './table.ts';
import { unchangedIdsSql } from './unchanged.ts';

/** `lineField` is null for a column other than lines, and for lines as a whole. */
export type ColumnPart = Pick<RecordColumn, 'field' | 'part' | 'column'> & {
  readonly lineField: string | null;
};
export type Emptied = ColumnPart & {
  /** The number of records that came empty, and of those read whose stored row had a value. */
  readonly emptied: number;
  readonly had: number;
  /** Whether only some lines of these records came without the field. */
  readonly partly: boolean;
  /**
   * Some of the records that came empty, ascending, with their modification times when they were read, RFC
   * 3339 UTC, and the number of their lines that have the field.
   */
  readonly records: readonly {
    readonly id: string;
    readonly modifiedAt: string | null;
    readonly filled: number;
  }[];
};
/** Some may be changed again before they are read singly. */
const maxRecords = 100;

/** SQL that is true when the row `alias` has a value, never null. Lines have only members with a value. */
export function hasValueSql(alias: string, { column, part, lineField }: ColumnPart): string {
  const name = `${alias}.${quoteIdentifier(column)}`;
  if (part !== 'lines') return `(${name} is not null)`;
  if (lineField === null) return `coalesce(${name} <> '[]', false)`;
  return `coalesce(${name} @? ${escapeLiteral(`$[*].${JSON.stringify(lineField)}`)}, false)`;
}

/** SQL of the number of lines that have the field; 0 for other parts. */
const filledSql = (alias: string, { column, lineField }: ColumnPart): string =>
  lineField === null
    ? '0'
    : `coalesce(jsonb_array_length(jsonb_path_query_array(${alias}.${quoteIdentifier(column)}, ${escapeLiteral(`$[*].${JSON.stringify(lineField)}`)})), 0)`;

/** Equal lines are not searched for each of their fields. */
function cameEmptySql(part: ColumnPart): string {
  const name = quoteIdentifier(part.column);
  const emptied = `${hasValueSql('t', part)} and not ${hasValueSql('s', part)}`;
  return part.part === 'lines'
    ? `case when t.${name} is distinct from s.${name} then ${emptied} else false end`
    : emptied;
}

/** Fewer lines have the field; `shrunk` is joined by `shrunkSql`. */
const lostSomeSql = (part: ColumnPart): string =>
  `case when shrunk.${quoteIdentifier(part.column)} then ${filledSql('t', part)} > ${filledSql('s', part)} else false end`;

/**
 * For each column of lines, whether it has as many lines or more, and in all fewer values: one look before
 * one for each field.
 */
function shrunkSql(parts: readonly ColumnPart[]): string {
  const columns = new Set(
    parts.flatMap(({ part, column }) => (part === 'lines' ? [quoteIdentifier(column)] : [])),
  );
  const values = (lines: string): string => `jsonb_array_length(jsonb_path_query_array(${lines}, '$[*].*'))`;
  const tests = [...columns].map(
    (name) =>
      `coalesce(jsonb_array_length(s.${name}) >= jsonb_array_length(t.${name}) and ${values(`t.${name}`)} > ${values(`s.${name}`)}, false) as ${name}`,
  );
  return tests.length === 0 ? '' : `cross join lateral (select ${tests.join(', ')} offset 0) shrunk`;
}

/**
 * Columns that no complete read has filled yet had no values; those of a former type repeat another column as
 * far as it converts.
 */
const listParts = (state: RunState): ColumnPart[] =>
  publishedColumns(state)
    .filter((column) => column.state === 'live' || column.state === 'returned')
    .flatMap(({ field, part, column, lineFields }) => [
      { field, part, column, lineField: null },
      ...(lineFields ?? []).map(({ name }) => ({ field, part, column, lineField: name })),
    ]);

const readRows = (schema: string, state: RunState): string =>
  `${schema}.${quoteIdentifier(state.targetTable)} s ${usesFreshTable(state) ? 'where $1::uuid is not null' : 'where s.run_id = $1'}`;

/** SQL for the rows `s` that the run read and that may differ from their stored rows `t`; $1 is the run's id. */
function differingRows(schema: string, state: RunState, active: string, parts: readonly ColumnPart[]) {
  return `from (select s.* from ${readRows(schema, state)}) s join ${schema}.${quoteIdentifier(active)} t on t.id = s.id ${shrunkSql(parts)} where ${mayDifferSql(state)}`;
}

/** Of each part, in how many of the pairs of rows it came empty, and of line fields, in how many partly. */
async function countEmptied(client: PoolClient, runId: string, parts: readonly ColumnPart[], pairs: string) {
  const conditions = parts.flatMap((part) => [
    { part, partly: false, condition: cameEmptySql(part) },
    ...(part.lineField === null ? [] : [{ part, partly: true, condition: lostSomeSql(part) }]),
  ]);
  const { rows } = await client.query<{ counts: string[] }>(
    `select array[${conditions.map(({ condition }) => `count(*) filter (where ${condition})`).join(', ')}]::text[] as counts ${pairs}`,
    [runId],
  );
  return conditions.map((each, index) => ({ ...each, count: Number(rows[0]?.counts[index] ?? 0) }));
}

function modifiedAtSql({ columns }: RunState, modifiedField: string | null): string {
  const modified = columns.find(
    ({ field, part, type }) => field === modifiedField && part === 'value' && type === 'time',
  );
  return modified === undefined ? 'null::text' : rfc3339Sql(`s.${quoteIdentifier(modified.column)}`);
}

/**
 * The parts of columns that came empty, or else partly, in at least `minRows` of the rows that the run read,
 * with `had` not yet counted (0). A line field isn't listed where the lines as a whole came empty.
 * `modifiedField`: that of the modification time, whose column may be missing.
 */
export async function findEmptied(
  client: PoolClient,
  schema: string,
  state: RunState,
  active: string,
  minRows: number,
  modifiedField: string | null,
): Promise<Emptied[]> {
  const parts = listParts(state);
  if (parts.length === 0) return [];
  const counted = await client.query<{ n: string }>(
    `select count(*) as n ${differingRows(schema, state, active, [])}`,
    [state.runId],
  );
  if (Number(counted.rows[0]?.n ?? 0) < minRows) return [];
  const pairs = differingRows(schema, state, active, parts);
  const found = (await countEmptied(client, state.runId, parts, pairs)).filter(
    ({ count }) => count >= minRows,
  );
  const whole = new Set(found.filter(({ part }) => part.lineField === null).map(({ part }) => part.column));
  const emptied = new Set(found.filter(({ partly }) => !partly).map(({ part }) => part));
  const modifiedAt = modifiedAtSql(state, modifiedField);
  const listed: Emptied[] = [];
  for (const { part, partly, count, condition } of found) {
    if ((partly && emptied.has(part)) || (part.lineField !== null && whole.has(part.column))) continue;
    const records = await client.query<Emptied['records'][number]>(
      `select t.id::text as id, ${modifiedAt} as "modifiedAt", ${filledSql('s', part)} as filled ${pairs} and ${condition} order by t.id limit ${maxRecords}`,
      [state.runId],
    );
    listed.push({ ...part, partly, emptied: count, had: 0, records: records.rows });
  }
  return listed;
}

/**
 * The number of records that the run read, the unchanged ones included, whose stored row has a value in this
 * part of the column.
 */
export async function countRead(
  client: PoolClient,
  schema: string,
  state: RunState,
  active: string,
  part: ColumnPart,
): Promise<number> {
  const { rows } = await client.query<{ n: string }>(
    `select count(*) as n from (select s.id from ${readRows(schema, state)} union all select id from ${unchangedIdsSql(schema, state, '$1')} u) r
     join ${schema}.${quoteIdentifier(active)} t on t.id = r.id where ${hasValueSql('t', part)}`,
    [state.runId],
  );
  return Number(rows[0]?.n ?? 0);
}
