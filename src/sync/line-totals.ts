// Compares the lines of records with the ERP's own totals: how many lines there are, what their numbers sum to, and when the latest of them
// changed. The lines are those that the run would publish now; they are summed in SQL, as exact numerics, and never loaded.
import type { LineReader, LineTotals } from '../connectors/connector.ts';
import { inDataTransaction } from '../db/transaction.ts';
import type { LineField, RecordColumn } from '../warehouse/columns.ts';
import { type RunState, usesFreshTable } from '../warehouse/run-state-row.ts';
import { quoteIdentifier, stagingTable } from '../warehouse/table.ts';
import type { RunReadContext } from './read-context.ts';

/** What is compared of a record's lines in addition to their number. */
type Compared = { readonly sums: readonly string[]; readonly modifiedField: string | null; readonly changedSince: Date | null };
export type ComparableLines = { readonly reader: LineReader; readonly column: RecordColumn; readonly modifiedField: string | null };
/** `known` is false where no row of the record would be published: it isn't stored here, or the run rejected it. */
export type DifferingLines = { readonly id: string; readonly known: boolean; readonly here: number; readonly erp: number };

const isWritten = ({ state }: RecordColumn): boolean => state === 'live' || state === 'loading' || state === 'returned';

/** The lines that this run reads and the ERP has totals of; null where there are none. */
export function findComparableLines(
  { connector, recordType, prepared }: Pick<RunReadContext, 'connector' | 'recordType' | 'prepared'>,
  { columns, plan: { stale } }: Pick<RunState, 'columns' | 'plan'>,
): ComparableLines | null {
  const column = columns.find((one) => one.part === 'lines' && isWritten(one) && prepared.fields.includes(one.field));
  const { lines: reader } = connector;
  if (reader === undefined || column === undefined || stale[column.field] !== undefined) return null;
  const { linesModifiedField } = recordType;
  const isStored = (column.lineFields ?? []).some(({ name }) => name === linesModifiedField);
  return { reader, column, modifiedField: isStored ? linesModifiedField : null };
}

/** PostgreSQL truncates longer names. */
const maxNameBytes = 63;
const isNumber = ({ type }: LineField): boolean => type === 'number' || type === 'integer';

function comparedIn({ column, modifiedField }: ComparableLines, totals: readonly LineTotals[], since: Date | null): Compared {
  const stored = new Set((column.lineFields ?? []).filter(isNumber).map(({ name }) => name));
  const named = new Set(totals.flatMap(({ sums }) => Object.keys(sums)));
  const changedSince = modifiedField !== null && totals.some(({ changed }) => changed !== undefined) ? since : null;
  return { sums: [...named].filter((name) => stored.has(name) && Buffer.byteLength(name) <= maxNameBytes), modifiedField, changedSince };
}

/** SQL for `id` and `lines` of the rows with ids $1 that the run $3 would publish: as staged, otherwise as they are in the active table. */
function rowsSql({ prepared: { schema, activeTable } }: RunReadContext, state: RunState, { column }: ComparableLines): string {
  const idType = state.plan.idType === 'integer' ? 'bigint' : 'text';
  const select = (table: string) => `select r.id, r.${quoteIdentifier(column.column)} as lines from ${schema}.${quoteIdentifier(table)} r
    where r.id = any($1::${idType}[])`;
  if (usesFreshTable(state)) return `${select(state.targetTable)} and $3::uuid is not null and $4::text is not null`;
  const staged = `${select(stagingTable(state.recordType))} and r.run_id = $3`;
  // By value, so that PostgreSQL looks up each id: it has no statistics of what the run has staged so far, and would scan all of it.
  const isStaged = `exists (select from ${schema}.${quoteIdentifier(stagingTable(state.recordType))} s
    where s.run_id = $3 and s.id = any($1::${idType}[]) and s.id = r.id)`;
  const isRejected = `exists (select from ${schema}.rejections j where j.record_type = $4 and j.run_id = $3 and j.id = r.id::text)`;
  return activeTable === null
    ? `${staged} and $4::text is not null`
    : `${staged} union all ${select(activeTable)} and not ${isStaged} and not ${isRejected}`;
}

/** Selects the ids of $1 without a row, or whose lines differ from the totals in $2. The names of the compared sums are parameters from $5 on. */
function differingSql(
  reading: RunReadContext,
  state: RunState,
  lines: ComparableLines,
  { sums, modifiedField, changedSince }: Compared,
): string {
  const idType = state.plan.idType === 'integer' ? 'bigint' : 'text';
  const named = [
    ...sums.map((name) => `${quoteIdentifier(name)} numeric`),
    ...(modifiedField === null ? [] : [`${quoteIdentifier(modifiedField)} text`]),
  ];
  const own = sums.map((name, index) => `, coalesce(sum(l.${quoteIdentifier(name)}), 0) as sum_${index}`);
  const differing = sums.map((_, index) => ` or own.sum_${index} <> coalesce((e.sums ->> $${index + 5}::text)::numeric, 0)`);
  // A record set reads each line once; without columns there is nothing to read but the number of lines.
  const source = named.length === 0 ? 'jsonb_array_elements(h.lines) l' : `jsonb_to_recordset(h.lines) as l(${named.join(', ')})`;
  const latest = modifiedField === null ? '' : `, max(l.${quoteIdentifier(modifiedField)} collate "C") as modified`;
  const hasChanged = modifiedField !== null && changedSince !== null;
  const changed = hasChanged
    ? `, count(*) filter (where l.${quoteIdentifier(modifiedField)} collate "C" >= $${sums.length + 5}::text) as changed`
    : '';
  return `select a.id::text as id, h.id is not null as known, own.lines::integer as here, coalesce(e.lines, 0)::integer as erp
    from unnest($1::${idType}[]) a(id) left join (${rowsSql(reading, state, lines)}) h on h.id = a.id
    left join (select t.id::${idType} as id, t.lines, t.sums, t."modifiedAt" as modified, t.changed
               from jsonb_to_recordset($2::jsonb) as t(id text, lines bigint, sums jsonb, "modifiedAt" text, changed bigint)) e on e.id = a.id
    cross join lateral (select count(*) as lines${own.join('')}${latest}${changed} from ${source}) own
    where h.id is null or own.lines <> coalesce(e.lines, 0)${differing.join('')}
      ${modifiedField === null ? '' : 'or own.modified is distinct from e.modified'}
      ${hasChanged ? 'or own.changed <> coalesce(e.changed, 0)' : ''} order by a.id`;
}

/**
 * Compares the lines of at most 1,000 records with the ERP's totals, which takes one request. With `changedSince`, the number of lines that
 * changed since then is compared as well. Returns the records that differ, in the order of their ids, and a description of what was
 * compared. Throws the connector's errors.
 */
export async function compareLines(
  reading: RunReadContext,
  state: RunState,
  lines: ComparableLines,
  ids: readonly string[],
  changedSince: Date | null = null,
): Promise<{ differing: DifferingLines[]; compared: string }> {
  const { ctx, recordType, signal } = reading;
  const totals = await lines.reader.totals({ recordType, ids, ...(changedSince !== null && { changedSince }), signal });
  signal.throwIfAborted();
  const compared = comparedIn(lines, totals, changedSince);
  const { rows } = await inDataTransaction(ctx.db.data, (client) =>
    client.query<DifferingLines>(differingSql(reading, state, lines, compared), [
      ids,
      JSON.stringify(totals),
      state.runId,
      state.recordType,
      ...compared.sums,
      ...(compared.changedSince === null ? [] : [`${compared.changedSince.toISOString().slice(0, 19)}Z`]),
    ]),
  );
  return { differing: rows, compared: describe(compared) };
}

function describe({ sums, modifiedField }: Compared): string {
  const parts = [
    'number of lines',
    ...(sums.length === 0 ? [] : [`sum of ${sums.join(', ').replace(/, ([^,]+)$/, ' and $1')}`]),
    ...(modifiedField === null ? [] : ['latest modification time of a line']),
  ];
  return parts.join(', ');
}

export type NextToProve = {
  readonly ids: readonly string[];
  /** Where to continue: after this page of unchanged records, or after this staged id. */
  readonly provedPage?: number;
  readonly lastId?: string | null;
};

const idsPerRequest = 1_000;
/** Bounds the work of a query; pages with fewer records than a fiftieth of a request are rare and take many requests themselves. */
const maxPages = 50;

/**
 * Up to 1,000 records that this run read and whose lines it has not compared yet: first those that a full run found unchanged, page by
 * page, then the staged ones in the order of their ids. No ids after the last.
 */
export async function listNextToProve({ ctx, prepared: { schema } }: RunReadContext, state: RunState): Promise<NextToProve> {
  const { plan, runId, checkpoint, targetTable } = state;
  return inDataTransaction(ctx.db.data, async (client) => {
    if ((plan.comparedWith ?? null) !== null) {
      const { rows } = await client.query<{ page: number; ids: string[] }>(
        `select page, ids from (
           select page, ids, sum(cardinality(ids)) over (order by page) as total from ${schema}.staged_unchanged
           where run_id = $1 and page > $2 and cardinality(ids) > 0 order by page limit ${maxPages}) p
         where total <= ${idsPerRequest} or total = cardinality(ids) order by page`,
        [runId, plan.provedPage],
      );
      const last = rows.at(-1);
      if (last !== undefined) return { ids: rows.flatMap(({ ids }) => ids), provedPage: last.page };
    }
    const type = plan.idType === 'integer' ? 'bigint' : 'text';
    const ofRun = usesFreshTable(state) ? '$1::uuid is not null' : 't.run_id = $1';
    const { rows } = await client.query<{ id: string }>(
      `select t.id::text as id from ${schema}.${quoteIdentifier(targetTable)} t
       where ${ofRun} and ($2::${type} is null or t.id > $2::${type}) order by t.id limit ${idsPerRequest}`,
      [runId, checkpoint],
    );
    return { ids: rows.map(({ id }) => id), lastId: rows.at(-1)?.id ?? null };
  });
}
