// Templates. One with syntax errors is never stored, so that rendering can fail only because of the data.
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid, notFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { sqlState, violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { checkTemplate, type TemplatePart, type TemplateProblem } from '../../templates/index.ts';
import { assertQuota } from '../quotas.ts';
import { getterOf, listerOf } from '../rows.ts';
import type { NewTemplate, Template, TemplatePatch } from './templates.schemas.ts';
import * as store from './templates.store.ts';

type Texts = { readonly subject: string | null; readonly body: string };

/** The template's texts with their output format, for rendering. The subject of a document is empty. */
export const templateParts = ({ subject, body }: Texts): Record<'subject' | 'body', TemplatePart> => ({
  subject: { source: subject ?? '', as: 'line' },
  body: { source: body, as: 'html' },
});

const toTemplate = (row: store.TemplateRow): Template => ({
  id: row.id,
  key: row.key,
  kind: row.kind,
  subject: row.subject,
  body: row.body,
  createdAt: instant(row.created_at),
  updatedAt: instant(row.updated_at),
});

/** Throws 404 when the organization has no such template. */
export const getTemplateRow = getterOf(store.findTemplate, 'Template');

const toDetail = ({ part, code, line, column, message }: TemplateProblem): ErrorDetail => ({
  path: part,
  code,
  message: line === null ? message : `Line ${line}, column ${column}: ${message}`,
});

/** Throws 422 `subject_needed` for a mail without a subject, and `no_subject` for a document with one. */
export function assertSubject(kind: store.TemplateRow['kind'], subject: string | null): void {
  if (kind === 'email' && subject === null)
    throw invalid('A mail template needs a subject', [
      { path: 'subject', code: 'subject_needed', message: 'Set the subject of the mail' },
    ]);
  if (kind === 'document' && subject !== null)
    throw invalid('A document template has no subject', [
      { path: 'subject', code: 'no_subject', message: 'Only mails have a subject: use null' },
    ]);
}

async function assertSyntax(ctx: RequestCtx, texts: Texts): Promise<void> {
  const problems = await checkTemplate(ctx.organizationId, templateParts(texts));
  if (problems.length > 0) throw invalid('The template has syntax errors', problems.map(toDetail));
}

/** Runs `work` in a transaction. Throws 422 `taken` when another template of the kind has the key. */
const inTemplateTransaction = <T>(ctx: RequestCtx, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction(ctx, work).catch((error: unknown) => {
    if (violatesConstraint(error, 'template_key_is_unique'))
      throw invalid('The key is taken', [
        { path: 'key', code: 'taken', message: 'Another template of this kind has this key' },
      ]);
    throw error;
  });

export const listTemplates = listerOf(store.listTemplates, toTemplate);

/** Throws 404 when the organization has no such template. */
export const getTemplate = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => toTemplate(await getTemplateRow(tx, ctx, id)));

/** Throws 422 for a missing or unexpected subject, syntax errors, a key that is taken, or a full quota. */
export async function createTemplate(ctx: RequestCtx, input: NewTemplate) {
  assertSubject(input.kind, input.subject);
  await assertSyntax(ctx, input);
  return inTemplateTransaction(ctx, async (tx) => {
    const id = createId();
    await assertQuota(tx, ctx, 'templates');
    await store.insertTemplate(tx, ctx.organizationId, { id, ...input });
    const changes = { key: input.key, kind: input.kind };
    await writeAudit(tx, ctx, 'portal.create-template', ['template', id], changes);
    return toTemplate(await getTemplateRow(tx, ctx, id));
  });
}

/** Throws 404 when the organization has no such template, and 422 as `createTemplate`. */
export async function updateTemplate(ctx: RequestCtx, id: string, { key, subject, body }: TemplatePatch) {
  const before = await inTransaction(ctx, (tx) => getTemplateRow(tx, ctx, id));
  assertSubject(before.kind, subject ?? before.subject);
  if (subject !== undefined || body !== undefined)
    await assertSyntax(ctx, { subject: subject ?? null, body: body ?? '' });
  return inTemplateTransaction(ctx, async (tx) => {
    await getTemplateRow(tx, ctx, id);
    const columns = {
      ...(key !== undefined && { key }),
      ...(subject !== undefined && { subject }),
      ...(body !== undefined && { body }),
    };
    if (Object.keys(columns).length > 0) await store.updateTemplate(tx, ctx.organizationId, id, columns);
    const after = await getTemplateRow(tx, ctx, id);
    const changes = { key: after.key, kind: after.kind, changed: Object.keys(columns) };
    await writeAudit(tx, ctx, 'portal.update-template', ['template', id], changes);
    return toTemplate(after);
  });
}

/** Throws 404 when the organization has no such template, and 422 `in_use` while a subscription uses it. */
export const deleteTemplate = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { key, kind } = await getTemplateRow(tx, ctx, id);
    if ((await store.deleteTemplate(tx, ctx.organizationId, id)) === 0) throw notFound('Template');
    await writeAudit(tx, ctx, 'portal.delete-template', ['template', id], { key, kind });
  }).catch((error: unknown) => {
    // Everything that uses a template refers to it by a foreign key.
    if (sqlState(error) !== '23503' && sqlState(error) !== '23001') throw error;
    const message = 'A subscription uses it: change or delete that subscription first';
    throw invalid('The template is in use', [{ path: '', code: 'in_use', message }]);
  });
