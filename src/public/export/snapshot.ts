// A connection with an open snapshot: an export reads one moment of the data, however long it takes.
import type { Pool, PoolClient } from 'pg';
import { sqlState } from '../../db/pg-errors.ts';
import { longReadKey } from '../../warehouse/table.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import { isUndefinedObject, notSynced, queryCanceled } from '../read/connection/failures.ts';
import {
  currentFreshness,
  type Freshness,
  type Reader,
  type StateRow,
  stateKey,
  toFreshness,
} from '../read/connection/reader.ts';
import type { ReplicaReads } from '../read/connection/replica-servers.ts';
import { askReplica } from '../read/connection/replicas.ts';
import { type ListPlan, selectsAll } from '../read/plan/plan.ts';
import { totalKeyFor } from '../read/result/list.ts';
import { stateColumns, type TableRef } from '../read/sql/list-sql.ts';
import { countStatement } from './export-sql.ts';

export type Snapshot = {
  readonly client: PoolClient;
  /** Process id of the PostgreSQL backend. */
  readonly backend: number;
  readonly table: TableRef;
  readonly freshness: Freshness;
  /** Returns the connection to the pool; use `destroy` unless it was committed. Both are idempotent. */
  release(): void;
  destroy(): void;
};

const ignore = (): void => undefined;

type Lent = Pick<Snapshot, 'client' | 'release' | 'destroy'>;

/** Takes a connection that the signal destroys. Rejects with PostgreSQL's error or the signal's reason. */
async function lend(pool: Pool, signal: AbortSignal): Promise<Lent> {
  const client = await pool.connect();
  // The connection may break between two statements; the next one reports it. An unhandled event would end
  // the process.
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
  if (signal.aborted) destroy();
  signal.throwIfAborted();
  return { client, release: () => release(false), destroy };
}

type Limits = { readonly limitMs: number; readonly signal: AbortSignal };
type Isolation = 'repeatable read' | 'read committed';

/** Runs `work` on a connection, in a transaction that remains open; a failure destroys the connection. */
async function begin<T>(
  pool: Pool,
  isolation: Isolation,
  { limitMs, signal }: Limits,
  work: (lent: Lent) => Promise<T>,
): Promise<T> {
  const lent = await lend(pool, signal);
  try {
    // The server checks every second whether the client is still connected, so that an abandoned sort ends.
    await lent.client.query(
      `begin isolation level ${isolation}, read only; set local statement_timeout = ${Math.ceil(limitMs)};
       set local client_connection_check_interval = '1s'; set local idle_in_transaction_session_timeout = ${Math.ceil(limitMs)}`,
    );
    return await work(lent);
  } catch (error) {
    lent.destroy();
    throw error;
  }
}

/**
 * Keeps the table from being altered or dropped, until the transaction ends; returns the backend that holds
 * the lock. Only a lock on the primary does. A statement of its own: on Citus one that reads the table would
 * name a backend of another node.
 */
async function lockTable(client: PoolClient, { schema, table }: TableRef): Promise<number> {
  const { rows } = await client.query<{ backend: number }>(
    'select pg_backend_pid() as backend from pg_advisory_xact_lock_shared(hashtextextended($1, 2))',
    [longReadKey(schema, table)],
  );
  return rows[0]?.backend ?? 0;
}

async function readState({ client }: Lent, schema: string, recordType: string) {
  const { rows } = await client.query<StateRow>(
    `select ${stateColumns} from ${schema}.record_state as s where s.record_type = $1`,
    [recordType],
  );
  return toFreshness(rows[0]);
}

/** Where an export reads: a replica or, once that failed, the primary. `endsAtMs`: its time limit's end. */
export type SnapshotSource = { reader: Reader; isReplica: boolean; endsAtMs?: number };

/**
 * Whether an export that failed before its first byte may begin again: when the table is gone, and after any
 * failure of a replica except the time limit, which the primary would exceed as well.
 */
export function mayOpenAgain(source: SnapshotSource, error: unknown): boolean {
  if (!source.isReplica) return isUndefinedObject(error);
  const { reader, endsAtMs = Number.POSITIVE_INFINITY } = source;
  if (sqlState(error) === queryCanceled && reader.clock.monotonicMs() >= endsAtMs) return false;
  source.reader = { ...source.reader, replicas: undefined };
  return true;
}

/**
 * Opens a snapshot of the record type. `limitMs` is also the statement timeout. Any failure destroys the
 * connection, and so does the signal. Rejects with 503 when nothing is synced, and with the error of
 * PostgreSQL or the reason of the signal.
 */
export async function openSnapshot(
  source: SnapshotSource,
  recordType: string,
  limitMs: number,
  signal: AbortSignal,
): Promise<Snapshot> {
  const { reader } = source;
  const pool = reader.db.exports;
  const schema = tenantSchema(reader.organizationId);
  const limits = { limitMs, signal };
  source.endsAtMs ??= reader.clock.monotonicMs() + limitMs;
  const onReplica =
    reader.replicas && (await openOnReplica(pool, reader, reader.replicas, recordType, limits));
  source.isReplica = onReplica !== undefined;
  if (onReplica !== undefined) return onReplica;
  const startedMs = reader.clock.monotonicMs();
  return begin(pool, 'repeatable read', limits, async (lent) => {
    const freshness = await readState(lent, schema, recordType);
    // What is read afterwards is no older than this export.
    reader.states.put(stateKey(reader, recordType), freshness, startedMs);
    if (freshness === undefined) throw notSynced();
    const table = { schema, table: freshness.table };
    return { ...lent, backend: await lockTable(lent.client, table), table, freshness };
  });
}

/** A replica's snapshot, with the table's lock on the primary; undefined if the primary must be read. */
async function openOnReplica(
  primary: Pool,
  reader: Reader,
  replicas: ReplicaReads,
  recordType: string,
  limits: Limits,
): Promise<Snapshot | undefined> {
  const schema = tenantSchema(reader.organizationId);
  const found = await askReplica<Lent>(reader, replicas, {
    recordType,
    trusted: await currentFreshness(reader, recordType),
    ask: ({ replica }) =>
      begin(replica.exports, 'repeatable read', limits, async (lent) => ({
        answer: lent,
        state: await readState(lent, schema, recordType),
      })),
    discard: ({ destroy }) => destroy(),
    isOver: () => limits.signal.aborted,
  });
  if (found === undefined) return undefined;
  const { answer: lent, freshness } = found;
  const table = { schema, table: freshness.table };
  try {
    const lock = await holdLock(primary, table, limits);
    const end = (endRead: () => void) => () => {
      endRead();
      lock.release();
    };
    return {
      client: lent.client,
      backend: lock.backend,
      table,
      freshness,
      release: end(lent.release),
      destroy: end(lent.destroy),
    };
  } catch (error) {
    lent.destroy();
    throw error;
  }
}

/** Locks the table on the primary, without a snapshot: nothing is kept for it. `release` is idempotent. */
const holdLock = (
  primary: Pool,
  table: TableRef,
  limits: Limits,
): Promise<Pick<Snapshot, 'backend' | 'release'>> =>
  begin(primary, 'read committed', limits, async ({ client, release, destroy }) => {
    const backend = await lockTable(client, table);
    let isHeld = true;
    return {
      backend,
      release: () => {
        if (isHeld) client.query('commit').then(release, destroy);
        isHeld = false;
      },
    };
  });

/**
 * The exact total, counted unless it is cached for this data. An export may take longer than a list, and its
 * client may disconnect, so no list waits for this count or fails with it, nor the reverse.
 */
export async function loadTotal(
  { client, table: tableRef, freshness }: Snapshot,
  reader: Reader,
  plan: ListPlan,
): Promise<number> {
  if (selectsAll(plan)) return freshness.rowCount;
  const key = totalKeyFor(reader, plan, freshness);
  const known = reader.totals.find(key);
  if (known !== undefined) return known;
  const { text, values } = countStatement(tableRef, plan);
  const { rows } = await client.query<{ total: string }>(text, [...values]);
  const total = Number(rows[0]?.total);
  reader.totals.put({ key, total });
  return total;
}
