// Statements over `rejections`: records that were read and could not be stored.
import type { TenantCtx } from '../core/ctx.ts';
import { asId, type LocalView, queryIds, tableNames } from './local-view.ts';
import { orIfNotSetUp, rfc3339Sql } from './record-state.ts';
import type { RunState } from './run-state-row.ts';
import { tenantSchema, updateTenantSchema } from './tenant-schema.ts';

/**
 * Ids of records that could not be stored when they were last read, and that this run has not read yet.
 * Leaves out those that aren't ids.
 */
export async function listUnreadRejectedIds(local: LocalView, state: RunState, limit: number) {
  const { schema } = local.prepared;
  const { staging } = tableNames(local, state);
  return queryIds(
    local,
    `select r.id from ${schema}.rejections r where r.record_type = $1 and r.run_id <> $2 and ${asId('r.id', state)} is not null
     and ($3::text is null or r.id > $3) and not exists (select from ${staging} s where s.run_id = $2 and s.id = ${asId('r.id', state)})
     order by r.id limit $4`,
    [state.recordType, state.runId, state.checkpoint, limit],
  );
}

/** The given ids that this run rejected. */
export async function filterRejectedInRun(local: LocalView, state: RunState, ids: readonly string[]) {
  const found = await queryIds(
    local,
    `select id from ${local.prepared.schema}.rejections where record_type = $1 and run_id = $2 and id = any($3::text[])`,
    [state.recordType, state.runId, ids],
  );
  return new Set(found);
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

/** All rejected records of the type, whatever the run, longest first. Rejects with database errors. */
export async function listTypeRejections(
  ctx: TenantCtx,
  recordType: string,
  page: { page: number; pageSize: number },
): Promise<{ rows: RejectionRow[]; total: number }> {
  await updateTenantSchema(ctx, ctx.organizationId);
  return orIfNotSetUp({ rows: [], total: 0 }, async () => {
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
  });
}

/** Rejected records by record type; types without any are absent. Rejects with database errors. */
export async function countRejections(ctx: TenantCtx): Promise<ReadonlyMap<string, number>> {
  return orIfNotSetUp(new Map(), async () => {
    const { rows } = await ctx.db.data.query<{ record_type: string; rejected: number }>(
      `select record_type, count(*)::int as rejected from ${tenantSchema(ctx.organizationId)}.rejections group by record_type`,
    );
    return new Map(rows.map(({ record_type: recordType, rejected }) => [recordType, rejected]));
  });
}

/** Whether records are rejected because a value doesn't fit its field. Rejects with database errors. */
export async function hasUnreadableValues(ctx: TenantCtx, recordType: string): Promise<boolean> {
  return orIfNotSetUp(false, async () => {
    const { rows } = await ctx.db.data.query(
      `select from ${tenantSchema(ctx.organizationId)}.rejections where record_type = $1 and code in ('VALUE_UNREADABLE', 'LINE_UNREADABLE') limit 1`,
      [recordType],
    );
    return rows.length > 0;
  });
}

/** The given ids whose records are rejected. Rejects with database errors. */
export async function filterRejectedIds(
  ctx: TenantCtx,
  recordType: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  return orIfNotSetUp(new Set(), async () => {
    const { rows } = await ctx.db.data.query<{ id: string }>(
      `select id from ${tenantSchema(ctx.organizationId)}.rejections where record_type = $1 and id = any($2::text[])`,
      [recordType, ids],
    );
    return new Set(rows.map(({ id }) => id));
  });
}
