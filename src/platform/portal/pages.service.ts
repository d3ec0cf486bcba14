// Pages. Editing changes only the draft; publishing copies it to the version that visitors see.
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid, notFound, orNotFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { type Available, readAvailable } from '../../public/index.ts';
import { assertQuota } from '../quotas.ts';
import { listerOf } from '../rows.ts';
import { escapeMarkdown, hasForbiddenLink } from './markdown-links.ts';
import {
  type Block,
  maxPageBytes,
  type NewPage,
  type PagePatch,
  type PageSummary,
  type PortalPage,
} from './pages.schemas.ts';
import * as store from './pages.store.ts';
import { staleRevision } from './revisions.ts';
import { findSharedViews, unknownRecordTypeDetail, unknownViewDetail } from './targets.ts';

const forbiddenLinkDetail = (path: string): ErrorDetail => ({
  path,
  code: 'forbidden_link',
  message: 'Links and images may only have http, https or mailto addresses, or one without a scheme',
});

/** Pages published before such links were refused may have some: their text is shown without Markdown. */
export const withoutForbiddenLinks = (block: Block): Block =>
  block.type === 'text' && hasForbiddenLink(block.markdown)
    ? { ...block, markdown: escapeMarkdown(block.markdown) }
    : block;

async function listProblems(tx: Tx, ctx: RequestCtx, blocks: readonly Block[], available: Available) {
  const viewIds = blocks.flatMap((block) => (block.type === 'view' ? [block.viewId] : []));
  const views =
    viewIds.length === 0 ? new Set<string>() : await findSharedViews(tx, ctx.organizationId, viewIds);
  return blocks.flatMap((block, index) => {
    if (block.type === 'view' && !views.has(block.viewId))
      return [unknownViewDetail(`blocks[${index}].viewId`)];
    if (block.type === 'record-list' && !Object.hasOwn(available, block.recordType))
      return [unknownRecordTypeDetail(`blocks[${index}].recordType`)];
    if (block.type === 'text' && hasForbiddenLink(block.markdown))
      return [forbiddenLinkDetail(`blocks[${index}].markdown`)];
    return [];
  });
}

async function assertBlocks(tx: Tx, ctx: RequestCtx, blocks: readonly Block[], available: Available) {
  if (Buffer.byteLength(JSON.stringify(blocks)) > maxPageBytes)
    throw invalid('The page is too large', [
      { path: 'blocks', code: 'too_big', message: `The blocks may take at most ${maxPageBytes} bytes` },
    ]);
  const details = await listProblems(tx, ctx, blocks, available);
  if (details.length > 0)
    throw invalid('The page shows what does not exist, or has forbidden links', details);
}

const toPageSummary = (row: store.PageSummaryRow): PageSummary => ({
  id: row.id,
  slug: row.slug,
  title: row.title,
  status: row.published_at === null ? 'draft' : 'published',
  revision: row.revision,
  publishedRevision: row.published_revision,
  publishedAt: instantOrNull(row.published_at),
  createdAt: instant(row.created_at),
  updatedAt: instant(row.updated_at),
});

async function readPortalPage(
  tx: Tx,
  ctx: RequestCtx,
  id: string,
  available: Available,
): Promise<PortalPage> {
  const row = await getRow(tx, ctx, id);
  const { published_slug: slug, published_title: title, published_blocks: blocks } = row;
  return {
    ...toPageSummary(row),
    blocks: row.blocks,
    published:
      slug === null || title === null || blocks === null
        ? null
        : { slug, title, blocks: blocks.map(withoutForbiddenLinks) },
    problems: await listProblems(tx, ctx, row.blocks, available),
  };
}

async function getRow(tx: Tx, ctx: RequestCtx, id: string, lock = false): Promise<store.PageRow> {
  return orNotFound(await store.findPage(tx, ctx.organizationId, id, lock), 'Page');
}

/** Locks the page until the transaction ends. Throws 404, and 422 `stale_revision` at another revision. */
async function lockAtRevision(tx: Tx, ctx: RequestCtx, id: string, revision: number | undefined) {
  const row = await getRow(tx, ctx, id, true);
  if (revision !== undefined && revision !== row.revision)
    throw staleRevision('The page has changed in the meantime', `The draft is at revision ${row.revision}`);
  return row;
}

/** Runs `work` in a transaction. Throws 422 `taken` or `slug_published` when slugs would not be unique. */
const inPageTransaction = <T>(ctx: RequestCtx, work: (tx: Tx, available: Available) => Promise<T>) =>
  readAvailable(ctx)
    .then((available) => inTransaction(ctx, (tx) => work(tx, available)))
    .catch((error: unknown) => {
      if (violatesConstraint(error, 'page_slug_is_unique'))
        throw invalid('The slug is taken', [
          { path: 'slug', code: 'taken', message: 'Another page has this slug' },
        ]);
      if (violatesConstraint(error, 'published_page_slug_is_unique'))
        throw invalid('The slug is taken', [
          { path: '', code: 'slug_published', message: 'Another published page has this slug' },
        ]);
      throw error;
    });

export const listPages = listerOf(store.listPages, toPageSummary);

/** Throws 404 when the organization has no such page. */
export const getPage = (ctx: RequestCtx, id: string) =>
  inPageTransaction(ctx, (tx, available) => readPortalPage(tx, ctx, id, available));

/** Throws 422 for blocks too large, of what doesn't exist, with forbidden links, a taken slug, the quota. */
export const createPage = (ctx: RequestCtx, input: NewPage) =>
  inPageTransaction(ctx, async (tx, available) => {
    await assertBlocks(tx, ctx, input.blocks, available);
    const id = createId();
    await assertQuota(tx, ctx, 'pages');
    await store.insertPage(tx, ctx.organizationId, { id, ...input });
    const changes = { slug: input.slug, title: input.title, blocks: input.blocks.length };
    await writeAudit(tx, ctx, 'portal.create-page', ['page', id], changes);
    return readPortalPage(tx, ctx, id, available);
  });

/** Throws 404, and 422 for a stale revision, a slug that is taken, or blocks as in `createPage`. */
export const updatePage = (
  ctx: RequestCtx,
  id: string,
  { revision, status, slug, title, blocks }: PagePatch,
) =>
  inPageTransaction(ctx, async (tx, available) => {
    await lockAtRevision(tx, ctx, id, revision);
    if (blocks !== undefined) await assertBlocks(tx, ctx, blocks, available);
    const draft = {
      ...(slug !== undefined && { slug }),
      ...(title !== undefined && { title }),
      ...(blocks !== undefined && { blocks }),
    };
    if (Object.keys(draft).length > 0) await store.updatePageDraft(tx, ctx.organizationId, id, draft);
    if (status === 'draft') await store.unpublishPage(tx, ctx.organizationId, id);
    const after = await readPortalPage(tx, ctx, id, available);
    const changes = {
      ...draft,
      ...(blocks !== undefined && { blocks: blocks.length }),
      ...(status && { status }),
      revision: after.revision,
    };
    await writeAudit(tx, ctx, 'portal.update-page', ['page', id], changes);
    return after;
  });

/** Throws 404, and 422 for a stale revision, blocks as in `createPage`, or a published slug. */
export const publishPage = (ctx: RequestCtx, id: string, revision: number) =>
  inPageTransaction(ctx, async (tx, available) => {
    const { slug, blocks } = await lockAtRevision(tx, ctx, id, revision);
    await assertBlocks(tx, ctx, blocks, available);
    await store.publishDraft(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, 'portal.publish-page', ['page', id], { slug, revision });
    return readPortalPage(tx, ctx, id, available);
  });

/** Throws 404 when the organization has no such page. */
export const deletePage = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { slug } = await getRow(tx, ctx, id);
    if ((await store.deletePage(tx, ctx.organizationId, id)) === 0) throw notFound('Page');
    await writeAudit(tx, ctx, 'portal.delete-page', ['page', id], { slug });
  });
