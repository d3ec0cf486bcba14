// The rolling full read of a record type: a pass over all of its records, page by page within incremental
// runs. What a run read counts only once it is published, so its slice is written with the publication.
import type { PoolClient } from 'pg';
import { rfc3339Sql } from './record-state.ts';
import type { RunState } from './run-state-row.ts';
import { Parameter, sql, tableOf } from './sql.ts';

export type RollingRead = {
  /** The ERP's clock at the start of the pass, RFC 3339 UTC; null between two passes. */
  readonly passStartedAt: string | null;
  /** The id up to which the pass has read; null at its start. */
  readonly cursorId: string | null;
  readonly records: number;
  readonly pages: number;
  /** Every record was read in full at or after this instant of the ERP's clock; null while unknown. */
  readonly completeSince: string | null;
  /** The ERP's clock at the start of the last run that read a part of the pass; null between two passes. */
  readonly lastReadAt: string | null;
};

const never: RollingRead = {
  passStartedAt: null,
  cursorId: null,
  records: 0,
  pages: 0,
  completeSince: null,
  lastReadAt: null,
};
type Row = Omit<RollingRead, 'records'> & { recordType: string; records: string };

/** By record type. Rejects with 3F000 or 42P01 when the tenant's schema is missing or not moved over yet. */
export async function readRollingReads(
  client: Pick<PoolClient, 'query'>,
  schema: string,
): Promise<Map<string, RollingRead>> {
  const { rows } = await client.query<Row>(
    `select record_type as "recordType", ${rfc3339Sql('pass_started_at')} as "passStartedAt", cursor_id as "cursorId", records, pages,
       ${rfc3339Sql('complete_since')} as "completeSince", ${rfc3339Sql('last_read_at')} as "lastReadAt" from ${schema}.rolling_reads`,
  );
  return new Map(
    rows.map(({ recordType, ...row }) => [recordType, { ...row, records: Number(row.records) }]),
  );
}

/** Rejects as `readRollingReads`. */
export const readRollingRead = async (
  client: Pick<PoolClient, 'query'>,
  schema: string,
  recordType: string,
): Promise<RollingRead> => (await readRollingReads(client, schema)).get(recordType) ?? never;

/** Moves times after the ERP's clock, which was set back, to it: a pass would otherwise begin too late. */
export async function limitRollingReadToErpClock(
  client: Pick<PoolClient, 'query'>,
  schema: string,
  recordType: string,
  erpNow: string,
): Promise<void> {
  await client.query(
    `update ${schema}.rolling_reads set complete_since = least(complete_since, $2::timestamptz),
       pass_started_at = case when pass_started_at is not null then least(pass_started_at, $2::timestamptz) end,
       last_read_at = case when last_read_at is not null then least(last_read_at, $2::timestamptz) end
     where record_type = $1 and greatest(complete_since, pass_started_at, last_read_at) > $2::timestamptz`,
    [recordType, erpNow],
  );
}

/** Part of publishing: a full run, which read everything, ends the pass; others move its cursor. */
export async function writeRollingRead(client: Pick<PoolClient, 'query'>, schema: string, state: RunState) {
  const { mode, rolling } = state.plan;
  if (mode === 'full') return completePass(client, schema, state.recordType, state.counters.erpStartedAt);
  if (rolling === null || rolling.pages === 0) return;
  if (rolling.ended) return completePass(client, schema, state.recordType, rolling.startedAt);
  const isFirst = new Parameter(rolling.from === null);
  await client.query(
    sql`insert into ${tableOf(schema, 'rolling_reads')} as held (record_type, pass_started_at, cursor_id, records, pages, last_read_at)
     values (${state.recordType}, ${rolling.startedAt}, ${rolling.to}, ${rolling.records}, ${rolling.pages}, ${state.counters.erpStartedAt})
     on conflict (record_type) do update set pass_started_at = excluded.pass_started_at, cursor_id = excluded.cursor_id,
       last_read_at = excluded.last_read_at,
       records = excluded.records + case when ${isFirst} then 0 else held.records end,
       pages = excluded.pages + case when ${isFirst} then 0 else held.pages end`,
  );
}

async function completePass(
  client: Pick<PoolClient, 'query'>,
  schema: string,
  recordType: string,
  since: string,
): Promise<void> {
  await client.query(
    `insert into ${schema}.rolling_reads (record_type, complete_since) values ($1, $2)
     on conflict (record_type) do update set complete_since = excluded.complete_since, pass_started_at = null, cursor_id = null, records = 0,
       pages = 0, last_read_at = null`,
    [recordType, since],
  );
}
