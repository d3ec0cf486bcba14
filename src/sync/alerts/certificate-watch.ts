// Warns in time that the certificate which signs in to the ERP is about to expire: once per threshold and
// certificate. Any number of processes may run this check; the row that records a threshold and the mails
// about it are written in one transaction.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { type Recurring, startRecurring } from '../../core/work/recurring.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { announce, lockListeners } from '../../webhooks/index.ts';
import { certificateMail } from './alert-mail.ts';
import { enqueueAlertMails, listAlertRecipients } from './health.ts';

/** Days before expiry, earliest first. */
const thresholdDays = [60, 30, 14] as const;
const certificateExpiring = 'connection.certificate_expiring';
const checkEveryMs = 3_600_000;

type Certificate = {
  connection: string;
  is_first: boolean;
  fingerprint: string;
  not_after: Date;
  days_left: number;
};

/** Of all connections. */
async function listSigningCertificates(tx: Tx, organizationId: string): Promise<Certificate[]> {
  const { rows } = await tx.raw<{ rows: Certificate[] }>(
    `select c.connection, e.is_first, encode(sha256(convert_to(c.certificate_pem, 'UTF8')), 'hex') as fingerprint, c.not_after,
       (extract(epoch from c.not_after - clock_timestamp()) / 86400)::float8 as days_left
     from erp_certificates c join erp_connections e on e.organization_id = c.organization_id and e.name = c.connection
     where c.organization_id = ? and c.active and e.settings #>> '{authentication,method}' = 'oauth2' order by e.name`,
    [organizationId],
  );
  return rows;
}

/** Sends one warning, for the nearest threshold reached, and records earlier ones that were missed. */
const warnOf = (ctx: TenantCtx, certificate: Certificate): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const recipients = await listAlertRecipients(tx, ctx.organizationId);
    const listeners = await lockListeners(tx, ctx.organizationId, certificateExpiring);
    // Without anyone to tell, the threshold stays open: who is added later still gets the warning.
    if (recipients.length + listeners.length === 0) return;
    const {
      connection,
      is_first: isFirst,
      fingerprint,
      not_after: notAfter,
      days_left: daysLeft,
    } = certificate;
    const reached = thresholdDays.filter((days) => daysLeft <= days);
    const own = { organization_id: ctx.organizationId, fingerprint };
    if (reached.length === 0) return;
    const added = await tx('certificate_alerts')
      .insert(reached.map((days) => ({ ...own, days })))
      .onConflict(['organization_id', 'fingerprint', 'days'])
      .ignore()
      .returning<{ days: number }[]>('days');
    if (!added.some(({ days }) => days === reached.at(-1))) return;
    await announce(tx, ctx.organizationId, certificateExpiring, {
      connection,
      notAfter: notAfter.toISOString(),
      daysLeft: Math.floor(daysLeft),
    });
    const organization = await tx('organizations')
      .where('id', ctx.organizationId)
      .first<{ name: string }>('name');
    const content = certificateMail(
      isFirst ? organization.name : `${organization.name} (${connection})`,
      notAfter,
      daysLeft,
      ctx.settings.publicUrl,
    );
    await enqueueAlertMails(tx, ctx, 'certificate-alert', recipients, content);
  });

async function warnOrganization(ctx: TenantCtx): Promise<void> {
  const certificates = await inTransaction(ctx, (tx) => listSigningCertificates(tx, ctx.organizationId));
  for (const certificate of certificates) await warnOf(ctx, certificate);
}

async function warnAllOrganizations(ctx: Ctx, signal: AbortSignal): Promise<void> {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string }[] }>(
    'select organization_id from organizations_with_expiring_certificate(make_interval(days => ?))',
    [thresholdDays[0]],
  );
  for (const { organization_id: organizationId } of rows) {
    if (signal.aborted) return;
    try {
      await warnOrganization({ ...ctx, organizationId });
    } catch (error) {
      // A failure in one organization must not keep the others from being warned.
      ctx.log.error(
        { err: error, organizationId },
        'could not send the warning about an expiring ERP certificate',
      );
    }
  }
}

/** `tick` checks every certificate now. */
export function startCertificateWatch(ctx: Ctx): Recurring {
  const watch = startRecurring(
    checkEveryMs,
    (stopping) => warnAllOrganizations(ctx, stopping),
    (error) => ctx.log.warn({ err: error }, 'could not check ERP certificates for expiry'),
  );
  void watch.tick();
  return watch;
}
