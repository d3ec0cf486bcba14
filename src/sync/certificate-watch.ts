// Tells in time that the certificate which signs in to the ERP will end: once for each threshold of each certificate. Any number of
// processes may look; the row that remembers a threshold and the mails about it are one transaction.
import type { Ctx, TenantCtx } from '../core/ctx.ts';
import { type Recurring, recurring } from '../core/recurring.ts';
import { inTransaction, type Tx } from '../db/transaction.ts';
import { certificateMail } from './alert-mail.ts';
import { allRecipients, mailEach } from './health.ts';

/** Days before the end, earliest first. */
const thresholds = [60, 30, 14] as const;
const everyMs = 3_600_000;

type Certificate = { fingerprint: string; not_after: Date; days_left: number };

async function signingCertificate(tx: Tx, organizationId: string): Promise<Certificate | undefined> {
  const { rows } = await tx.raw<{ rows: Certificate[] }>(
    `select encode(sha256(convert_to(c.certificate_pem, 'UTF8')), 'hex') as fingerprint, c.not_after,
       (extract(epoch from c.not_after - clock_timestamp()) / 86400)::float8 as days_left
     from erp_certificates c join erp_connections e on e.organization_id = c.organization_id
     where c.organization_id = ? and c.active and e.settings #>> '{authentication,method}' = 'oauth2'`,
    [organizationId],
  );
  return rows[0];
}

/** The nearest threshold is told; those before it, which nobody was there to tell, are passed with it. */
const warn = (ctx: TenantCtx): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const certificate = await signingCertificate(tx, ctx.organizationId);
    const recipients = await allRecipients(tx, ctx.organizationId);
    // With nobody to tell the threshold stays open for whoever comes onto a list.
    if (certificate === undefined || recipients.length === 0) return;
    const { fingerprint, not_after: notAfter, days_left: daysLeft } = certificate;
    const reached = thresholds.filter((days) => daysLeft <= days);
    const own = { organization_id: ctx.organizationId, fingerprint };
    if (reached.length === 0) return;
    const added = await tx('certificate_alerts')
      .insert(reached.map((days) => ({ ...own, days })))
      .onConflict(['organization_id', 'fingerprint', 'days'])
      .ignore()
      .returning<{ days: number }[]>('days');
    if (!added.some(({ days }) => days === reached.at(-1))) return;
    const organization = await tx('organizations').where('id', ctx.organizationId).first<{ name: string }>('name');
    const content = certificateMail(organization.name, notAfter, daysLeft, ctx.settings.publicUrl);
    await mailEach(tx, ctx, 'certificate-alert', recipients, content);
  });

async function warnAll(ctx: Ctx, signal: AbortSignal): Promise<void> {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string }[] }>(
    'select organization_id from organizations_with_expiring_certificate(make_interval(days => ?))',
    [thresholds[0]],
  );
  for (const { organization_id: organizationId } of rows) {
    if (signal.aborted) return;
    try {
      await warn({ ...ctx, organizationId });
    } catch (error) {
      // One organization's trouble must not keep the others from being told.
      ctx.log.error({ err: error, organizationId }, 'a certificate that ends could not be told of');
    }
  }
}

/** `tick` looks at every certificate now. */
export function startCertificateWatch(ctx: Ctx): Recurring {
  const watch = recurring(
    everyMs,
    (stopping) => warnAll(ctx, stopping),
    (error) => ctx.log.warn({ err: error }, 'certificates could not be looked at'),
  );
  void watch.tick();
  return watch;
}
