// Targets of sidebars and pages: views, pages, record types, and external addresses. A view counts only when
// everyone in the organization can see it, so that no one learns of another person's private view.
import { z } from 'zod';
import type { RequestCtx } from '../../core/ctx.ts';
import type { ErrorDetail } from '../../core/errors.ts';
import { isId } from '../../core/id.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { type Available, readAvailable } from '../../public/index.ts';

export const isHttpsUrl = (text: string): boolean => {
  // Invisible characters, and those that would end an HTML attribute, must be percent-encoded.
  if (!/^https:\/\/[^\s\p{C}\p{Z}\\"'<>]+$/u.test(text) || !URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return protocol === 'https:' && username === '' && password === '';
};

export const HttpsUrl = z
  .string()
  .max(2_000)
  .refine(isHttpsUrl, 'must be an https address without a user name')
  .meta({ openapi: { type: 'string', format: 'uri', maxLength: 2_000, pattern: '^https://' } });

export const Slug = z
  .string()
  .max(80)
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be lower-case letters, digits and single hyphens')
  .meta({ example: 'open-invoices' });

export type PageTarget = { readonly id: string; readonly slug: string; readonly published: boolean };

export type Targets = {
  /** Ids of views that everyone in the organization can see. */
  readonly views: ReadonlySet<string>;
  /** By id and by slug; an id takes precedence. */
  readonly pages: ReadonlyMap<string, PageTarget>;
  readonly available: Available;
};

export const findSharedViews = async (tx: Tx, organizationId: string, ids: readonly string[]) => {
  const rows = await tx('views')
    .where({ organization_id: organizationId, visibility: 'organization' })
    .whereIn('id', [...ids])
    .select<{ id: string }[]>('id');
  return new Set(rows.map(({ id }) => id));
};

async function findPageTargets(tx: Tx, organizationId: string, names: readonly string[]) {
  const rows = await tx('portal_pages')
    .where('organization_id', organizationId)
    .where((query) => query.whereIn('slug', [...names]).orWhereIn('id', names.filter(isId)))
    .select<PageTarget[]>('id', 'slug', tx.raw('published_at is not null as published'));
  return new Map([
    ...rows.map((row) => [row.slug, row] as const),
    ...rows.map((row) => [row.id, row] as const),
  ]);
}

/** Which of these targets exist, and all record types. A view must be named by its id. */
export async function readTargets(
  ctx: RequestCtx,
  named: { views: readonly string[]; pages: readonly string[] },
): Promise<Targets> {
  const available = await readAvailable(ctx);
  return inTransaction(ctx, async (tx) => ({
    available,
    views: await findSharedViews(tx, ctx.organizationId, named.views.filter(isId)),
    pages: await findPageTargets(tx, ctx.organizationId, named.pages),
  }));
}

export const unknownViewDetail = (path: string): ErrorDetail => ({
  path,
  code: 'unknown_view',
  message: 'No view that everyone in the organization can see has this id',
});
export const unknownRecordTypeDetail = (path: string): ErrorDetail => ({
  path,
  code: 'unknown_record_type',
  message: 'This record type is not synced',
});
