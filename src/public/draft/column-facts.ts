// What a sample of the synced records says about each column: how often it has a value, and how many
// different ones. Counts alone: no value of a record leaves this file.
import type { TenantCtx } from '../../core/ctx.ts';
import type { Semaphore } from '../../core/work/semaphore.ts';
import { chooseWarehouse } from '../../db/former-warehouse.ts';
import type { RecordColumn } from '../../warehouse/columns.ts';
import { readRecordState } from '../../warehouse/record-state.ts';
import { quoteIdentifier } from '../../warehouse/table.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import { repeatWhileReplaced } from '../read/connection/repeat-while-replaced.ts';

/**
 * `filled`: records, or lines, with a value that isn't empty · `distinct`: their different values · `length`:
 * average, in characters.
 */
export type ColumnFact = { readonly filled: number; readonly distinct: number; readonly length: number };
export type ColumnFacts = {
  /** Records of the sample. */
  readonly records: number;
  readonly lines: number;
  /** By physical column, and by `<column>.<key>` for the fields of lines. Absent: no value in the sample. */
  readonly columns: ReadonlyMap<string, ColumnFact>;
};

const maxRecords = 5_000;
/** Of each record all lines count. */
const maxRecordsWithLines = 500;

type Reading = Pick<TenantCtx, 'db' | 'log' | 'organizationId'>;
/**
 * `savedQueries`: of reads that no version declares, which the sample is one of; `reads`: of all statements
 * that read records.
 */
export type DraftQueues = { readonly savedQueries: Semaphore; readonly reads: Semaphore };
type Row = { key: string; filled: number; distinct: number; length: number; total: number };

/** Of values that `each` writes as rows of `key` and `value`; `total` counts the rows of `sampled`. */
const countSql = (sampled: string, each: string): string =>
  `with sampled as materialized (${sampled})
   select e.key, count(*)::integer as filled, count(distinct e.value)::integer as distinct, avg(length(e.value))::integer as length,
     (select count(*) from sampled)::integer as total
   from sampled as s cross join lateral ${each} as e where e.value <> '' group by e.key`;

/**
 * Reads a sample of the record type that is the same for as long as its table is. Undefined without synced
 * records. Rejects with 503 when too many reads wait, or when the table is being replaced again and again,
 * otherwise with database errors.
 */
export const readColumnFacts = (
  { savedQueries, reads }: DraftQueues,
  ctx: Reading,
  recordType: string,
  columns: readonly RecordColumn[],
): Promise<ColumnFacts | undefined> =>
  savedQueries.run(ctx.organizationId, () => sampleColumns(reads, ctx, recordType, columns));

async function sampleColumns(
  reads: Semaphore,
  ctx: Reading,
  recordType: string,
  columns: readonly RecordColumn[],
): Promise<ColumnFacts | undefined> {
  const { data } = chooseWarehouse(ctx.db, ctx.organizationId);
  const schema = tenantSchema(ctx.organizationId);
  const read = (sql: string): Promise<readonly Row[]> =>
    reads.run(ctx.organizationId, async () => (await data.query<Row>(sql)).rows);
  const facts = await repeatWhileReplaced<ColumnFacts | null>(ctx, recordType, async () => {
    const current = await readRecordState(data, schema, recordType);
    if (current === undefined || current.activeTable === null || current.rowCount === 0) return null;
    const share = Math.min(100, (maxRecords / current.rowCount) * 100).toFixed(4);
    const source = `${schema}.${quoteIdentifier(current.activeTable)} as t tablesample system (${share}) repeatable (1)`;
    const values = columns
      .filter(({ type }) => type !== 'lines')
      .map(({ column }) => `t.${quoteIdentifier(column)}`);
    const found = await read(
      countSql(`select ${['t.id', ...values].join()} from ${source}`, 'jsonb_each_text(to_jsonb(s))'),
    );
    const lines = columns.find(({ type }) => type === 'lines')?.column;
    const ofLines =
      lines === undefined ? [] : await read(countSql(linesSql(lines, source), 'jsonb_each_text(s.line)'));
    return {
      records: found[0]?.total ?? 0,
      lines: ofLines[0]?.total ?? 0,
      columns: new Map([
        ...found.map((row) => [row.key, toFact(row)] as const),
        ...ofLines.map((row) => [`${lines}.${row.key}`, toFact(row)] as const),
      ]),
    };
  });
  return facts ?? undefined;
}

const toFact = ({ filled, distinct, length }: Row): ColumnFact => ({ filled, distinct, length });

const linesSql = (column: string, source: string): string =>
  `select l.line from (select t.${quoteIdentifier(column)} as lines from ${source} limit ${maxRecordsWithLines}) as r
   cross join lateral jsonb_array_elements(r.lines) as l (line)`;
