// Templates of an organization. What can't be read is never stored, so that a mail fails by its data at most.
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { sqlState, violates } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { checkTemplate, type TemplatePart, type TemplateProblem } from '../../templates/index.ts';
import { makeRoom } from '../room.ts';
import type { NewTemplate, TemplateChange, TemplateView } from './templates.schemas.ts';
import * as store from './templates.store.ts';

type Texts = { readonly subject: string | null; readonly body: string };

/** How the texts of a template are read and put out, for whoever renders it. The subject of a document is empty. */
export const partsOf = ({ subject, body }: Texts): Record<'subject' | 'body', TemplatePart> => ({
  subject: { source: subject ?? '', as: 'line' },
  body: { source: body, as: 'html' },
});

const view = (row: store.TemplateRow): TemplateView => ({
  id: row.id,
  key: row.key,
  kind: row.kind,
  subject: row.subject,
  body: row.body,
  createdAt: instant(row.created_at),
  updatedAt: instant(row.updated_at),
});

export async function getTemplateRow(tx: Tx, ctx: RequestCtx, id: string): Promise<store.TemplateRow> {
  const row = await store.findTemplate(tx, ctx.organizationId, id);
  if (row === undefined) throw notFound('Template');
  return row;
}

const inLine = ({ part, code, line, column, message }: TemplateProblem): ErrorDetail => ({
  path: part,
  code,
  message: line === null ? message : `Line ${line}, column ${column}: ${message}`,
});

export function checkSubject(kind: store.TemplateRow['kind'], subject: string | null): void {
  if (kind === 'email' && subject === null)
    throw invalid('A mail has a subject', [{ path: 'subject', code: 'subject_needed', message: 'Give the subject of the mail' }]);
  if (kind === 'document' && subject !== null)
    throw invalid('A document has no subject', [{ path: 'subject', code: 'no_subject', message: 'Only mails have a subject' }]);
}

async function checkTexts(ctx: RequestCtx, texts: Texts): Promise<void> {
  const problems = await checkTemplate(ctx.organizationId, partsOf(texts));
  if (problems.length > 0) throw invalid("The template can't be read", problems.map(inLine));
}

const inOne = <T>(ctx: RequestCtx, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction(ctx, work).catch((error: unknown) => {
    if (violates(error, 'template_key_is_unique'))
      throw invalid('That key is taken', [{ path: 'key', code: 'taken', message: 'Another template of this kind has this key' }]);
    throw error;
  });

export const listTemplates = (ctx: RequestCtx, page: PageQuery, filter: store.TemplateFilter) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listTemplates(tx, ctx.organizationId, page, filter);
    return toPage(rows.map(view), total, page);
  });

export const getTemplate = (ctx: RequestCtx, id: string) => inTransaction(ctx, async (tx) => view(await getTemplateRow(tx, ctx, id)));

export async function createTemplate(ctx: RequestCtx, input: NewTemplate) {
  checkSubject(input.kind, input.subject);
  await checkTexts(ctx, input);
  return inOne(ctx, async (tx) => {
    const id = newId();
    await makeRoom(tx, ctx, 'templates');
    await store.insertTemplate(tx, ctx.organizationId, { id, ...input });
    const changes = { key: input.key, kind: input.kind };
    await writeAudit(tx, ctx, { action: 'portal.create-template', target: { type: 'template', id }, changes });
    return view(await getTemplateRow(tx, ctx, id));
  });
}

export async function changeTemplate(ctx: RequestCtx, id: string, { key, subject, body }: TemplateChange) {
  const before = await inTransaction(ctx, (tx) => getTemplateRow(tx, ctx, id));
  checkSubject(before.kind, subject ?? before.subject);
  if (subject !== undefined || body !== undefined) await checkTexts(ctx, { subject: subject ?? null, body: body ?? '' });
  return inOne(ctx, async (tx) => {
    await getTemplateRow(tx, ctx, id);
    const columns = { ...(key !== undefined && { key }), ...(subject !== undefined && { subject }), ...(body !== undefined && { body }) };
    if (Object.keys(columns).length > 0) await store.updateTemplate(tx, ctx.organizationId, id, columns);
    const after = await getTemplateRow(tx, ctx, id);
    const changes = { key: after.key, kind: after.kind, changed: Object.keys(columns) };
    await writeAudit(tx, ctx, { action: 'portal.update-template', target: { type: 'template', id }, changes });
    return view(after);
  });
}

export const deleteTemplate = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { key, kind } = await getTemplateRow(tx, ctx, id);
    if ((await store.deleteTemplate(tx, ctx.organizationId, id)) === 0) throw notFound('Template');
    await writeAudit(tx, ctx, { action: 'portal.delete-template', target: { type: 'template', id }, changes: { key, kind } });
  }).catch((error: unknown) => {
    // Whatever uses a template refers to it by a foreign key.
    if (sqlState(error) !== '23503' && sqlState(error) !== '23001') throw error;
    throw invalid('The template is in use', [{ path: '', code: 'in_use', message: 'A subscription uses it' }]);
  });
