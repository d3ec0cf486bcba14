// Sync configurations: one per type, valid schedules, no removal of fields that a published version uses.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  type FieldGaps,
  findNextSlot,
  findSyncConfig,
  type HeldDeletions,
  listHeldDeletions,
  type RunRow,
  readFieldGaps,
  readStoredRecords,
  recordFreshness,
  type StoredRecords,
  type SyncConfigRow,
} from '../../sync/index.ts';
import { listVersionSources } from '../api-schemas/api-schemas.store.ts';
import { listPortalUses } from '../portal/portal-uses.ts';
import { assertQuota } from '../quotas.ts';
import { getterOf } from '../rows.ts';
import { findViewUses } from '../views/view-uses.ts';
import { assertFilter, assertSchedule, assertSyncableFields, getSyncableType } from './config-checks.ts';
import { runView } from './run-view.ts';
import type { NewSyncConfig, SyncConfigPatch } from './syncs.schemas.ts';
import * as store from './syncs.store.ts';

type Warehouse = {
  readonly held: ReadonlyMap<string, HeldDeletions>;
  readonly gaps: ReadonlyMap<string, FieldGaps>;
  readonly getStoredRecords: (recordType: string) => StoredRecords;
};
const readWarehouse = async (ctx: RequestCtx): Promise<Warehouse> => ({
  held: await listHeldDeletions(ctx),
  gaps: await readFieldGaps(ctx),
  getStoredRecords: await readStoredRecords(ctx),
});

/** Sorted by field. */
const gapsView = ({ stale, accepted }: FieldGaps = { stale: {}, accepted: {} }) => ({
  staleFields: Object.entries(stale)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([field, { since, reason, message }]) => ({ field, since, reason, message })),
  acceptedFields: Object.entries(accepted)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([field, { at, reason }]) => ({ field, at, reason })),
});

/** Pure. */
function describeFreshness(
  { freshness_target: target, created_at }: SyncConfigRow,
  syncedAt: string | null,
  now: Date,
) {
  if (target === null) return null;
  const readMs = syncedAt === null ? null : Date.parse(syncedAt);
  const dueMs = (readMs ?? created_at.getTime()) + target * 60_000;
  const isStale = dueMs < now.getTime();
  return {
    isStale,
    staleSince: isStale ? instant(new Date(dueMs)) : null,
    ageSeconds: readMs === null ? null : Math.max(0, Math.floor((now.getTime() - readMs) / 1000)),
  };
}

function configView(
  ctx: RequestCtx,
  row: SyncConfigRow,
  lastRun: RunRow | undefined,
  { held, gaps, getStoredRecords }: Warehouse,
) {
  const stored = getStoredRecords(row.record_type);
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
    filter: row.filter === null ? null : { subsidiaries: [...row.filter.subsidiaries] },
    deletions: row.deletions,
    maxDeleteShare: Number(row.max_delete_share),
    alertRecipients: row.alert_recipients,
    freshnessTarget: row.freshness_target,
    freshness: describeFreshness(row, stored.syncedAt, ctx.clock.now()),
    status:
      row.paused_reason !== null
        ? ('paused' as const)
        : row.enabled
          ? ('active' as const)
          : ('disabled' as const),
    pausedReason: row.paused_reason,
    lastRun: lastRun === undefined ? null : runView(ctx, lastRun),
    heldDeletions: held.get(row.record_type) ?? null,
    ...gapsView(gaps.get(row.record_type)),
    ...stored,
    nextRunAt: idle ? null : instantOrNull(findNextSlot(row.schedule ?? '', row.timezone, ctx.clock.now())),
    createdAt: instant(row.created_at),
    updatedAt: instant(row.updated_at),
  };
}

/** Throws 404 for an unknown sync. */
export const getConfigRow = getterOf(findSyncConfig, 'Sync configuration');
const readConfigView = async (tx: Tx, ctx: RequestCtx, row: SyncConfigRow) =>
  configView(
    ctx,
    row,
    (await store.findLastRuns(tx, ctx.organizationId, [row.id])).get(row.id),
    await readWarehouse(ctx),
  );

const inUse = (message: string) => ({ path: '', code: 'in_use', message });

/**
 * Throws 422 when a published version, the portal or a view uses a source that would be removed. Private views of other
 * people do not count: the caller can neither see nor change them, and such a view reports missing fields to
 * its owner.
 */
async function assertUnused(tx: Tx, ctx: RequestCtx, recordType: string, kept: readonly string[] | 'none') {
  const formatRemoved = (sources: readonly string[]): string =>
    sources.filter((source) => kept === 'none' || !kept.includes(toField(source))).join(', ');
  const versions = (await listVersionSources(tx, ctx.organizationId, recordType)).map(
    ({ version, sources }) => [version, formatRemoved(sources)],
  );
  const uses = await listPortalUses(tx, ctx.organizationId, recordType);
  const ofPortal = new Set(uses.flatMap(({ fields }) => fields.map(({ source }) => source)));
  const portal = formatRemoved([...ofPortal]) || (kept === 'none' && uses.length > 0 ? 'it' : '');
  const views = (await findViewUses(tx, ctx, recordType))
    .filter(({ view, isPrivate }) => view !== null || !isPrivate)
    .map(({ view, sources }) => ({ view, going: formatRemoved(sources) }))
    .filter(({ going }) => going !== '');
  const hidden = views.filter(({ view }) => view === null).length;
  const details = [
    ...versions
      .filter(([, going]) => going !== '')
      .map(([version, going]) => inUse(`${version} uses ${going}`)),
    ...(portal === '' ? [] : [inUse(`The portal uses ${portal}`)]),
    ...views.flatMap(({ view, going }) =>
      view === null ? [] : [inUse(`The view "${view.name}" uses ${going}`)],
    ),
    ...(hidden === 0
      ? []
      : [
          inUse(
            `${hidden} ${hidden === 1 ? 'view that you may not see uses' : 'views that you may not see use'} it`,
          ),
        ]),
  ];
  if (details.length > 0) throw invalid('Published versions, the portal or views use these fields', details);
}

const toField = (source: string): string => source.replace(/\.name$/, '');

export const listSyncConfigs = (ctx: RequestCtx, page: PageQuery, filter: store.ConfigFilter) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listConfigs(tx, ctx.organizationId, page, filter);
    const runs = await store.findLastRuns(
      tx,
      ctx.organizationId,
      rows.map(({ id }) => id),
    );
    const warehouse = await readWarehouse(ctx);
    return toPage(
      rows.map((row) => configView(ctx, row, runs.get(row.id), warehouse)),
      total,
      page,
    );
  });

/** Throws 404 for an unknown sync. */
export const getSyncConfig = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => readConfigView(tx, ctx, await getConfigRow(tx, ctx, id)));

const rethrowAsTaken = (error: unknown): never => {
  if (!violatesConstraint(error, 'one_config_per_record_type')) throw error;
  throw invalid('This record type already has a sync', [
    { path: 'recordType', code: 'taken', message: 'Only one configuration per record type is allowed' },
  ]);
};

/**
 * Inserts a checked configuration with its audit entry, and returns its id. Throws 422 `limit_reached`, and
 * 422 `taken` for a record type that has a sync.
 */
export async function insertSyncConfig(ctx: RequestCtx, input: NewSyncConfig): Promise<string> {
  const id = createId();
  await inTransaction(ctx, async (tx) => {
    await assertQuota(tx, ctx, 'syncs');
    await store.insertConfig(tx, ctx.organizationId, {
      id,
      record_type: input.recordType,
      name: input.name,
      mode: input.mode,
      schedule: input.schedule,
      timezone: input.timezone,
      enabled: input.enabled,
      fields: input.fields === '*' ? null : input.fields,
      filter: store.filterValue(input.filter),
      deletions: input.deletions,
      max_delete_share: input.maxDeleteShare,
      alert_recipients: input.alertRecipients,
      freshness_target: input.freshnessTarget,
    });
    await writeAudit(tx, ctx, 'sync-config.create', ['sync-config', id], input);
  }).catch(rethrowAsTaken);
  return id;
}

/**
 * Throws 422 for an invalid schedule, an unknown record type or field, a filter that the type can't have, a
 * record type that already has a sync, or at the quota.
 */
export async function createSyncConfig(ctx: RequestCtx, input: NewSyncConfig) {
  assertSchedule(input.schedule, input.timezone);
  const recordType = await getSyncableType(ctx, input.recordType);
  assertSyncableFields(recordType, input.fields);
  assertFilter(recordType, input.filter);
  return getSyncConfig(ctx, await insertSyncConfig(ctx, input));
}

/** Throws 404, 422 for an invalid schedule, an unknown field, an unfit filter, or a removed field in use. */
export async function updateSyncConfig(ctx: RequestCtx, id: string, change: SyncConfigPatch) {
  const before = await inTransaction(ctx, (tx) => getConfigRow(tx, ctx, id));
  assertSchedule(
    change.schedule === undefined ? before.schedule : change.schedule,
    change.timezone ?? before.timezone,
  );
  if (change.fields !== undefined || (change.filter ?? null) !== null) {
    const recordType = await getSyncableType(ctx, before.record_type);
    assertSyncableFields(recordType, change.fields ?? '*');
    assertFilter(recordType, change.filter ?? null);
  }
  return inTransaction(ctx, async (tx) => {
    const { fields } = change;
    if (fields !== undefined && fields !== '*') await assertUnused(tx, ctx, before.record_type, fields);
    const { alertRecipients, freshnessTarget, maxDeleteShare, fields: _, filter, ...same } = change;
    const present = Object.fromEntries(Object.entries(same).filter(([, value]) => value !== undefined));
    await store.updateConfig(tx, ctx.organizationId, id, {
      ...present,
      ...(fields !== undefined && { fields: fields === '*' ? null : fields }),
      ...(filter !== undefined && { filter: store.filterValue(filter) }),
      ...(alertRecipients !== undefined && { alert_recipients: alertRecipients }),
      ...(maxDeleteShare !== undefined && { max_delete_share: maxDeleteShare }),
      ...(freshnessTarget !== undefined && { freshness_target: freshnessTarget }),
    });
    if (freshnessTarget !== undefined) await recordFreshness(tx, ctx, id);
    await writeAudit(tx, ctx, 'sync-config.update', ['sync-config', id], change);
    return readConfigView(tx, ctx, await getConfigRow(tx, ctx, id));
  });
}

/** Synced records stay available but are no longer updated. Throws 404, 422 `in_use`. */
export const deleteSyncConfig = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = await getConfigRow(tx, ctx, id);
    await assertUnused(tx, ctx, row.record_type, 'none');
    await store.deleteConfig(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, 'sync-config.delete', ['sync-config', id], {
      name: row.name,
      recordType: row.record_type,
    });
  });
