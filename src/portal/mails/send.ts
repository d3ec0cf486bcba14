// Sends the mails that visitors ordered. One job for each order looks once an hour what there is to say, under the
// access that the visitor has then; what was said is noted in the transaction that queues the mail.
import { createHash } from 'node:crypto';
import type { ReadingCtx, TenantCtx } from '../../core/ctx.ts';
import { AppError, errorMessage } from '../../core/errors.ts';
import type { MailKind } from '../../core/text/portal-terms.ts';
import { type JobWorker, startJobWorker } from '../../db/job-worker.ts';
import { finishJob, type Job, lockJob, releaseJob, retryJob } from '../../db/jobs.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import {
  countMailsInLastDay,
  enqueueMail,
  layoutMail,
  messageIdFor,
  type NewMail,
} from '../../mail/index.ts';
import { findMailOrder, type MailOrder, noteMailed, readMailed } from '../../platform/index.ts';
import { isLanguage } from '../frame.ts';
import { type Pdf, type Press, writeRecord, writeStatement } from '../papers.ts';
import { readStatementPage } from '../statement/statement-page.ts';
import type { Language, StatementPage } from '../view-model.ts';
import type { Visit } from '../visit.ts';
import { type Document, findDocuments, listOfferedMails, monthBefore } from './documents.ts';
import { mailToken } from './mail-link.ts';
import { openMailVisit } from './mail-visit.ts';

const defaults = { pollMs: 5_000, leaseMs: 120_000 };
const concurrency = 2;
const everyMs = 3_600_000;
/** While something can't be read. */
const retryMs = 600_000;
/** Reminders and statements don't arrive at night in Europe: the hour in UTC. */
const firstHour = 6;

/** Of one mail: what doesn't fit comes with the next one, and as a link. */
const maxDocuments = 100;
const maxAttached = 10;
const maxAttachedBytes = 5_000_000;

const mailsOfVisitors = 'portal-mail';

export type MailRoom = Press & { readonly now: () => Date };

type Planned = { readonly kind: MailKind; readonly keys: readonly string[]; readonly mail: NewMail };
type Writing = {
  readonly room: MailRoom;
  readonly visit: Visit;
  readonly order: MailOrder;
  readonly language: Language;
  readonly stop: AbortSignal;
};

async function attach(
  { stop, visit }: Writing,
  pdfs: AsyncIterable<Pdf | undefined>,
): Promise<NonNullable<NewMail['attachments']>> {
  const attached: { filename: string; contentType: string; content: Buffer }[] = [];
  let bytes = 0;
  for await (const pdf of pdfs) {
    bytes += pdf?.bytes.length ?? 0;
    stop.throwIfAborted();
    if (bytes > Math.min(maxAttachedBytes, visit.ctx.settings.mail.maxAttachmentBytes)) break;
    if (pdf !== undefined)
      attached.push({ filename: pdf.name, contentType: 'application/pdf', content: Buffer.from(pdf.bytes) });
  }
  return attached;
}

async function* writeRecords({ room, visit, language }: Writing, documents: readonly Document[]) {
  for (const { recordType, id } of documents.slice(0, maxAttached))
    yield writeRecord(room, visit, { params: { recordType, id }, query: {} }, language);
}

type About = Pick<
  Parameters<Awaited<ReturnType<Press['loadRenderer']>>['orderedMailTexts']>[1],
  'tables' | 'statement'
>;

async function compose(
  writing: Writing,
  kind: MailKind,
  keys: readonly string[],
  about: About & { readonly path: string; readonly pdfs: AsyncIterable<Pdf | undefined> },
): Promise<Planned> {
  const { room, visit, order, language } = writing;
  const { ctx, site, portal, content, writtenAs } = visit;
  const { branding } = content;
  const { orderedMailTexts } = await room.loadRenderer();
  const [named] = await room.nameCustomers(ctx, portal, [visit.customer]);
  const company = branding.name ?? site.name;
  const customer = named?.name ?? visit.customer;
  const { path, pdfs, ...documents } = about;
  const texts = orderedMailTexts(language, { kind, company, customer, ...documents });
  const base = `${site.origin}${site.base}`;
  const unsubscribeUrl = `${base}/mails/end?token=${mailToken(ctx, order.id, kind)}`;
  const layout = layoutMail({
    language: { code: language, openAddress: texts.openAddress },
    accent: branding.accent ?? undefined,
    ...{ title: texts.title, paragraphs: texts.paragraphs, table: texts.table },
    action: { label: texts.action, url: `${site.origin}${path}` },
    notes: [texts.why],
    smallLink: { label: texts.end, url: unsubscribeUrl },
  });
  const hash = createHash('sha256')
    .update(JSON.stringify([kind, keys]))
    .digest('hex')
    .slice(0, 32);
  const mail: NewMail = {
    ...{ kind: mailsOfVisitors, to: { address: writtenAs }, fromName: branding.senderName ?? company },
    ...{ subject: texts.subject, ...layout, unsubscribeUrl },
    messageId: messageIdFor(ctx.settings, `portal-mail.${order.id}.${hash}`),
    attachments: order.with_pdf ? await attach(writing, pdfs) : [],
  };
  return { kind, keys, mail };
}

async function planDocuments(
  writing: Writing,
  kind: Exclude<MailKind, 'statement'>,
  mailed: ReadonlySet<string>,
): Promise<Planned | undefined> {
  const { visit, order } = writing;
  const found = await findDocuments(visit, kind, order.due_days);
  const fresh = found.map(({ columns, rows }) => ({
    columns,
    rows: rows.filter(({ key }) => !mailed.has(key)),
  }));
  const documents = fresh.flatMap(({ rows }) => rows).slice(0, maxDocuments);
  const [only] = documents;
  if (only === undefined) return undefined;
  const keys = documents.map(({ key }) => key);
  const tables = fresh
    .map(({ columns, rows }) => ({ columns, rows: rows.filter(({ key }) => keys.includes(key)) }))
    .filter(({ rows }) => rows.length > 0);
  const path = documents.length === 1 ? (only.href ?? '') : `${visit.site.base}/`;
  return compose(writing, kind, keys, { tables, path, pdfs: writeRecords(writing, documents) });
}

/** Of the month before; without a balance or a document there is no mail. */
async function planStatement(writing: Writing, mailed: ReadonlySet<string>): Promise<Planned | undefined> {
  const { room, visit, language } = writing;
  const month = monthBefore(visit.today);
  if (mailed.has(month)) return undefined;
  const lastDay = new Date(Date.parse(`${visit.today.slice(0, 7)}-01`) - 1).toISOString().slice(0, 10);
  const query = { from: `${month}-01`, to: lastDay };
  const statement: StatementPage = await readStatementPage(visit, { query });
  if (statement.accounts === null || statement.accounts.length === 0) return undefined;
  // What the ERP has of the month may not be synced yet.
  if (statement.asOf === null || statement.asOf.slice(0, 10) <= lastDay) return undefined;
  const path = `${visit.site.base}/statement?${new URLSearchParams(query)}`;
  async function* pdfs() {
    yield writeStatement(room, visit, statement, language);
  }
  return compose(writing, 'statement', [month], { tables: [], statement, path, pdfs: pdfs() });
}

type Plan = { readonly planned: readonly Planned[]; readonly failed: unknown };

/** What fails for one kind doesn't keep the others back. Rejects when `stop` is aborted. */
async function plan(room: MailRoom, visit: Visit, order: MailOrder, stop: AbortSignal): Promise<Plan> {
  const language = isLanguage(order.language) ? order.language : visit.portal.settings.defaultLanguage;
  const writing = { room, visit, order, language, stop };
  const noted = await inTransaction(visit.ctx, (tx) => readMailed(tx, visit.ctx.organizationId, order.id));
  const offered = await listOfferedMails(visit);
  const isDay = room.now().getUTCHours() >= firstHour;
  const kinds = order.kinds.filter(
    (kind) => offered.includes(kind) && (isDay || kind === 'invoice' || kind === 'payment'),
  );
  const planned: Planned[] = [];
  let failed: unknown;
  for (const kind of kinds) {
    const mailed = new Set(noted.get(kind)?.map(({ record }) => record));
    try {
      const found =
        kind === 'statement'
          ? await planStatement(writing, mailed)
          : await planDocuments(writing, kind, mailed);
      if (found !== undefined) planned.push(found);
    } catch (error) {
      stop.throwIfAborted();
      failed = error;
    }
  }
  return { planned, failed };
}

/** How many mails the organization may still queue today. */
async function countLeft(tx: Tx, ctx: TenantCtx): Promise<number> {
  const max = ctx.settings.mail.maxSubscriptionMailsPerDay;
  return max - (await countMailsInLastDay(tx, ctx, mailsOfVisitors, max));
}

const limitReached = 'The daily limit of mails is reached';

/** For operators. */
function reasonOf({ log }: TenantCtx, error: unknown): string {
  if (error instanceof AppError) return errorMessage(error);
  log.error({ err: error }, 'mails of a visitor could not be written');
  return 'Internal error';
}

/**
 * Nothing is queued once the job's lease was lost, and nothing that was ended in the meantime. The order is locked before
 * its job, as when it is changed.
 */
const queue = (ctx: TenantCtx, job: Job, { planned, failed }: Plan): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const order = await findMailOrder(tx, ctx.organizationId, { id: job.key });
    if (!(await lockJob(tx, job))) return;
    if (order === undefined || order.kinds.length === 0) return void (await finishJob(tx, job));
    const wanted = planned.filter(({ kind }) => order.kinds.includes(kind));
    const left = wanted.length === 0 ? 0 : await countLeft(tx, ctx);
    for (const { kind, keys, mail } of wanted.slice(0, Math.max(0, left))) {
      await enqueueMail(tx, ctx, mail);
      await noteMailed(tx, ctx.organizationId, { orderId: order.id, kind, isMailed: true }, keys);
    }
    if (failed !== undefined) return void (await retryJob(tx, job, retryMs, reasonOf(ctx, failed)));
    await retryJob(tx, job, everyMs, wanted.length > left ? limitReached : null);
  });

const nothing: Plan = { planned: [], failed: undefined };

async function work(room: MailRoom, ctx: ReadingCtx & TenantCtx, job: Job, stop: AbortSignal): Promise<void> {
  const { order, left } = await inTransaction(ctx, async (tx) => ({
    order: await findMailOrder(tx, ctx.organizationId, { id: job.key }),
    left: await countLeft(tx, ctx),
  }));
  try {
    if (left <= 0) return void (await inTransaction(ctx, (tx) => retryJob(tx, job, everyMs, limitReached)));
    const visit = order && (await openMailVisit(ctx, order, room.now));
    await queue(ctx, job, order && visit ? await plan(room, visit, order, stop) : nothing);
  } catch (error) {
    if (stop.aborted) return void (await inTransaction(ctx, (tx) => releaseJob(tx, job)));
    const reason = reasonOf(ctx, error);
    await inTransaction(ctx, (tx) => retryJob(tx, job, retryMs, reason));
  }
}

/** Any number of processes may do so. */
export const startVisitorMails = (
  ctx: ReadingCtx,
  room: MailRoom,
  options: Partial<typeof defaults> = {},
): JobWorker =>
  startJobWorker(ctx, {
    ...defaults,
    ...options,
    kind: 'portal_mails',
    concurrency,
    work: (job, stop) => work(room, { ...ctx, organizationId: job.organizationId }, job, stop),
  });
