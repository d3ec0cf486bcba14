// Who was told what about a sync. Its state is a row of its own, moved in the transaction that settles the run and queues the
// mails: each change is told once, however many processes work and wherever one dies. The only writer of sync_alerts.
import type { TenantCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { Tx } from '../db/transaction.ts';
import { enqueueMail, layoutMail, type MailContent } from '../mail/index.ts';
import { type Health, type HealthNews, healthMail } from './alert-mail.ts';
import { findConfig } from './runs.store.ts';

/** An address that no server would take is passed over: it must not keep the run from ending. */
export async function mailEach(tx: Tx, ctx: TenantCtx, kind: string, recipients: readonly string[], content: MailContent): Promise<void> {
  for (const address of new Set(recipients)) {
    try {
      await enqueueMail(tx, ctx, { kind, to: { address }, subject: content.title, ...layoutMail(content) });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      ctx.log.warn({ err: error }, 'an alert could not be addressed');
    }
  }
}

/** Everyone who is told of any sync of the organization. */
export async function allRecipients(tx: Tx, organizationId: string): Promise<string[]> {
  const rows = await tx('sync_configs')
    .where('organization_id', organizationId)
    .select<{ alert_recipients: string[] }[]>('alert_recipients');
  return [...new Set(rows.flatMap(({ alert_recipients }) => alert_recipients))].sort();
}

type AlertRow = { state: Health; unwell_since: Date | null };

/** Undefined when nothing changed; else since when the sync is, or had been, not well. */
async function moveTo(tx: Tx, ctx: TenantCtx, configId: string, { health, runId }: HealthNews): Promise<Date | undefined> {
  const own = { organization_id: ctx.organizationId, sync_config_id: configId };
  await tx('sync_alerts').insert(own).onConflict('sync_config_id').ignore();
  const before = await tx('sync_alerts').where(own).forUpdate().first<AlertRow | undefined>('state', 'unwell_since');
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

/** Notes how a sync is; tells its recipients where that is a change. */
export async function noteHealth(tx: Tx, ctx: TenantCtx, configId: string, news: HealthNews): Promise<void> {
  const config = await findConfig(tx, ctx.organizationId, configId);
  if (config === undefined) return;
  const since = await moveTo(tx, ctx, configId, news);
  if (since === undefined) return;
  const about = { id: config.id, name: config.name, recordType: config.record_type };
  await mailEach(tx, ctx, 'sync-alert', config.alert_recipients, healthMail(about, news, since, ctx.settings.publicUrl));
}
