// Mails to the members for whom transferred keys act: when a secret gets an end, and when it has ended. The
// look-up of a key decides whether its secret has ended; this only reports it. Any number of processes may
// run it: the mark on the key, the audit row and the mails are one transaction, so each end is reported once.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { type Recurring, startRecurring } from '../../core/work/recurring.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { systemAuthor, writeAudit } from '../../identity/audit.store.ts';
import type { MailContent } from '../../mail/index.ts';
import { enqueueAlertMails } from '../../sync/index.ts';
import { listKeyRows, takeEndedSecrets } from './api-keys.store.ts';
import { type EndingSecret, secretsEndedMail, secretsWillEndMail } from './transfer-mails.ts';

const reportEveryMs = 60_000;

type Addressed = { readonly to: string; readonly secret: EndingSecret };
type Layout = (
  secrets: readonly EndingSecret[],
  about: { organization: string; publicUrl: string },
) => MailContent;

/** Queues one mail for each addressee. */
async function enqueueMails(
  tx: Tx,
  ctx: TenantCtx,
  kind: string,
  addressed: readonly Addressed[],
  layout: Layout,
): Promise<void> {
  if (addressed.length === 0) return;
  const organization = await tx('organizations')
    .where('id', ctx.organizationId)
    .first<{ name: string }>('name');
  const about = { organization: organization.name, publicUrl: ctx.settings.publicUrl };
  for (const [to, found] of Map.groupBy(addressed, ({ to }) => to)) {
    const secrets = found.map(({ secret }) => secret);
    await enqueueAlertMails(tx, ctx, kind, [to], layout(secrets, about));
  }
}

/**
 * Call after the keys of a former member were transferred. Keys that someone else had rotated before are
 * reported to that member. Secrets that have already ended are left to the report of their end.
 */
export async function reportTransfer(
  tx: Tx,
  ctx: TenantCtx,
  { from, keyIds }: { from: string; keyIds: readonly string[] },
): Promise<void> {
  const addressed = (await listKeyRows(tx, ctx.organizationId, keyIds)).flatMap((key): Addressed[] => {
    const endsAt = key.secret_ends_at ?? key.former_secret_until;
    if (endsAt === null || endsAt <= ctx.clock.now()) return [];
    const prefix = key.secret_ends_at === null ? null : key.prefix;
    return [{ to: key.user_email, secret: { name: key.name, prefix, from, endsAt } }];
  });
  await enqueueMails(tx, ctx, 'api-key-transfer', addressed, secretsWillEndMail);
}

const reportOrganization = (ctx: TenantCtx): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const ended = await takeEndedSecrets(tx, ctx.organizationId);
    for (const { id, prefix, secret_ends_at: at } of ended) {
      const changes = { prefix, secretEndsAt: instant(at) };
      await writeAudit(tx, systemAuthor(ctx.organizationId), 'api-key.secret-end', ['api-key', id], changes);
    }
    const addressed = ended
      // The whole key has expired: nothing is left to rotate.
      .filter(({ has_expired: hasExpired }) => !hasExpired)
      .map((key) => ({
        to: key.user_email,
        secret: {
          name: key.name,
          prefix: key.prefix,
          from: key.transferred_from,
          endsAt: key.secret_ends_at,
        },
      }));
    await enqueueMails(tx, ctx, 'api-key-secret-end', addressed, secretsEndedMail);
  });

async function reportAll(ctx: Ctx, signal: AbortSignal): Promise<void> {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string }[] }>(
    'select organization_id from organizations_with_ended_secret()',
  );
  for (const { organization_id: organizationId } of rows) {
    if (signal.aborted) return;
    try {
      await reportOrganization({ ...ctx, organizationId });
    } catch (error) {
      // A failure in one organization must not prevent the reports of the others.
      ctx.log.error({ err: error, organizationId }, 'the end of API key secrets could not be reported');
    }
  }
}

/** `tick` reports now. */
export function startSecretEndReports(ctx: Ctx, { everyMs = reportEveryMs } = {}): Recurring {
  return startRecurring(
    everyMs,
    (stopping) => reportAll(ctx, stopping),
    (error) => ctx.log.warn({ err: error }, 'ended API key secrets could not be checked'),
  );
}
