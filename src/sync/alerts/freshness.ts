// Whether the data of a sync are older than its freshness target. What its recipients know is in the row of
// the sync's health, and changes in the transaction that queues the mails: each change is reported once,
// however many processes look.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { orIfNotSetUp, readRecordState } from '../../warehouse/record-state.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import { announce } from '../../webhooks/index.ts';
import { findSyncConfig, type SyncConfigRow } from '../queue/runs.store.ts';
import { freshnessMail } from './alert-mail.ts';
import { enqueueAlertMails } from './health.ts';

type FreshnessChange = {
  readonly isStale: boolean;
  /** When the data were read; null before the first run that published. */
  readonly syncedAt: string | null;
  /** When they became older; null when they have just done so. */
  readonly staleSince: Date | null;
};

/** Reports that the data became older than the target, or no longer are, in the transaction that stores it. */
async function announceFreshness(
  tx: Tx,
  ctx: TenantCtx,
  config: SyncConfigRow,
  change: FreshnessChange,
): Promise<void> {
  const { isStale, syncedAt, staleSince } = change;
  const about = { syncConfigId: config.id, name: config.name, recordType: config.record_type };
  const data = isStale
    ? { ...about, syncedAt, targetMinutes: config.freshness_target }
    : { ...about, runId: null, problem: null, since: staleSince?.toISOString() };
  await announce(tx, ctx.organizationId, isStale ? 'sync.stale' : 'sync.recovered', data);
  const content = freshnessMail(config, change, ctx.settings.publicUrl);
  await enqueueAlertMails(tx, ctx, 'sync-alert', config.alert_recipients, content);
}

async function isOlder(tx: Tx, at: string | Date, minutes: number): Promise<boolean> {
  const { rows } = await tx.raw<{ rows: { late: boolean }[] }>(
    'select ?::timestamptz + make_interval(mins => ?) < clock_timestamp() as late',
    [at, minutes],
  );
  return rows[0]?.late === true;
}

/**
 * Compares the age of the data with the target, and stores and reports a change. A sync that has never
 * published counts from its creation. Call it after whatever may have changed either. Rejects with database
 * errors.
 */
export async function recordFreshness(tx: Tx, ctx: TenantCtx, configId: string): Promise<void> {
  const config = await findSyncConfig(tx, ctx.organizationId, configId);
  if (config === undefined) return;
  const own = { organization_id: ctx.organizationId, sync_config_id: configId };
  await tx('sync_alerts').insert(own).onConflict('sync_config_id').ignore();
  const before = await tx('sync_alerts')
    .where(own)
    .forUpdate()
    .first<{ stale_since: Date | null } | undefined>('stale_since');
  const { freshness_target: target, record_type } = config;
  const staleSince = before?.stale_since ?? null;
  const wasStale = staleSince !== null;
  if (target === null && !wasStale) return;
  // Under the lock: a run that publishes meanwhile compares again after this transaction.
  const state = await orIfNotSetUp(undefined, () =>
    readRecordState(ctx.db.data, tenantSchema(ctx.organizationId), record_type),
  );
  const syncedAt = state?.syncedAt ?? null;
  const isStale = target !== null && (await isOlder(tx, syncedAt ?? config.created_at, target));
  if (isStale === wasStale) return;
  await tx('sync_alerts')
    .where(own)
    .update({ stale_since: isStale ? tx.raw('clock_timestamp()') : null });
  await announceFreshness(tx, ctx, config, { isStale, syncedAt, staleSince });
}

/** Reports the syncs whose data have become older than their target. Rejects when the database is unavailable. */
export async function reportStaleSyncs(ctx: Ctx): Promise<void> {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string; id: string }[] }>(
    'select organization_id, id from newly_stale_syncs()',
  );
  for (const { organization_id: organizationId, id } of rows) {
    const tenant: TenantCtx = { ...ctx, organizationId };
    try {
      await inTransaction(tenant, (tx) => recordFreshness(tx, tenant, id));
    } catch (error) {
      // A failure in one organization must not keep the others from being reported.
      ctx.log.error({ err: error, syncConfigId: id }, 'could not report that the data of a sync are stale');
    }
  }
}
