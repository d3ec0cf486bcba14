// Mails visitors the receipt of what they paid, in their language. One job for each payment that succeeded.
import type { ReadingCtx, TenantCtx } from '../../core/ctx.ts';
import { type JobWorker, startJobWorker } from '../../db/job-worker.ts';
import { finishJob, type Job, lockJob } from '../../db/jobs.ts';
import { inTransaction } from '../../db/transaction.ts';
import { enqueueMail, layoutMail } from '../../mail/index.ts';
import { getPaidVisit, readShownBranding } from '../../platform/index.ts';
import { isLanguage } from '../frame.ts';
import { createRendererLoader, type LoadRenderer } from '../renderer.ts';

const defaults = { pollMs: 5_000, leaseMs: 60_000 };
const concurrency = 2;

async function composeReceipt(ctx: TenantCtx, paymentId: string, loadRenderer: LoadRenderer) {
  const found = await getPaidVisit(ctx, paymentId);
  if (found === undefined) return undefined;
  const { payment, visitor, url, organizationName } = found;
  const branding = await readShownBranding(ctx);
  const { receiptTexts } = await loadRenderer();
  const language = isLanguage(visitor.language) ? visitor.language : 'en';
  const money = (amount: string) => ({ amount, currency: payment.currency });
  const company = branding.name ?? organizationName;
  const { subject, title, paragraphs, headings, rows, action, openAddress, notes } = receiptTexts(language, {
    ...{ company, method: payment.method, paidAt: payment.succeededAt ?? payment.createdAt },
    payment: {
      amount: money(payment.amount),
      invoices: payment.invoices.map(({ number, amount }) => ({ number, href: null, amount: money(amount) })),
    },
  });
  const content = layoutMail({
    language: { code: language, openAddress },
    accent: branding.accent ?? undefined,
    ...{ title, paragraphs, notes },
    table: {
      columns: [
        { label: headings[0], numeric: false },
        { label: headings[1], numeric: true },
      ],
      rows,
    },
    ...(url !== null && { action: { label: action, url } }),
  });
  const to = { address: visitor.address };
  return { kind: 'receipt', to, fromName: branding.senderName ?? company, subject, ...content };
}

async function sendReceipt(ctx: TenantCtx, job: Job, loadRenderer: LoadRenderer): Promise<void> {
  const mail = await composeReceipt(ctx, job.key, loadRenderer);
  await inTransaction(ctx, async (tx) => {
    if (!(await lockJob(tx, job))) return;
    if (mail !== undefined) await enqueueMail(tx, ctx, mail);
    await finishJob(tx, job);
  });
}

/** Any number of processes may do so: the mail is queued in the transaction that ends its job. */
export const startReceipts = (ctx: ReadingCtx, options: Partial<typeof defaults> = {}): JobWorker => {
  const loadRenderer = createRendererLoader();
  return startJobWorker(ctx, {
    ...defaults,
    ...options,
    kind: 'receipts',
    concurrency,
    work: (job) => sendReceipt({ ...ctx, organizationId: job.organizationId }, job, loadRenderer),
  });
};
