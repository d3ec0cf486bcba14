// Rules of syncs: one configuration per record type, schedules that can come due, nothing dropped that a published version
// uses, and one open run per configuration.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { violates } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  type ConfigRow,
  findConfig,
  findOpenRun,
  findRun,
  type HeldDeletions,
  heldDeletions,
  insertRun,
  insertRunEvent,
  nextSlot,
  type RunRow,
  readMetadata,
  scheduleProblem,
} from '../../sync/index.ts';
import { usersOfRecordType } from '../api-schemas/api-schemas.store.ts';
import { makeRoom } from '../room.ts';
import { usesByViews } from '../views/uses.ts';
import type { NewSyncConfig, SyncConfigChange } from './syncs.schemas.ts';
import * as store from './syncs.store.ts';

export const runView = (row: RunRow) => ({
  id: row.id,
  syncConfigId: row.sync_config_id,
  recordType: row.record_type,
  mode: row.mode,
  status: row.status,
  trigger: row.trigger,
  attempt: row.attempt,
  scheduledFor: instantOrNull(row.scheduled_for),
  queuedAt: instant(row.queued_at),
  startedAt: instantOrNull(row.started_at),
  finishedAt: instantOrNull(row.finished_at),
  progress: row.progress,
  counts: row.counts,
  generation: row.generation,
  error: row.error,
  retryOf: row.retry_of,
});

function configView(ctx: RequestCtx, row: ConfigRow, lastRun: RunRow | undefined, held: ReadonlyMap<string, HeldDeletions>) {
  const idle = !row.enabled || row.schedule === null || row.paused_reason !== null;
  return {
    id: row.id,
    name: row.name,
    recordType: row.record_type,
    mode: row.mode,
    schedule: row.schedule,
    timezone: row.timezone,
    enabled: row.enabled,
    fields: row.fields ?? ('*' as const),
    deletions: row.deletions,
    maxDeleteShare: Number(row.max_delete_share),
    alertRecipients: row.alert_recipients,
    status: row.paused_reason !== null ? ('paused' as const) : row.enabled ? ('active' as const) : ('disabled' as const),
    pausedReason: row.paused_reason,
    lastRun: lastRun === undefined ? null : runView(lastRun),
    heldDeletions: held.get(row.record_type) ?? null,
    nextRunAt: idle ? null : instantOrNull(nextSlot(row.schedule ?? '', row.timezone, ctx.clock.now())),
    createdAt: instant(row.created_at),
    updatedAt: instant(row.updated_at),
  };
}

export async function getConfigRow(tx: Tx, ctx: RequestCtx, id: string): Promise<ConfigRow> {
  const row = await findConfig(tx, ctx.organizationId, id);
  if (row === undefined) throw notFound('Sync configuration');
  return row;
}
const viewOf = async (tx: Tx, ctx: RequestCtx, row: ConfigRow) =>
  configView(ctx, row, (await store.lastRuns(tx, ctx.organizationId, [row.id])).get(row.id), await heldDeletions(ctx));

export async function getRunRow(tx: Tx, ctx: RequestCtx, id: string): Promise<RunRow> {
  const row = await findRun(tx, ctx.organizationId, id);
  if (row === undefined) throw notFound('Sync run');
  return row;
}

function checkSchedule(schedule: string | null, timezone: string): void {
  const problem = scheduleProblem(schedule ?? '0 0 * * *', timezone);
  if (problem !== null)
    throw invalid('The schedule is not valid', [{ path: problem.path, code: 'invalid_schedule', message: problem.message }]);
}

async function checkFields(ctx: RequestCtx, recordType: string, fields: '*' | readonly string[]): Promise<void> {
  const metadata = await readMetadata(ctx);
  if (metadata === undefined)
    throw invalid("The ERP's record types are not known yet", [
      { path: 'recordType', code: 'no_metadata', message: 'Refresh the metadata first: POST /netsuite/metadata/refresh' },
    ]);
  const found = metadata.recordTypes.find(({ name }) => name === recordType);
  if (found === undefined || !found.fields.some(({ syncable }) => syncable)) {
    const known = metadata.recordTypes.filter((type) => type.fields.some(({ syncable }) => syncable)).map(({ name }) => name);
    throw invalid('The ERP has no such record type to sync', [
      { path: 'recordType', code: 'unknown_record_type', message: `Known record types: ${known.join(', ')}` },
    ]);
  }
  if (fields === '*') return;
  const syncable = new Map(found.fields.map((field) => [field.name, field]));
  const details = fields.flatMap((name, index) => {
    const field = syncable.get(name);
    if (field?.syncable === true) return [];
    return [
      {
        path: `fields[${index}]`,
        code: 'unsyncable_field',
        message:
          field === undefined ? `${recordType} has no field ${name}` : `${name} can't be synced: ${field.reason ?? 'no reason given'}`,
      },
    ];
  });
  if (details.length > 0) throw invalid("Some fields can't be synced", details);
}

const inUse = (message: string) => ({ path: '', code: 'in_use', message });

/**
 * Somebody else's private view stands in nobody's way: the caller could neither see nor change it, and it tells its owner itself
 * what is missing.
 */
async function checkUnused(tx: Tx, ctx: RequestCtx, recordType: string, stays: (source: string) => boolean): Promise<void> {
  const goingOf = (sources: readonly string[]): string => sources.filter((source) => !stays(source)).join(', ');
  const versions = (await usersOfRecordType(tx, ctx.organizationId, recordType)).map(({ version, sources }) => [version, goingOf(sources)]);
  const views = (await usesByViews(tx, ctx, recordType))
    .filter(({ view, isPrivate }) => view !== null || !isPrivate)
    .map(({ view, sources }) => ({ view, going: goingOf(sources) }))
    .filter(({ going }) => going !== '');
  const hidden = views.filter(({ view }) => view === null).length;
  const details = [
    ...versions.filter(([, going]) => going !== '').map(([version, going]) => inUse(`${version} uses ${going}`)),
    ...views.flatMap(({ view, going }) => (view === null ? [] : [inUse(`The view "${view.name}" uses ${going}`)])),
    ...(hidden === 0 ? [] : [inUse(`Views that you may not see use it: ${hidden}`)]),
  ];
  if (details.length > 0) throw invalid('Published versions or views use it', details);
}

const fieldOf = (source: string): string => source.replace(/\.name$/, '');

export const listSyncConfigs = (ctx: RequestCtx, page: PageQuery, q: string | undefined) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listConfigs(tx, ctx.organizationId, page, q);
    const runs = await store.lastRuns(
      tx,
      ctx.organizationId,
      rows.map(({ id }) => id),
    );
    const held = await heldDeletions(ctx);
    return toPage(
      rows.map((row) => configView(ctx, row, runs.get(row.id), held)),
      total,
      page,
    );
  });

export const getSyncConfig = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => viewOf(tx, ctx, await getConfigRow(tx, ctx, id)));

const taken = (error: unknown): never => {
  if (!violates(error, 'one_config_per_record_type')) throw error;
  throw invalid('That record type already has a sync', [
    { path: 'recordType', code: 'taken', message: 'There is one configuration per record type' },
  ]);
};

export async function createSyncConfig(ctx: RequestCtx, input: NewSyncConfig) {
  checkSchedule(input.schedule, input.timezone);
  await checkFields(ctx, input.recordType, input.fields);
  const id = newId();
  return inTransaction(ctx, async (tx) => {
    await makeRoom(tx, ctx, 'syncs');
    await store.insertConfig(tx, ctx.organizationId, {
      id,
      record_type: input.recordType,
      name: input.name,
      mode: input.mode,
      schedule: input.schedule,
      timezone: input.timezone,
      enabled: input.enabled,
      fields: input.fields === '*' ? null : input.fields,
      deletions: input.deletions,
      max_delete_share: input.maxDeleteShare,
      alert_recipients: input.alertRecipients,
    });
    await writeAudit(tx, ctx, { action: 'sync-config.create', target: { type: 'sync-config', id }, changes: input });
    return viewOf(tx, ctx, await getConfigRow(tx, ctx, id));
  }).catch(taken);
}

export async function changeSyncConfig(ctx: RequestCtx, id: string, change: SyncConfigChange) {
  const before = await inTransaction(ctx, (tx) => getConfigRow(tx, ctx, id));
  checkSchedule(change.schedule === undefined ? before.schedule : change.schedule, change.timezone ?? before.timezone);
  if (change.fields !== undefined) await checkFields(ctx, before.record_type, change.fields);
  return inTransaction(ctx, async (tx) => {
    const { fields } = change;
    if (fields !== undefined && fields !== '*')
      await checkUnused(tx, ctx, before.record_type, (source) => fields.includes(fieldOf(source)));
    const { alertRecipients, maxDeleteShare, fields: _, ...same } = change;
    const present = Object.fromEntries(Object.entries(same).filter(([, value]) => value !== undefined));
    await store.updateConfig(tx, ctx.organizationId, id, {
      ...present,
      ...(fields !== undefined && { fields: fields === '*' ? null : fields }),
      ...(alertRecipients !== undefined && { alert_recipients: alertRecipients }),
      ...(maxDeleteShare !== undefined && { max_delete_share: maxDeleteShare }),
    });
    await writeAudit(tx, ctx, { action: 'sync-config.update', target: { type: 'sync-config', id }, changes: change });
    return viewOf(tx, ctx, await getConfigRow(tx, ctx, id));
  });
}

/** The synced records stay served; they are just not read again. */
export const deleteSyncConfig = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = await getConfigRow(tx, ctx, id);
    await checkUnused(tx, ctx, row.record_type, () => false);
    await store.deleteConfig(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, {
      action: 'sync-config.delete',
      target: { type: 'sync-config', id },
      changes: { name: row.name, recordType: row.record_type },
    });
  });

const auditTrigger = (tx: Tx, ctx: RequestCtx, run: RunRow) =>
  writeAudit(tx, ctx, {
    action: 'sync-run.trigger',
    target: { type: 'sync-run', id: run.id },
    changes: { syncConfigId: run.sync_config_id, mode: run.mode },
  });

/**
 * A run that is already open is returned instead. A full run asked for during an incremental one waits behind it; one that only
 * waits is made full.
 */
export const triggerSync = (ctx: RequestCtx, id: string, mode: 'incremental' | 'full' | undefined) =>
  inTransaction(ctx, async (tx) => {
    const config = await getConfigRow(tx, ctx, id);
    const wanted = mode ?? config.mode;
    const open = await findOpenRun(tx, ctx.organizationId, id);
    if (open !== undefined && (open.mode === 'full' || wanted === 'incremental')) return { ...runView(open), coalesced: true };
    const raised = open === undefined ? undefined : await store.makeFull(tx, ctx.organizationId, open.id);
    if (raised !== undefined) {
      await auditTrigger(tx, ctx, raised);
      return { ...runView(raised), coalesced: true };
    }
    const made = await insertRun(tx, ctx.organizationId, {
      sync_config_id: id,
      record_type: config.record_type,
      mode: wanted,
      trigger: 'manual',
    });
    if (made === undefined) {
      const winner = await findOpenRun(tx, ctx.organizationId, id);
      if (winner === undefined) throw new Error('a run was neither made nor found');
      return { ...runView(winner), coalesced: true };
    }
    await auditTrigger(tx, ctx, made);
    return { ...runView(made), coalesced: false };
  });

export const listSyncRuns = (ctx: RequestCtx, page: PageQuery, filter: store.RunFilter) =>
  inTransaction(ctx, async (tx) => {
    if (filter.syncConfigId !== undefined) await getConfigRow(tx, ctx, filter.syncConfigId);
    const { rows, total } = await store.listRuns(tx, ctx.organizationId, page, filter);
    return toPage(rows.map(runView), total, page);
  });

export const getSyncRun = (ctx: RequestCtx, id: string) => inTransaction(ctx, async (tx) => runView(await getRunRow(tx, ctx, id)));

export const getProof = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => ({ checks: (await getRunRow(tx, ctx, id)).proof }));

export const listRunEvents = (ctx: RequestCtx, id: string, page: PageQuery) =>
  inTransaction(ctx, async (tx) => {
    await getRunRow(tx, ctx, id);
    const { rows, total } = await store.listEvents(tx, ctx.organizationId, id, page);
    return toPage(
      rows.map((row) => ({ ...row, at: instant(row.at) })),
      total,
      page,
    );
  });

export const cancelRun = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const run = await getRunRow(tx, ctx, id);
    const ended = await store.cancelIdleRun(tx, ctx.organizationId, id);
    if (ended === 1) await insertRunEvent(tx, ctx.organizationId, id, { level: 'info', message: 'cancelled' });
    else if ((await store.requestCancel(tx, ctx.organizationId, id)) === 0)
      throw run.status === 'publishing'
        ? invalid('The run is being published', [
            { path: '', code: 'publishing', message: 'What is being published can no longer be cancelled' },
          ])
        : invalid('The run has already ended', [{ path: '', code: 'run_ended', message: 'Only an open run can be cancelled' }]);
    await writeAudit(tx, ctx, { action: 'sync-run.cancel', target: { type: 'sync-run', id } });
    return runView(await getRunRow(tx, ctx, id));
  });

export const retryRun = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const run = await getRunRow(tx, ctx, id);
    if (!['failed', 'partial', 'cancelled'].includes(run.status)) {
      throw invalid('Only a run that did not succeed can be retried', [
        { path: '', code: 'not_retryable', message: `The run is ${run.status}` },
      ]);
    }
    const made = await insertRun(tx, ctx.organizationId, {
      sync_config_id: run.sync_config_id,
      record_type: run.record_type,
      mode: run.mode,
      trigger: 'retry',
      retry_of: run.id,
    });
    if (made === undefined)
      throw invalid('A run of that sync is already waiting', [{ path: '', code: 'run_open', message: "See the sync's runs" }]);
    await writeAudit(tx, ctx, { action: 'sync-run.retry', target: { type: 'sync-run', id: made.id }, changes: { retryOf: id } });
    return runView(made);
  });
