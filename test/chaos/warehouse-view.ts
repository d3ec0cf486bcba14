// What readers of the warehouse could see at one moment, whole: the state, every row with every column as text, the tombstones.
import type { Pool } from 'pg';
import { type RecordColumn, readRecordColumns } from '../../src/warehouse/columns.ts';
import { readRecordState } from '../../src/warehouse/record-state.ts';
import { quoteIdentifier } from '../../src/warehouse/table.ts';

export type ViewRow = { readonly generation: string; readonly cells: readonly (string | null)[] };
export type View = {
  readonly generation: string;
  readonly epoch: string;
  readonly rowCount: number;
  readonly columns: readonly RecordColumn[];
  readonly rows: ReadonlyMap<string, ViewRow>;
  /** Generation by id. */
  readonly tombstones: ReadonlyMap<string, string>;
};

function textOf({ column, type }: RecordColumn): string {
  const name = quoteIdentifier(column);
  if (type === 'number' || type === 'integer') return `trim_scale(${name}::numeric)::text`;
  if (type === 'date') return `to_char(${name}, 'YYYY-MM-DD')`;
  if (type === 'time') return `to_char(${name} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
  return `${name}::text`;
}

/** The content of a row as a select list: `cells`. */
export const cellsSql = (columns: readonly RecordColumn[]): string => `array[${columns.map(textOf).join(', ')}]::text[] as cells`;

/** Undefined before anything was published. */
export async function readView(pool: Pool, schema: string, recordType: string): Promise<View | undefined> {
  const client = await pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    const state = await readRecordState(client, schema, recordType);
    if (state === undefined || state.activeTable === null || state.epoch === null) return undefined;
    const columns = await readRecordColumns(client, schema, recordType);
    const { rows } = await client.query<{ id: string; generation: string; cells: (string | null)[] }>(
      `select id::text as id, generation::text as generation, ${cellsSql(columns)} from ${schema}.${quoteIdentifier(state.activeTable)} t order by t.id`,
    );
    const gone = await client.query<{ id: string; generation: string }>(
      `select id, generation::text as generation from ${schema}.tombstones where record_type = $1`,
      [recordType],
    );
    return {
      generation: state.generation,
      epoch: state.epoch,
      rowCount: state.rowCount,
      columns,
      rows: new Map(rows.map(({ id, generation, cells }) => [id, { generation, cells }])),
      tombstones: new Map(gone.rows.map(({ id, generation }) => [id, generation])),
    };
  } finally {
    const lost = await client.query('rollback').then(
      () => undefined,
      (error: Error) => error,
    );
    client.release(lost);
  }
}
