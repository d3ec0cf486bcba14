// Queries over synced records for other features, which need not know the schema that holds them.
import type { TenantCtx } from '../../core/ctx.ts';
import { inDataTransaction } from '../../db/transaction.ts';
import { type RecordColumn, readRecordColumns } from '../../warehouse/columns.ts';
import { isNotSetUp, type RecordState, readRecordState, rfc3339Sql } from '../../warehouse/record-state.ts';
import { quoteIdentifier } from '../../warehouse/table.ts';
import {
  createTenantSchema,
  dropTenantSchema,
  tenantSchema,
  updateTenantSchema,
} from '../../warehouse/tenant-schema.ts';

/** The number of records of the organization; 0 before the first sync. Rejects with database errors. */
export async function countSyncedRecords(ctx: TenantCtx): Promise<number> {
  try {
    const { rows } = await ctx.db.data.query<{ count: string }>(
      `select coalesce(sum(row_count), 0) as count from ${tenantSchema(ctx.organizationId)}.record_state`,
    );
    return Number(rows[0]?.count ?? 0);
  } catch (error) {
    if (isNotSetUp(error)) return 0;
    throw error;
  }
}

/**
 * The columns and the state of one record type; undefined when it was never synced. Rejects with database
 * errors.
 */
export async function findSyncedColumns(
  ctx: TenantCtx,
  recordType: string,
): Promise<{ state: RecordState; columns: RecordColumn[] } | undefined> {
  const schema = tenantSchema(ctx.organizationId);
  try {
    const state = await readRecordState(ctx.db.data, schema, recordType);
    return state === undefined
      ? undefined
      : { state, columns: await readRecordColumns(ctx.db.data, schema, recordType) };
  } catch (error) {
    if (isNotSetUp(error)) return undefined;
    throw error;
  }
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
  try {
    return await inDataTransaction(ctx.db.data, async (client) => {
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
  } catch (error) {
    if (isNotSetUp(error)) return [];
    throw error;
  }
}

/**
 * Deletes every synced record and leaves an empty schema. Throws `OrganizationGone` when the organization is
 * being deleted.
 */
export async function purgeWarehouse(ctx: TenantCtx): Promise<void> {
  await dropTenantSchema(ctx, ctx.organizationId);
  await createTenantSchema(ctx, ctx.organizationId);
}

export type RunRejection = {
  readonly id: string;
  readonly code: string;
  readonly message: string;
  readonly firstSeenAt: string;
};

/** Records whose latest rejection was in this run. */
export async function listRunRejections(
  ctx: TenantCtx,
  recordType: string,
  runId: string,
  page: { page: number; pageSize: number },
): Promise<{ rows: RunRejection[]; total: number }> {
  const from = `from ${tenantSchema(ctx.organizationId)}.rejections where record_type = $1 and run_id = $2`;
  const counted = await ctx.db.data.query<{ total: string }>(`select count(*) as total ${from}`, [
    recordType,
    runId,
  ]);
  const { rows } = await ctx.db.data.query<RunRejection>(
    `select id, code, message, ${rfc3339Sql('first_seen_at')} as "firstSeenAt" ${from} order by id limit $3 offset $4`,
    [recordType, runId, page.pageSize, (page.page - 1) * page.pageSize],
  );
  return { rows, total: Number(counted.rows[0]?.total ?? 0) };
}

export type RejectionRow = RunRejection & {
  readonly lastSeenAt: string;
  /** How often it was read and could not be stored. */
  readonly attempts: number;
  /** The last run that rejected it; null when an older version of this service did. */
  readonly runId: string | null;
};

/**
 * Every rejected record of the type, whichever run rejected it, the longest rejected first. Rejects with
 * database errors.
 */
export async function listTypeRejections(
  ctx: TenantCtx,
  recordType: string,
  page: { page: number; pageSize: number },
): Promise<{ rows: RejectionRow[]; total: number }> {
  await updateTenantSchema(ctx, ctx.organizationId);
  try {
    const from = `from ${tenantSchema(ctx.organizationId)}.rejections where record_type = $1`;
    const counted = await ctx.db.data.query<{ total: string }>(`select count(*) as total ${from}`, [
      recordType,
    ]);
    const { rows } = await ctx.db.data.query<RejectionRow>(
      `select id, code, message, ${rfc3339Sql('first_seen_at')} as "firstSeenAt", ${rfc3339Sql('last_seen_at')} as "lastSeenAt", attempts,
         last_run_id as "runId" ${from} order by first_seen_at, id limit $2 offset $3`,
      [recordType, page.pageSize, (page.page - 1) * page.pageSize],
    );
    return { rows, total: Number(counted.rows[0]?.total ?? 0) };
  } catch (error) {
    if (isNotSetUp(error)) return { rows: [], total: 0 };
    throw error;
  }
}

/**
 * The number of rejected records by record type; types without any are absent. Rejects with database errors.
 */
export async function countRejections(ctx: TenantCtx): Promise<ReadonlyMap<string, number>> {
  try {
    const { rows } = await ctx.db.data.query<{ record_type: string; rejected: number }>(
      `select record_type, count(*)::int as rejected from ${tenantSchema(ctx.organizationId)}.rejections group by record_type`,
    );
    return new Map(rows.map(({ record_type: recordType, rejected }) => [recordType, rejected]));
  } catch (error) {
    if (isNotSetUp(error)) return new Map();
    throw error;
  }
}

/**
 * Whether records are rejected because a value doesn't fit the type of its field. Rejects with database
 * errors.
 */
export async function hasUnreadableValues(ctx: TenantCtx, recordType: string): Promise<boolean> {
  try {
    const { rows } = await ctx.db.data.query(
      `select from ${tenantSchema(ctx.organizationId)}.rejections where record_type = $1 and code in ('VALUE_UNREADABLE', 'LINE_UNREADABLE') limit 1`,
      [recordType],
    );
    return rows.length > 0;
  } catch (error) {
    if (isNotSetUp(error)) return false;
    throw error;
  }
}

/** The given ids whose records are rejected. Rejects with database errors. */
export async function filterRejectedIds(
  ctx: TenantCtx,
  recordType: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  try {
    const { rows } = await ctx.db.data.query<{ id: string }>(
      `select id from ${tenantSchema(ctx.organizationId)}.rejections where record_type = $1 and id = any($2::text[])`,
      [recordType, ids],
    );
    return new Set(rows.map(({ id }) => id));
  } catch (error) {
    if (isNotSetUp(error)) return new Set();
    throw error;
  }
}
