// A template as it would look: with one record and, for mails of subscriptions, with a view as they show it.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { parseExact } from '../../core/exact-json.ts';
import { inTransaction } from '../../db/transaction.ts';
import { openRecords, readAvailable } from '../../public/index.ts';
import { previewTemplate } from '../../templates/index.ts';
import { templateData } from '../subscriptions/content.ts';
import { readTable } from '../subscriptions/read-view.ts';
import { findViewOfCaller } from '../subscriptions/sight.ts';
import { sourcesOf, withoutLabels } from './sources.ts';
import { unknownRecordType } from './targets.ts';
import type { Preview, PreviewInput } from './templates.schemas.ts';
import { checkSubject, getTemplateRow, partsOf } from './templates.service.ts';

type Json = Readonly<Record<string, unknown>>;

async function readRecord(ctx: RequestCtx, recordType: string, recordId: string): Promise<ReturnType<typeof withoutLabels>> {
  const available = await readAvailable(ctx);
  if (!Object.hasOwn(available, recordType)) throw invalid('The record is not there', [unknownRecordType('recordType')]);
  const sources = [...sourcesOf(available, recordType).keys()];
  const text = await openRecords(ctx).get(ctx, recordType, recordId, sources);
  if (text === undefined)
    throw invalid('The record is not there', [{ path: 'recordId', code: 'unknown_record', message: 'No synced record has this id' }]);
  return withoutLabels(parseExact(text) as Json);
}

/** What a mail of a subscription to this view would be made of. */
async function readView(ctx: RequestCtx, viewId: string): Promise<Json> {
  const mayRead = ctx.principal.permissions.has('view:read');
  const view = mayRead ? await inTransaction(ctx, (tx) => findViewOfCaller(tx, ctx, viewId)) : undefined;
  if (view === undefined)
    throw invalid('The view is not there', [{ path: 'viewId', code: 'unknown_view', message: 'Name a view that you see' }]);
  const { organization, user } = ctx.principal;
  const about = { viewName: view.name, organizationName: organization.name, ownerName: user.name, timezone: 'UTC' };
  return templateData(await readTable(openRecords(ctx), ctx, view), about);
}

export async function previewOf(ctx: RequestCtx, id: string, input: PreviewInput): Promise<Preview> {
  const row = await inTransaction(ctx, (tx) => getTemplateRow(tx, ctx, id));
  const subject = input.subject ?? row.subject;
  checkSubject(row.kind, subject);
  const { slug, name } = ctx.principal.organization;
  const record = await readRecord(ctx, input.recordType, input.recordId);
  const view = input.viewId === undefined ? {} : await readView(ctx, input.viewId);
  const { texts, problems } = await previewTemplate({
    organizationId: ctx.organizationId,
    parts: partsOf({ subject, body: input.body ?? row.body }),
    data: { ...input.data, ...view, ...record, organization: { slug, name } },
    now: ctx.clock.now(),
  });
  return {
    subject: subject === null ? null : (texts.subject ?? null),
    html: texts.body ?? null,
    problems: problems.map(({ part, ...problem }) => ({ path: part === 'subject' ? 'subject' : 'body', ...problem })),
  };
}
