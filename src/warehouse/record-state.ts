// The row of record_state: what readers see of a record type (table, generation, number of rows, freshness).
import { randomBytes } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { RecordFilter } from '../connectors/discovery.ts';
import type { TenantCtx } from '../core/ctx.ts';
import { sqlState } from '../db/pg-errors.ts';
import { inDataTransaction } from '../db/transaction.ts';
import { type RecordColumn, readRecordColumns } from './columns.ts';
import { quoteIdentifier } from './table.ts';
import { tenantSchema } from './tenant-schema.ts';

/** A field whose stored values may be out of date. */
export type StaleField = {
  /** Since when, by the database's clock, RFC 3339 UTC. */
  readonly since: string;
  /** `syncedAt` of the last published run that could read it; null when unknown. */
  readonly syncedAt: string | null;
  /** `unreadable`: not offered to the integration role · `empty`: empty in records that had values. */
  readonly reason: 'unreadable' | 'empty';
  /** What the ERP or the proof said, one sentence. */
  readonly message: string;
  /** Only for `lines`: the fields of lines that it concerns; absent when it concerns the lines as a whole. */
  readonly lineFields?: readonly string[];
  /** Only for `empty`: its display text came empty, and the field itself did not. */
  readonly labelOnly?: true;
  /** Only for `empty`: some of the records that came empty. */
  readonly ids?: readonly string[];
};
/**
 * The fields whose stored values a run leaves as they are, by name. `syncedAt` null: it isn't known when they
 * could last be read.
 */
export type StalePlan = Readonly<
  Record<string, Omit<StaleField, 'since' | 'syncedAt'> & { readonly syncedAt?: null }>
>;
/** By field name. `lines` means the lines with all of their fields. */
export type StaleFields = Readonly<Record<string, StaleField>>;

/**
 * A column that an API version shows; `lineFields` names the fields of lines that it shows, `scopable` allows
 * row scopes by it.
 */
export type ShownColumn = {
  readonly column: string;
  readonly lineFields?: readonly string[];
  readonly scopable?: true;
};
/** By API version. */
export type ShownColumns = Readonly<Record<string, readonly ShownColumn[]>>;

export type RecordState = {
  readonly recordType: string;
  readonly idType: 'integer' | 'text';
  /** Grows by one with each publish that changed something, from 0. A decimal string: it may pass 2^53. */
  readonly generation: string;
  readonly rowCount: number;
  /**
   * Random; a new one whenever the table is created or swapped, and with the first publish on a new timeline.
   * Null before the first publish.
   */
  readonly epoch: string | null;
  readonly activeTable: string | null;
  /** High-water mark of incremental reads, RFC 3339 UTC. */
  readonly highWater: string | null;
  /** From which the next run lists the changes that the ERP tracks; null where it can't. */
  readonly changeToken: string | null;
  /** When the last published run began to read, by the database's clock, RFC 3339 UTC; null before any. */
  readonly syncedAt: string | null;
  /** The ERP's calendar day of the last scan or full read, YYYY-MM-DD; null before the first. */
  readonly scannedOn: string | null;
  /** The filter by which the last published run read; null for all records. */
  readonly filter: RecordFilter | null;
  /** Null in a database of an older version until it has been moved over: every column counts as shown. */
  readonly shownColumns: ShownColumns | null;
  readonly staleFields: StaleFields;
  /** Fields that an administrator accepted as missing, by name. */
  readonly acceptedFields: Readonly<Record<string, AcceptedField>>;
};
/** `at`: RFC 3339 UTC. The rest is as in the stale field that was accepted. */
export type AcceptedField = { readonly at: string } & Pick<
  StaleField,
  'reason' | 'lineFields' | 'labelOnly' | 'ids'
>;

/** SQL for an instant as text, truncated to seconds: the format in which this service shows times. */
export const rfc3339Sql = (expression: string): string =>
  `to_char(${expression} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

/** Whether the error means that the schema (3F000) or its tables (42P01) do not exist yet. */
export const isNotSetUp = (error: unknown) => sqlState(error) === '3F000' || sqlState(error) === '42P01';

/** `otherwise` when the schema or its tables do not exist yet. Rejects with other errors of `work`. */
export const orIfNotSetUp = async <T, F>(otherwise: F, work: () => Promise<T>): Promise<T | F> =>
  work().catch((error: unknown) => {
    if (isNotSetUp(error)) return otherwise;
    throw error;
  });

/** Undefined if the type was never set up. Rejects with 3F000 or 42P01 without the tenant's schema. */
export async function readRecordState(
  client: Pick<PoolClient, 'query'>,
  schema: string,
  recordType: string,
): Promise<RecordState | undefined> {
  const { rows } = await client.query<Omit<RecordState, 'rowCount'> & { rowCount: string }>(
    `select record_type as "recordType", id_type as "idType", generation, row_count as "rowCount", epoch, active_table as "activeTable",
       ${rfc3339Sql('high_water')} as "highWater", ${rfc3339Sql('synced_at')} as "syncedAt", scanned_on::text as "scannedOn", filter,
       change_token as "changeToken", shown_columns as "shownColumns", stale_fields as "staleFields", accepted_fields as "acceptedFields"
     from ${schema}.record_state where record_type = $1`,
    [recordType],
  );
  const row = rows[0];
  return row && { ...row, rowCount: Number(row.rowCount) };
}

/** Adds entries to the columns that versions show of the record type, replacing those of a version. */
export async function mergeShownColumns(
  client: Pick<PoolClient, 'query'>,
  schema: string,
  recordType: string,
  added: ShownColumns,
): Promise<void> {
  await client.query(
    `update ${schema}.record_state set shown_columns = coalesce(shown_columns, '{}') || $2 where record_type = $1`,
    [recordType, JSON.stringify(added)],
  );
}

/** Random, so that it matches no other table, no other state of the same table, and can't be guessed. */
const createEpoch = (): string => randomBytes(12).toString('hex');

/**
 * SQL for the server and its timeline, which a promotion or a restore to a point in time changes: from then
 * on the server may lack commits of the timeline before. On Citus, in a statement that reads the
 * organization's tables, the server is the node that has them. Fails on a standby.
 */
export const timelineSql = 'public.record_timeline()';

/** An epoch of an earlier timeline. `until`: the last generation of it that the next timeline has. */
export type FormerEpoch = { readonly epoch: string; readonly until: string };

/** Identifies the data of a generation: the same epoch and generation never name two different states. */
export type Lineage = {
  readonly epoch: string | null;
  readonly timeline: string | null;
  readonly formerEpochs: readonly FormerEpoch[];
};

/** Older change tokens have usually expired with their tombstones. */
const maxFormerEpochs = 100;

/** A table that is created, swapped or restored has no earlier state in common with another one. */
export const newLineage = (timeline: string): Lineage => ({
  epoch: createEpoch(),
  timeline,
  formerEpochs: [],
});

/**
 * The lineage with which the generation after `generation` is published on the timeline `here`. On another
 * timeline than the last one it has a new epoch, because a lost publish may have used the same generation;
 * the former epoch stays valid up to `generation`.
 */
export function lineageOn(
  here: string,
  { epoch, timeline, formerEpochs }: Lineage,
  generation: string,
): Lineage {
  if (timeline === null || timeline === here || epoch === null)
    return { epoch, timeline: here, formerEpochs };
  const former = [...formerEpochs, { epoch, until: generation }].slice(-maxFormerEpochs);
  return { epoch: createEpoch(), timeline: here, formerEpochs: former };
}

/**
 * Gives each active table a new epoch and clears the time of its last scan. Returns the number of record
 * types. The caller provides the transaction.
 */
export async function replaceEpochs(client: Pick<PoolClient, 'query'>, schema: string): Promise<number> {
  const { rows } = await client.query<{ record_type: string; here: string }>(
    `select record_type, ${timelineSql} as here from ${schema}.record_state order by record_type for update`,
  );
  // Created here rather than by an SQL function: Citus does not accept volatile functions in an UPDATE.
  for (const { record_type: recordType, here } of rows)
    await client.query(
      `update ${schema}.record_state set epoch = case when epoch is not null then $2 end, timeline = $3, former_epochs = '[]',
         reconciled_at = null, scanned_on = null where record_type = $1`,
      [recordType, createEpoch(), here],
    );
  return rows.length;
}

/**
 * The number of records of the types whose names begin with `prefix`; empty: of those without one. 0 before the first
 * sync. Rejects with database errors.
 */
export async function countSyncedRecords(ctx: TenantCtx, prefix: string): Promise<number> {
  return orIfNotSetUp(0, async () => {
    const { rows } = await ctx.db.data.query<{ count: string }>(
      `select coalesce(sum(row_count), 0) as count from ${tenantSchema(ctx.organizationId)}.record_state
       where left(record_type, strpos(record_type, ':')) = $1`,
      [prefix],
    );
    return Number(rows[0]?.count ?? 0);
  });
}

/** Columns and state of a record type; undefined when it was never synced. Rejects with database errors. */
export async function findSyncedColumns(
  ctx: TenantCtx,
  recordType: string,
): Promise<{ state: RecordState; columns: RecordColumn[] } | undefined> {
  const schema = tenantSchema(ctx.organizationId);
  return orIfNotSetUp(undefined, async () => {
    const state = await readRecordState(ctx.db.data, schema, recordType);
    return state && { state, columns: await readRecordColumns(ctx.db.data, schema, recordType) };
  });
}

export async function listLoadingFields(ctx: TenantCtx, recordType: string): Promise<ReadonlySet<string>> {
  const synced = await findSyncedColumns(ctx, recordType);
  const isLoading = ({ state }: RecordColumn): boolean => state === 'loading' || state === 'returned';
  return new Set(synced?.columns.filter(isLoading).map(({ field }) => field));
}

export type CountedTable = {
  readonly recordType: string;
  /** The row count in `record_state`. */
  readonly rows: number;
  /** The rows counted in the table; null when the table does not exist. */
  readonly counted: number | null;
};

/**
 * Counts the rows of every active table, in one snapshot with the row counts in `record_state`. Rejects with
 * database errors.
 */
export async function countWarehouseRows(ctx: TenantCtx): Promise<CountedTable[]> {
  const schema = tenantSchema(ctx.organizationId);
  const count = () =>
    inDataTransaction(ctx.db.data, async (client) => {
      await client.query('set transaction isolation level repeatable read, read only');
      const { rows } = await client.query<{
        record_type: string;
        row_count: string;
        active_table: string;
        present: boolean;
      }>(
        `select record_type, row_count, active_table, to_regclass(format('%I.%I', $1::text, active_table)) is not null as present
         from ${schema}.record_state where active_table is not null order by record_type`,
        [schema],
      );
      const tables: CountedTable[] = [];
      for (const { record_type: recordType, row_count: recorded, active_table: table, present } of rows) {
        const counted = present
          ? await client.query<{ count: string }>(`select count(*) from ${schema}.${quoteIdentifier(table)}`)
          : undefined;
        tables.push({
          recordType,
          rows: Number(recorded),
          counted: counted === undefined ? null : Number(counted.rows[0]?.count),
        });
      }
      return tables;
    });
  return orIfNotSetUp([], count);
}

/** By scope column, and for `id`: its changes after this generation are in scope_changes. */
export type ScopeColumns = Readonly<Record<string, string>>;

/** A row of `record_state`, locked. */
export type LockedState = {
  generation: string;
  row_count: string;
  active_table: string | null;
  id_type: 'integer' | 'text';
  shown_columns: ShownColumns | null;
  scope_columns: ScopeColumns;
  epoch: string | null;
  timeline: string | null;
  former_epochs: readonly FormerEpoch[];
  /** The timeline of the server that has the records, and the time there at which this transaction began. */
  here: string;
  now: string;
};

/** Undefined when the record type has no state. */
export async function lockState(
  client: PoolClient,
  schema: string,
  recordType: string,
): Promise<LockedState | undefined> {
  const { rows } = await client.query<LockedState>(
    `select generation, row_count, active_table, id_type, shown_columns, scope_columns, epoch, timeline, former_epochs, ${timelineSql} as here, now()::text as now
     from ${schema}.record_state where record_type = $1 for update`,
    [recordType],
  );
  return rows[0];
}
