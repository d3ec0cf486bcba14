// The row that says what readers see of a record type: which table, which generation, how many rows, how fresh.
import { randomBytes } from 'node:crypto';
import type { PoolClient } from 'pg';
import { sqlState } from '../db/pg-errors.ts';

export type RecordState = {
  readonly recordType: string;
  readonly idType: 'integer' | 'text';
  /** Grows by one with each publish that changed something; 0 before the first. A decimal string: it may pass 2^53. */
  readonly generation: string;
  readonly rowCount: number;
  /** Random, drawn anew whenever the table is made or swapped; null before the first publish. */
  readonly epoch: string | null;
  readonly activeTable: string | null;
  /** High-water mark of incremental reads, RFC 3339 UTC. */
  readonly highWater: string | null;
  /** When the last published run began to read the ERP, by the database's clock, RFC 3339 UTC; null before the first. */
  readonly syncedAt: string | null;
};

type StateRow = {
  record_type: string;
  id_type: 'integer' | 'text';
  generation: string;
  row_count: string;
  epoch: string | null;
  active_table: string | null;
  high_water: string | null;
  synced_at: string | null;
};

/** An instant as text with microseconds cut off, the form in which this service shows times. */
export const rfc3339 = (expression: string): string => `to_char(${expression} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

/** Nothing there yet: neither the schema nor its tables. */
export const isNotSetUp = (error: unknown): boolean => sqlState(error) === '3F000' || sqlState(error) === '42P01';

/** Undefined when nothing of this record type was ever set up. Needs the tenant's schema to exist. */
export async function readState(client: Pick<PoolClient, 'query'>, schema: string, recordType: string): Promise<RecordState | undefined> {
  const { rows } = await client.query<StateRow>(
    `select record_type, id_type, generation, row_count, epoch, active_table, ${rfc3339('high_water')} as high_water, ${rfc3339('synced_at')} as synced_at
     from ${schema}.record_state where record_type = $1`,
    [recordType],
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  return {
    recordType: row.record_type,
    idType: row.id_type,
    generation: row.generation,
    rowCount: Number(row.row_count),
    epoch: row.epoch,
    activeTable: row.active_table,
    highWater: row.high_water,
    syncedAt: row.synced_at,
  };
}

/** Random, so that it fits no other table, no other state of this one, and nothing that anyone could guess. */
export const newEpoch = (): string => randomBytes(12).toString('hex');

/** A new epoch for each table that readers see, and its last complete scan forgotten. Says how many. One transaction. */
export async function drawEpochs(client: Pick<PoolClient, 'query'>, schema: string): Promise<number> {
  const { rows } = await client.query<{ record_type: string }>(
    `select record_type from ${schema}.record_state order by record_type for update`,
  );
  // Drawn here rather than by a function in the statement: a distributed PostgreSQL takes no volatile one in an UPDATE.
  for (const { record_type: recordType } of rows)
    await client.query(
      `update ${schema}.record_state set epoch = case when epoch is not null then $2 end, reconciled_at = null where record_type = $1`,
      [recordType, newEpoch()],
    );
  return rows.length;
}
