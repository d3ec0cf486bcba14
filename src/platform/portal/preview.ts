// Renders a template for preview: with one record and, for subscription mails, with a view.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import { inTransaction } from '../../db/transaction.ts';
import { assertReadsRecords } from '../../http/route/authorize.ts';
import { allRows, getRecordReader, readAvailable } from '../../public/index.ts';
import { previewTemplate } from '../../templates/index.ts';
import { readViewContent } from '../views/summary-table.ts';
import { findViewForCaller } from '../views/views.service.ts';
import { sourceTypes } from './sources.ts';
import { unknownRecordTypeDetail } from './targets.ts';
import { splitLabels, templateData } from './template-data.ts';
import type { Preview, PreviewInput } from './templates.schemas.ts';
import { assertSubject, getTemplateRow, templateParts } from './templates.service.ts';
import type { TemplateRow } from './templates.store.ts';

type Json = Readonly<Record<string, unknown>>;

async function readRecord(ctx: RequestCtx, recordType: string, recordId: string) {
  const available = await readAvailable(ctx);
  if (!Object.hasOwn(available, recordType))
    throw invalid('Unknown record', [unknownRecordTypeDetail('recordType')]);
  const sources = [...sourceTypes(available, recordType).keys()];
  const text = await getRecordReader(ctx).get(
    ctx,
    recordType,
    recordId,
    sources,
    allRows(ctx.principal.reads),
  );
  if (text === undefined)
    throw invalid('Unknown record', [
      { path: 'recordId', code: 'unknown_record', message: 'No synced record has this id' },
    ]);
  return splitLabels(parseExact(text) as Json);
}

/**
 * The record that fills `record` and `labels`; a mail may do without. Throws 403 for a caller who may not
 * read records, and 422 `record_needed`, `record_incomplete` or `unknown_record`.
 */
async function readGivenRecord(
  ctx: RequestCtx,
  kind: TemplateRow['kind'],
  { recordType, recordId }: PreviewInput,
): Promise<Json> {
  if (recordType !== undefined && recordId !== undefined) {
    assertReadsRecords(ctx);
    return readRecord(ctx, recordType, recordId);
  }
  if (recordType === undefined && recordId === undefined && kind === 'email') return {};
  const code = recordType === recordId ? 'record_needed' : 'record_incomplete';
  const path = recordType === undefined ? 'recordType' : 'recordId';
  throw invalid('The record is missing', [
    { path, code, message: 'Send recordType and recordId of a synced record' },
  ]);
}

/**
 * The variables of a subscription mail for this view. Throws 422 `unknown_view` when the caller can't see the
 * view, and 403 for one who may not read records.
 */
async function readView(ctx: RequestCtx, viewId: string): Promise<Json> {
  const mayRead = ctx.principal.permissions.has('view:read');
  const view = mayRead ? await inTransaction(ctx, (tx) => findViewForCaller(tx, ctx, viewId)) : undefined;
  if (view === undefined)
    throw invalid('Unknown view', [
      { path: 'viewId', code: 'unknown_view', message: 'Use the id of a view that you can see' },
    ]);
  assertReadsRecords(ctx);
  const table = await readViewContent(getRecordReader(ctx), ctx, view, allRows({ unmasked: false }));
  return templateData(table, {
    viewName: view.name,
    organizationName: ctx.principal.organization.name,
    timezone: 'UTC',
  });
}

/**
 * Renders the template, with a synced record if one is named; nothing is stored. Throws 404 for an unknown
 * template, 403 for a record or a view when the caller may not read records, and 422 for an unknown record or
 * view, a document without a record, or a subject that doesn't fit the template's kind.
 */
export async function previewStoredTemplate(
  ctx: RequestCtx,
  id: string,
  input: PreviewInput,
): Promise<Preview> {
  const row = await inTransaction(ctx, (tx) => getTemplateRow(tx, ctx, id));
  const subject = input.subject ?? row.subject;
  assertSubject(row.kind, subject);
  const { slug, name } = ctx.principal.organization;
  const record = await readGivenRecord(ctx, row.kind, input);
  const view = input.viewId === undefined ? {} : await readView(ctx, input.viewId);
  const { texts, problems } = await previewTemplate({
    organizationId: ctx.organizationId,
    parts: templateParts({ subject, body: input.body ?? row.body }),
    data: { ...input.data, ...view, ...record, organization: { slug, name } },
    now: ctx.clock.now(),
  });
  return {
    subject: subject === null ? null : (texts.subject ?? null),
    html: texts.body ?? null,
    problems: problems.map(({ part, ...problem }) => ({
      path: part === 'subject' ? 'subject' : 'body',
      ...problem,
    })),
  };
}
