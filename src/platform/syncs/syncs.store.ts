// Rows of sync configurations; lists of runs and events. The sync engine changes runs, but for cancelling.
import { containsSql } from '../../core/text/folded-text.ts';
import { newestFirst, readPage, type SortRequest, sortList } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import { type RunRow, type RunStatus, runColumns, type SyncConfigRow } from '../../sync/index.ts';

export const configSorts = ['createdAt', 'name', 'recordType', 'attention'] as const;
export const configStatuses = ['active', 'disabled', 'paused'] as const;
type ConfigStatus = (typeof configStatuses)[number];
const statusSql =
  "case when paused_reason is not null then 'paused' when enabled then 'active' else 'disabled' end";
/** As `findLastRuns` finds it. */
const lastRunStatusSql =
  '(select status from sync_runs where sync_config_id = sync_configs.id order by queued_at desc, id desc limit 1)';
/** What needs a person first, then what runs, then the rest; those of one kind by name. */
const attentionSql = `case when ${statusSql} = 'disabled' then '5' when paused_reason is not null then '0' else
  case ${lastRunStatusSql} when 'failed' then '1' when 'partial' then '2' when 'cancelled' then '4' when 'succeeded' then '4'
    else '3' end end || lower(name)`;
const configSorting = {
  columns: {
    createdAt: 'created_at',
    name: 'lower(name)',
    recordType: 'record_type',
    attention: attentionSql,
  },
  newest: 'createdAt',
  id: 'id',
} as const;

export type ConfigFilter = SortRequest<(typeof configSorts)[number]> & {
  readonly q?: string | undefined;
  readonly recordType?: string | undefined;
  readonly status?: ConfigStatus | undefined;
  readonly lastRunStatus?: RunStatus | undefined;
};

export const runSorts = ['queuedAt', 'recordType'] as const;
const runSorting = {
  columns: { queuedAt: 'queued_at', recordType: 'record_type' },
  newest: 'queuedAt',
  id: 'id',
} as const;
export type RunFilter = SortRequest<(typeof runSorts)[number]> & {
  readonly status?: RunStatus | undefined;
  readonly syncConfigId?: string | undefined;
  readonly recordType?: string | undefined;
  readonly after?: Date | undefined;
  readonly before?: Date | undefined;
};
export type EventRow = {
  at: Date;
  level: 'info' | 'warning' | 'error';
  message: string;
  data: Record<string, unknown>;
};

export function listConfigs(tx: Tx, organizationId: string, page: PageQuery, filter: ConfigFilter) {
  const { q, recordType, status, lastRunStatus } = filter;
  const query = sortList(
    tx('sync_configs').where('organization_id', organizationId).select('*'),
    filter,
    configSorting,
  );
  if (recordType !== undefined) query.where('record_type', recordType);
  if (q !== undefined) query.whereRaw(containsSql('name'), [q]);
  if (status !== undefined) query.whereRaw(`${statusSql} = ?`, [status]);
  if (lastRunStatus !== undefined) query.whereRaw(`${lastRunStatusSql} = ?`, [lastRunStatus]);
  return readPage<SyncConfigRow>(query, page);
}

export function listRuns(tx: Tx, organizationId: string, page: PageQuery, filter: RunFilter) {
  const rows = tx('sync_runs')
    .where('organization_id', organizationId)
    .select(...runColumns);
  const query = sortList(rows, filter, runSorting);
  if (filter.status !== undefined) query.where('status', filter.status);
  if (filter.syncConfigId !== undefined) query.where('sync_config_id', filter.syncConfigId);
  if (filter.recordType !== undefined) query.where('record_type', filter.recordType);
  if (filter.after !== undefined) query.where('queued_at', '>', filter.after);
  if (filter.before !== undefined) query.where('queued_at', '<', filter.before);
  return readPage<RunRow>(query, page);
}

/** The newest run of each configuration. */
export async function findLastRuns(tx: Tx, organizationId: string, configIds: readonly string[]) {
  const rows = await tx('sync_runs')
    .where('organization_id', organizationId)
    .whereIn('sync_config_id', configIds)
    .distinctOn('sync_config_id')
    .orderBy([
      { column: 'sync_config_id' },
      { column: 'queued_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .select<RunRow[]>(...runColumns);
  return new Map(rows.map((row) => [row.sync_config_id, row]));
}

export const listEvents = (tx: Tx, organizationId: string, runId: string, page: PageQuery) =>
  readPage<EventRow>(
    tx('sync_run_events')
      .where({ organization_id: organizationId, run_id: runId })
      .orderBy('id')
      .select('at', 'level', 'message', 'data'),
    page,
  );

export type DriftRow = {
  id: string;
  kind: 'added' | 'vanished' | 'retyped';
  field: string;
  from_type: string | null;
  to_type: string | null;
  run_id: string;
  at: Date;
};
/** Newest first. */
export const listDrift = (tx: Tx, organizationId: string, recordType: string, page: PageQuery) =>
  readPage<DriftRow>(
    tx('drift_events')
      .where({ organization_id: organizationId, record_type: recordType })
      .orderBy(newestFirst('at', 'id'))
      .select('id', 'kind', 'field', 'from_type', 'to_type', 'run_id', 'at'),
    page,
  );

export type NumberedEvent = EventRow & { id: string };
/** Log events of a run after the given event id, oldest first. */
export const listEventsAfter = (
  tx: Tx,
  organizationId: string,
  runId: string,
  after: string,
  limit: number,
): Promise<NumberedEvent[]> =>
  tx('sync_run_events')
    .where({ organization_id: organizationId, run_id: runId })
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .select<NumberedEvent[]>('id', 'at', 'level', 'message', 'data');

type Written = Pick<
  SyncConfigRow,
  | 'name'
  | 'mode'
  | 'schedule'
  | 'timezone'
  | 'enabled'
  | 'fields'
  | 'deletions'
  | 'alert_recipients'
  | 'freshness_target'
> & {
  /** JSON. */
  filter: string | null;
  max_delete_share: number;
};
export const filterValue = (filter: SyncConfigRow['filter']): string | null =>
  filter === null ? null : JSON.stringify(filter);
export const insertConfig = (
  tx: Tx,
  organizationId: string,
  row: Written & { id: string; record_type: string },
) => tx('sync_configs').insert({ ...row, organization_id: organizationId });
export const updateConfig = (tx: Tx, organizationId: string, id: string, row: Partial<Written>) =>
  tx('sync_configs')
    .where({ organization_id: organizationId, id })
    .update({ ...row, paused_reason: null, updated_at: tx.fn.now() });
export const deleteConfig = (tx: Tx, organizationId: string, id: string) =>
  tx('sync_configs').where({ organization_id: organizationId, id }).delete();

export const requestCancel = (tx: Tx, organizationId: string, runId: string) =>
  tx('sync_runs')
    .where({ organization_id: organizationId, id: runId })
    .where('status', 'running')
    .update({ cancel_requested: true });
/** Makes a queued run full; undefined when it has started. */
export const upgradeToFull = async (tx: Tx, organizationId: string, runId: string) => {
  const [row] = await tx('sync_runs')
    .where({ organization_id: organizationId, id: runId, status: 'queued' })
    .update({ mode: 'full' })
    .returning<RunRow[]>([...runColumns]);
  return row;
};
export const cancelIdleRun = (tx: Tx, organizationId: string, runId: string) =>
  tx('sync_runs')
    .where({ organization_id: organizationId, id: runId })
    .whereIn('status', ['queued', 'waiting'])
    .update({ status: 'cancelled', cancel_requested: true, finished_at: tx.raw('clock_timestamp()') });
