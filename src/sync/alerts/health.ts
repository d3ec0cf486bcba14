// Alerts about the health of syncs. The health is a row of its own, updated in the transaction that ends the
// run and queues the mails: each change is reported once, however many processes work and wherever one dies.
// The only writer of sync_alerts.
import type { TenantCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import type { Tx } from '../../db/transaction.ts';
import { enqueueMail, layoutMail, type MailContent } from '../../mail/index.ts';
import { announce } from '../../webhooks/index.ts';
import { findSyncConfig } from '../queue/runs.store.ts';
import { type Health, type HealthChange, healthMail } from './alert-mail.ts';

/**
 * Queues the mail for each address once. An invalid address is logged and skipped: it must not keep the run
 * from ending. Rejects with database errors.
 */
export async function enqueueAlertMails(
  tx: Tx,
  ctx: TenantCtx,
  kind: string,
  recipients: readonly string[],
  content: MailContent,
): Promise<void> {
  for (const address of new Set(recipients)) {
    try {
      await enqueueMail(tx, ctx, { kind, to: { address }, subject: content.title, ...layoutMail(content) });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      ctx.log.warn({ err: error }, 'could not queue an alert mail: the address is invalid');
    }
  }
}

/** The alert recipients of all syncs of the organization, each once, sorted. */
export async function listAlertRecipients(tx: Tx, organizationId: string): Promise<string[]> {
  const rows = await tx('sync_configs')
    .where('organization_id', organizationId)
    .select<{ alert_recipients: string[] }[]>('alert_recipients');
  return [...new Set(rows.flatMap(({ alert_recipients }) => alert_recipients))].sort();
}

type AlertRow = { state: Health; unwell_since: Date | null };

/** Undefined when the health did not change; otherwise since when the sync is, or had been, unhealthy. */
async function updateAlertState(tx: Tx, ctx: TenantCtx, configId: string, { health, runId }: HealthChange) {
  const own = { organization_id: ctx.organizationId, sync_config_id: configId };
  await tx('sync_alerts').insert(own).onConflict('sync_config_id').ignore();
  const before = await tx('sync_alerts')
    .where(own)
    .forUpdate()
    .first<AlertRow | undefined>('state', 'unwell_since');
  if (before === undefined || before.state === health) return undefined;
  const [after] = await tx('sync_alerts')
    .where(own)
    .update({
      state: health,
      since: tx.raw('clock_timestamp()'),
      unwell_since: health === 'green' ? null : tx.raw('coalesce(unwell_since, clock_timestamp())'),
      run_id: runId,
    })
    .returning<AlertRow[]>(['state', 'unwell_since']);
  return before.unwell_since ?? after?.unwell_since ?? undefined;
}

const eventOf = (health: Health, problem: HealthChange['problem']) => {
  if (health === 'green') return 'sync.recovered';
  const isPartial = health !== 'failing' || problem?.code === 'RECORDS_REJECTED';
  return isPartial && health !== 'paused' ? 'sync.partial' : 'sync.failed';
};

/** Records the health of a sync; when it changed, mails its recipients and announces it. */
export async function recordSyncHealth(tx: Tx, ctx: TenantCtx, configId: string, change: HealthChange) {
  const config = await findSyncConfig(tx, ctx.organizationId, configId);
  if (config === undefined) return;
  const since = await updateAlertState(tx, ctx, configId, change);
  if (since === undefined) return;
  const subject = { id: config.id, name: config.name, recordType: config.record_type };
  const { health, problem, runId } = change;
  await announce(tx, ctx.organizationId, eventOf(health, problem), {
    ...{ syncConfigId: config.id, name: config.name, recordType: config.record_type, runId },
    problem: problem && { code: problem.code, message: problem.message },
    since: since.toISOString(),
  });
  await enqueueAlertMails(
    tx,
    ctx,
    'sync-alert',
    config.alert_recipients,
    healthMail(subject, change, since, ctx.settings.publicUrl),
  );
}
