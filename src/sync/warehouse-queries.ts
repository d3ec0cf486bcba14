// What other features ask about the synced records, without knowing where they lie.
import type { TenantCtx } from '../core/ctx.ts';
import { inDataTransaction } from '../db/transaction.ts';
import { type RecordColumn, readColumns } from '../warehouse/columns.ts';
import { isNotSetUp, type RecordState, readState, rfc3339 } from '../warehouse/generation.ts';
import { quoted } from '../warehouse/table.ts';
import { createTenantSchema, dropTenantSchema, tenantSchema, updateTenantSchema } from '../warehouse/tenant-schema.ts';

export async function syncedRecords(ctx: TenantCtx): Promise<number> {
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

/** The columns and the state of one record type; undefined when it was never set up for syncing. */
export async function describeSynced(
  ctx: TenantCtx,
  recordType: string,
): Promise<{ state: RecordState; columns: RecordColumn[] } | undefined> {
  const schema = tenantSchema(ctx.organizationId);
  try {
    const state = await readState(ctx.db.data, schema, recordType);
    return state === undefined ? undefined : { state, columns: await readColumns(ctx.db.data, schema, recordType) };
  } catch (error) {
    if (isNotSetUp(error)) return undefined;
    throw error;
  }
}

export async function loadingFields(ctx: TenantCtx, recordType: string): Promise<ReadonlySet<string>> {
  const synced = await describeSynced(ctx, recordType);
  return new Set(synced?.columns.filter(({ state }) => state === 'loading').map(({ field }) => field));
}

export type CountedTable = {
  readonly recordType: string;
  /** As its state says, and as they are there; null where the table itself is not. */
  readonly rows: number;
  readonly counted: number | null;
};

/** Counts every table that readers see, each in one snapshot with what is noted of it. */
export async function countWarehouse(ctx: TenantCtx): Promise<CountedTable[]> {
  const schema = tenantSchema(ctx.organizationId);
  try {
    return await inDataTransaction(ctx.db.data, async (client) => {
      await client.query('set transaction isolation level repeatable read, read only');
      const { rows } = await client.query<{ record_type: string; row_count: string; active_table: string; there: boolean }>(
        `select record_type, row_count, active_table, to_regclass(format('%I.%I', $1::text, active_table)) is not null as there
         from ${schema}.record_state where active_table is not null order by record_type`,
        [schema],
      );
      const tables: CountedTable[] = [];
      for (const { record_type: recordType, row_count: noted, active_table: table, there } of rows) {
        const counted = there ? await client.query<{ count: string }>(`select count(*) from ${schema}.${quoted(table)}`) : undefined;
        tables.push({ recordType, rows: Number(noted), counted: counted === undefined ? null : Number(counted.rows[0]?.count) });
      }
      return tables;
    });
  } catch (error) {
    if (isNotSetUp(error)) return [];
    throw error;
  }
}

/** Deletes every synced record and leaves an empty room. */
export async function purgeWarehouse(ctx: TenantCtx): Promise<void> {
  await dropTenantSchema(ctx, ctx.organizationId);
  await createTenantSchema(ctx, ctx.organizationId);
}

export type OpenRejection = { readonly id: string; readonly code: string; readonly message: string; readonly firstSeenAt: string };

/** What this run left rejected and no later run has solved. */
export async function openRejections(
  ctx: TenantCtx,
  recordType: string,
  runId: string,
  page: { page: number; pageSize: number },
): Promise<{ rows: OpenRejection[]; total: number }> {
  const from = `from ${tenantSchema(ctx.organizationId)}.rejections where record_type = $1 and run_id = $2`;
  const counted = await ctx.db.data.query<{ total: string }>(`select count(*) as total ${from}`, [recordType, runId]);
  const { rows } = await ctx.db.data.query<OpenRejection>(
    `select id, code, message, ${rfc3339('first_seen_at')} as "firstSeenAt" ${from} order by id limit $3 offset $4`,
    [recordType, runId, page.pageSize, (page.page - 1) * page.pageSize],
  );
  return { rows, total: Number(counted.rows[0]?.total ?? 0) };
}

export type RejectedRecord = OpenRejection & {
  readonly lastSeenAt: string;
  /** How often it was read and could not be stored. */
  readonly attempts: number;
  /** The run that met it last; null where an older version of this service met it. */
  readonly runId: string | null;
};

/** Every record of the type that is not stored as the ERP has it now, whichever run met it. The longest rejected come first. */
export async function rejectedRecords(
  ctx: TenantCtx,
  recordType: string,
  page: { page: number; pageSize: number },
): Promise<{ rows: RejectedRecord[]; total: number }> {
  await updateTenantSchema(ctx, ctx.organizationId);
  try {
    const from = `from ${tenantSchema(ctx.organizationId)}.rejections where record_type = $1`;
    const counted = await ctx.db.data.query<{ total: string }>(`select count(*) as total ${from}`, [recordType]);
    const { rows } = await ctx.db.data.query<RejectedRecord>(
      `select id, code, message, ${rfc3339('first_seen_at')} as "firstSeenAt", ${rfc3339('last_seen_at')} as "lastSeenAt", attempts,
         last_run_id as "runId" ${from} order by first_seen_at, id limit $2 offset $3`,
      [recordType, page.pageSize, (page.page - 1) * page.pageSize],
    );
    return { rows, total: Number(counted.rows[0]?.total ?? 0) };
  } catch (error) {
    if (isNotSetUp(error)) return { rows: [], total: 0 };
    throw error;
  }
}

/** Those of these records that are rejected. */
export async function stillRejected(ctx: TenantCtx, recordType: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
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

export type HeldDeletions = { readonly proposalId: string; readonly count: number; readonly createdAt: string };

/** Deletions that wait for a person's word, by record type. */
export async function heldDeletions(ctx: TenantCtx): Promise<ReadonlyMap<string, HeldDeletions>> {
  try {
    const { rows } = await ctx.db.data.query<HeldDeletions & { recordType: string }>(
      `select record_type as "recordType", id as "proposalId", cardinality(ids) as count, ${rfc3339('created_at')} as "createdAt"
       from ${tenantSchema(ctx.organizationId)}.deletion_proposals where status = 'open'`,
    );
    return new Map(rows.map(({ recordType, ...held }) => [recordType, held]));
  } catch (error) {
    if (isNotSetUp(error)) return new Map();
    throw error;
  }
}

export type ProposalStatus = 'open' | 'kept' | 'superseded' | 'approved' | 'applied';
export type Proposal = { readonly status: ProposalStatus; readonly count: number };

export async function findProposal(ctx: TenantCtx, recordType: string, id: string): Promise<Proposal | undefined> {
  try {
    const { rows } = await ctx.db.data.query<Proposal>(
      `select status, cardinality(ids) as count from ${tenantSchema(ctx.organizationId)}.deletion_proposals where record_type = $1 and id = $2`,
      [recordType, id],
    );
    return rows[0];
  } catch (error) {
    if (isNotSetUp(error)) return undefined;
    throw error;
  }
}

/** False when it is no longer open. One that is approved already stays so, for whoever has to repeat the request. */
export async function approveProposal(ctx: TenantCtx, recordType: string, id: string): Promise<boolean> {
  const { rowCount } = await ctx.db.data.query(
    `update ${tenantSchema(ctx.organizationId)}.deletion_proposals set status = 'approved' where record_type = $1 and id = $2
     and status in ('open', 'approved')`,
    [recordType, id],
  );
  return rowCount === 1;
}
