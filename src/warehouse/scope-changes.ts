// Keeps what readers under a row scope depend on: the values of the scope columns that a record had before
// each change, so that its leaving a scope can be reported, and the stored records that no such reader may
// see, because their newest values couldn't be stored.
import type { PoolClient } from 'pg';
import { isListType, type PlainType, type RecordColumn, readRecordColumns, sqlTypes } from './columns.ts';
import { differsSql, mayDifferSql, publishedColumns } from './merge-rows.ts';
import { lineageOn, lockState, rfc3339Sql, type ScopeColumns, type ShownColumns } from './record-state.ts';
import { type RunState, usesFreshTable } from './run-state-row.ts';
import { sql, tableOf } from './sql.ts';
import { quoteIdentifier, stagingTable } from './table.ts';

/** `columns`: the table's scope columns without the id. `generation`, `now`: those of the change. */
type ScopedTable = {
  readonly client: PoolClient;
  readonly schema: string;
  readonly recordType: string;
  readonly idType: RunState['plan']['idType'];
  /** Qualified and quoted. */
  readonly table: string;
  readonly columns: readonly string[];
  readonly generation: string;
  readonly now: string;
};
export type ScopeWork = ScopedTable & { readonly state: RunState };

/**
 * The columns other than the id by which these versions allow row scopes, as far as `existing` has them, and
 * those that are recorded already.
 */
export function listScopeColumns(
  recorded: ScopeColumns,
  shown: ShownColumns | null,
  existing: readonly RecordColumn[],
): string[] {
  const declared = new Set(
    Object.values(shown ?? {}).flatMap((columns) =>
      columns.flatMap(({ column, scopable }) => (scopable === true ? [column] : [])),
    ),
  );
  const found = existing.flatMap(({ column }) => (declared.has(column) ? [column] : []));
  return [...new Set([...Object.keys(recorded), ...found])].filter((column) => column !== 'id');
}

const recordIdSql = (text: string, { idType }: Pick<ScopedTable, 'idType'>): string =>
  idType === 'integer' ? `case when ${text} ~ '^-?[0-9]{1,18}$' then ${text}::bigint end` : text;

/** SQL for the values of all scope columns of `t`. */
const valuesSql = (columns: readonly string[]): string =>
  columns.length === 0
    ? "'{}'::jsonb"
    : `(select to_jsonb(v) from (select ${columns.map((column) => `t.${quoteIdentifier(column)}`).join(', ')}) v)`;

const isShownSql = (schema: string): string =>
  `not exists (select from ${schema}.withheld_records w where w.record_type = $1 and w.id = t.id::text)`;

const maxRowsPerInsert = 5_000;

/**
 * Keeps the values of `t` before a change, unless the record is withheld, and returns the ids. In `from`,
 * which ends in conditions, $1 is the record type and $2 the parameter. Reads and writes in two statements:
 * Citus runs no INSERT … SELECT with functions that aren't immutable.
 */
async function keepValues(work: ScopedTable, from: string, parameter?: unknown): Promise<string[]> {
  const { client, schema, columns, recordType, generation, now } = work;
  const { rows } = await client.query<{ id: string; before: string }>(
    `select t.id::text as id, ${valuesSql(columns)}::text as before from ${from} and ${isShownSql(schema)}`,
    parameter === undefined ? [recordType] : [recordType, parameter],
  );
  for (let at = 0; at < rows.length; at += maxRowsPerInsert) {
    const part = rows.slice(at, at + maxRowsPerInsert);
    await client.query(
      sql`insert into ${tableOf(schema, 'scope_changes')} (record_type, generation, id, at, before)
       select ${recordType}, ${generation}, c.id, ${now}, c.before::jsonb
       from unnest(${part.map(({ id }) => id)}::text[], ${part.map(({ before }) => before)}::text[]) as c(id, before)
       on conflict (record_type, generation, id) do nothing`,
    );
  }
  return rows.map(({ id }) => id);
}

/** Before the staged rows are merged: keeps the values of those that change in a scope column. */
export async function keepChangedValues(work: ScopeWork): Promise<void> {
  const { schema, table, state, columns, recordType } = work;
  const written = publishedColumns(state).filter(({ column }) => columns.includes(column));
  if (written.length === 0) return;
  const staging = `${schema}.${quoteIdentifier(stagingTable(recordType))}`;
  const changed = `${table} t join ${staging} s on s.id = t.id where s.run_id = $2 and ${mayDifferSql(state)} and ${differsSql(written)}`;
  await keepValues(work, changed, state.runId);
}

/** Before these records are deleted: keeps their values. */
export async function keepDeletedValues(work: ScopedTable, ids: readonly string[]): Promise<void> {
  await keepValues(work, `${work.table} t where t.id = any($2::${sqlTypes[work.idType]}[])`, ids);
}

/**
 * Ends the withholding of records that the run read and could store, and returns their ids. Call it before
 * other rows join the staged ones.
 */
export async function releaseRead(work: ScopeWork): Promise<string[]> {
  const { client, schema, recordType, columns, state } = work;
  if (columns.length === 0) return [];
  const ofRun = usesFreshTable(state) ? '' : 's.run_id = $2 and ';
  const { rows } = await client.query<{ id: string }>(
    `delete from ${schema}.withheld_records w where w.record_type = $1
     and (exists (select from ${schema}.${quoteIdentifier(state.targetTable)} s where ${ofRun}s.id = ${recordIdSql('w.id', work)})
       or w.id in (select unnest(u.ids) from ${schema}.staged_unchanged u where u.run_id = $2)) returning w.id`,
    [recordType, state.runId],
  );
  return rows.map(({ id }) => id);
}

/**
 * Values that are equal are stored and compared alike, whatever their notation; those that can't be read
 * never are equal.
 */
const comparable: Readonly<Record<Exclude<PlainType, 'lines'>, (stored: string, value: string) => string>> = {
  text: (stored, value) => `${value} is distinct from ${stored}`,
  number: (stored, value) => `${value}::numeric is distinct from ${stored}`,
  integer: (stored, value) => `${value}::bigint is distinct from ${stored}`,
  boolean: (stored, value) => `${value}::boolean is distinct from ${stored}`,
  date: (stored, value) => `${value} is distinct from to_char(${stored}, 'YYYY-MM-DD')`,
  time: (stored, value) => `${value} is distinct from ${rfc3339Sql(stored)}`,
};

/** SQL: what the ERP has in one of the columns isn't known or differs from the stored row `t`. */
function differsFromErpSql(columns: readonly RecordColumn[]): string {
  const parts = columns.flatMap(({ column, type }) => {
    if (type === 'lines' || isListType(type)) return [];
    const name = `'${column}'`;
    return `not jsonb_exists(r.scope_values, ${name}) or ${comparable[type](`t.${quoteIdentifier(column)}`, `(r.scope_values ->> ${name})`)}`;
  });
  return ['r.scope_values is null', ...parts].join(' or ');
}

/** SQL for the stored records `t` of rejections `r`. */
const storedRejections = ({ schema, table, ...scoped }: ScopedTable): string =>
  `${schema}.rejections r join ${table} t on t.id = ${recordIdSql('r.id', scoped)} and t.id::text = r.id where r.record_type = $1`;

/**
 * Withholds the stored records of which a rejection is open and `condition` is true, and keeps their values.
 * Returns how many are new.
 */
async function withhold(work: ScopedTable, condition: string): Promise<number> {
  const { client, schema, recordType } = work;
  const ids = await keepValues(work, `${storedRejections(work)} and (${condition})`);
  const { rowCount } = await client.query(
    `insert into ${schema}.withheld_records (record_type, id) select $1, unnest($2::text[]) on conflict do nothing`,
    [recordType, ids],
  );
  return rowCount ?? 0;
}

/**
 * After the rows are written: withholds the records whose newest values couldn't be stored and differ, and
 * releases those of which the newest values are the stored ones, together with `released`, whose rows take
 * the generation of the change. Columns that the run doesn't publish are not compared: reads by them are
 * refused. Returns how many records are withheld or served again from now on.
 */
export async function updateWithheld(work: ScopeWork, released: readonly string[]): Promise<number> {
  const { client, schema, table, state, columns, recordType, generation, now } = work;
  if (columns.length === 0) return 0;
  const differs = differsFromErpSql(publishedColumns(state).filter(({ column }) => columns.includes(column)));
  const withheld = await withhold(work, differs);
  const id = recordIdSql('w.id', work);
  const { rows } = await client.query<{ id: string }>(
    `delete from ${schema}.withheld_records w where w.record_type = $1 and (not exists (select from ${table} t where t.id = ${id})
       or exists (select from ${storedRejections(work)} and r.id = w.id and not (${differs}))) returning w.id`,
    [recordType],
  );
  const ids = [...released, ...rows.map((row) => row.id)];
  if (ids.length === 0) return withheld;
  const { rowCount } = await client.query(
    `update ${table} set generation = $1, changed_at = $2 where id = any($3::${sqlTypes[work.idType]}[])`,
    [generation, now, ids],
  );
  return withheld + (rowCount ?? 0);
}

/** A table that was swapped in has no earlier changes: they are recorded from its first generation on. */
export async function forgetScopeChanges({ client, schema, recordType }: ScopedTable): Promise<void> {
  await client.query(`delete from ${schema}.scope_changes where record_type = $1`, [recordType]);
}

/**
 * Begins to record the changes of columns by which versions that were just entered allow row scopes. What the
 * ERP has in them isn't known of rejected records: stored ones are withheld, with a new generation. The
 * caller provides the transaction.
 */
export async function startScopeColumns(client: PoolClient, schema: string, recordType: string) {
  const state = await lockState(client, schema, recordType);
  if (state === undefined) return;
  const columns = listScopeColumns(
    state.scope_columns,
    state.shown_columns,
    await readRecordColumns(client, schema, recordType),
  );
  const added = columns.filter((column) => !Object.hasOwn(state.scope_columns, column));
  if (added.length === 0) return;
  const { active_table: active, generation: before, former_epochs: formerEpochs, here, now } = state;
  const current = { epoch: state.epoch, timeline: state.timeline, formerEpochs };
  const next = (BigInt(before) + 1n).toString();
  const work = { client, schema, recordType, idType: state.id_type, columns, generation: next, now };
  const withheld =
    active === null ? 0 : await withhold({ ...work, table: `${schema}.${quoteIdentifier(active)}` }, 'true');
  const generation = withheld > 0 ? next : before;
  const lineage = withheld > 0 ? lineageOn(here, current, before) : current;
  const begun = Object.fromEntries(added.map((column) => [column, generation]));
  const scopeColumns = { ...state.scope_columns, ...begun };
  await client.query(
    sql`update ${tableOf(schema, 'record_state')} set scope_columns = ${JSON.stringify(scopeColumns)}, generation = ${generation},
       epoch = ${lineage.epoch}, timeline = ${lineage.timeline}, former_epochs = ${JSON.stringify(lineage.formerEpochs)}
     where record_type = ${recordType}`,
  );
}
