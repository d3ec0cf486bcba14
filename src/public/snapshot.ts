// A connection that holds still: what an export reads is of one moment, however long the reading takes.
import type { Pool, PoolClient } from 'pg';
import { sqlState } from '../db/pg-errors.ts';
import { longReadKey } from '../warehouse/table.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';
import { countStatement } from './export-sql.ts';
import type { ListPlan } from './plan.ts';
import { type Freshness, freshnessOf, keyFor, missing, notSynced, type Reader, type StateRow } from './read.ts';
import { type Place, stateColumns } from './sql.ts';

export type Snapshot = {
  readonly client: PoolClient;
  /** The id of the server's process behind the connection. */
  readonly backend: number;
  readonly place: Place;
  readonly freshness: Freshness;
  /** Gives the connection back; whoever has not committed destroys it instead. Either may be called again, to no effect. */
  giveBack(): void;
  destroy(): void;
};

const nothing = (): void => undefined;
const mostAttempts = 4;

/** `limitMs` is also the server's own limit for each statement. Whatever goes wrong destroys the connection. */
export async function openSnapshot(pool: Pool, reader: Reader, recordType: string, limitMs: number, left: AbortSignal): Promise<Snapshot> {
  const client = await pool.connect();
  // It may break between two statements; the next one says so. Unheard, the event would end the process.
  client.on('error', nothing);
  let lent = true;
  const release = (broken: boolean): void => {
    if (!lent) return;
    lent = false;
    client.release(broken);
    if (!broken) client.off('error', nothing);
    left.removeEventListener('abort', destroy);
  };
  const destroy = (): void => release(true);
  left.addEventListener('abort', destroy);
  try {
    left.throwIfAborted();
    // The server looks every second whether we are still there, so that a sort for nobody ends.
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
    const place = { schema, table: freshness.table };
    return { client, backend: rows[0]?.backend ?? 0, place, freshness, giveBack: () => release(false), destroy };
  } catch (error) {
    destroy();
    throw error;
  }
}

/**
 * Exact. Counts unless the total of this very data is known. An export has more time than a list, and its caller may leave: so no
 * list waits for this count or fails with it, nor the other way round.
 */
export async function totalOf({ client, place, freshness }: Snapshot, reader: Reader, plan: ListPlan): Promise<number> {
  if (plan.conditions.length === 0) return freshness.rowCount;
  const key = keyFor(reader, plan, freshness);
  const known = reader.totals.known(key);
  if (known !== undefined) return known;
  const { text, values } = countStatement(place, plan);
  const { rows } = await client.query<{ total: string }>(text, [...values]);
  const total = Number(rows[0]?.total);
  reader.totals.put({ key, total });
  return total;
}

/** Begins again when the table was swapped and dropped between two statements, unless `mayRepeat` says no. Throws 503 when it always is. */
export async function whileTablesSwap<T>(reader: Reader, recordType: string, run: () => Promise<T>, mayRepeat = () => true): Promise<T> {
  let lastError: unknown;
  for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (!mayRepeat() || !missing.test(sqlState(error) ?? '')) throw error;
      lastError = error;
    }
  }
  const { log, organizationId } = reader;
  log.error({ err: lastError, organizationId, recordType }, 'records could not be exported');
  throw notSynced(lastError);
}
