// A connection with an open snapshot: an export reads one moment of the data, however long it takes.
import type { Pool, PoolClient } from 'pg';
import { longReadKey } from '../../warehouse/table.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import { notSynced } from '../read/failures.ts';
import { totalKeyFor } from '../read/list.ts';
import type { ListPlan } from '../read/plan.ts';
import { type Freshness, freshnessOf, type Reader, type StateRow } from '../read/reader.ts';
import { stateColumns, type TableRef } from '../read/sql.ts';
import { countStatement } from './export-sql.ts';

export type Snapshot = {
  readonly client: PoolClient;
  /** Process id of the PostgreSQL backend. */
  readonly backend: number;
  readonly table: TableRef;
  readonly freshness: Freshness;
  /** Returns the connection to the pool; use `destroy` unless the transaction was committed. Both are idempotent. */
  release(): void;
  destroy(): void;
};

const ignore = (): void => undefined;

/**
 * Opens a snapshot of the record type. `limitMs` is also the statement timeout. Any failure destroys the connection, and so does the
 * signal. Rejects with 503 when nothing is synced, and with the error of PostgreSQL or the reason of the signal.
 */
export async function openSnapshot(
  pool: Pool,
  reader: Reader,
  recordType: string,
  limitMs: number,
  signal: AbortSignal,
): Promise<Snapshot> {
  const client = await pool.connect();
  // The connection may break between two statements; the next one reports it. An unhandled event would end the process.
  client.on('error', ignore);
  let isLent = true;
  const release = (broken: boolean): void => {
    if (!isLent) return;
    isLent = false;
    client.release(broken);
    if (!broken) client.off('error', ignore);
    signal.removeEventListener('abort', destroy);
  };
  const destroy = (): void => release(true);
  signal.addEventListener('abort', destroy);
  try {
    signal.throwIfAborted();
    // The server checks every second whether the client is still connected, so that an abandoned sort ends.
    await client.query(
      `begin isolation level repeatable read, read only; set local statement_timeout = ${Math.ceil(limitMs)};
       set local client_connection_check_interval = '1s'; set local idle_in_transaction_session_timeout = ${Math.ceil(limitMs)}`,
    );
    const schema = tenantSchema(reader.organizationId);
    const { rows } = await client.query<StateRow & { backend: number }>(
      `select ${stateColumns}, pg_backend_pid() as backend from ${schema}.record_state as s where s.record_type = $1`,
      [recordType],
    );
    const freshness = freshnessOf(rows[0]);
    if (freshness === undefined) throw notSynced();
    await client.query('select pg_advisory_xact_lock_shared(hashtextextended($1, 2))', [longReadKey(schema, freshness.table)]);
    const tableRef = { schema, table: freshness.table };
    return { client, backend: rows[0]?.backend ?? 0, table: tableRef, freshness, release: () => release(false), destroy };
  } catch (error) {
    destroy();
    throw error;
  }
}

/**
 * The exact total, counted unless it is cached for this data. An export may take longer than a list, and its client may disconnect, so no
 * list waits for this count or fails with it, nor the reverse.
 */
export async function totalOf({ client, table: tableRef, freshness }: Snapshot, reader: Reader, plan: ListPlan): Promise<number> {
  if (plan.conditions.length === 0) return freshness.rowCount;
  const key = totalKeyFor(reader, plan, freshness);
  const known = reader.totals.find(key);
  if (known !== undefined) return known;
  const { text, values } = countStatement(tableRef, plan);
  const { rows } = await client.query<{ total: string }>(text, [...values]);
  const total = Number(rows[0]?.total);
  reader.totals.put({ key, total });
  return total;
}
