// Pages. Editing touches the draft alone; visitors see a copy that publishing makes of it.
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { violates } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { type Available, readAvailable } from '../../public/index.ts';
import { makeRoom } from '../room.ts';
import { type Block, maxPageBytes, type NewPage, type PageChange, type PageSummaryView, type PageView } from './pages.schemas.ts';
import * as store from './pages.store.ts';
import { findSharedViews, unknownRecordType, unknownView } from './targets.ts';

async function problemsOf(tx: Tx, ctx: RequestCtx, blocks: readonly Block[], available: Available): Promise<ErrorDetail[]> {
  const viewIds = blocks.flatMap((block) => (block.type === 'view' ? [block.viewId] : []));
  const views = viewIds.length === 0 ? new Set<string>() : await findSharedViews(tx, ctx.organizationId, viewIds);
  return blocks.flatMap((block, index) => {
    if (block.type === 'view' && !views.has(block.viewId)) return [unknownView(`blocks[${index}].viewId`)];
    if (block.type === 'record-list' && !Object.hasOwn(available, block.recordType))
      return [unknownRecordType(`blocks[${index}].recordType`)];
    return [];
  });
}

async function checkBlocks(tx: Tx, ctx: RequestCtx, blocks: readonly Block[], available: Available): Promise<void> {
  if (Buffer.byteLength(JSON.stringify(blocks)) > maxPageBytes)
    throw invalid('The page is too large', [{ path: 'blocks', code: 'too_big', message: `At most ${maxPageBytes} bytes` }]);
  const details = await problemsOf(tx, ctx, blocks, available);
  if (details.length > 0) throw invalid('The page shows what is not there', details);
}

const summary = (row: store.PageSummaryRow): PageSummaryView => ({
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

async function answer(tx: Tx, ctx: RequestCtx, id: string, available: Available): Promise<PageView> {
  const row = await getRow(tx, ctx, id);
  const { published_slug: slug, published_title: title, published_blocks: blocks } = row;
  return {
    ...summary(row),
    blocks: row.blocks,
    published: slug === null || title === null || blocks === null ? null : { slug, title, blocks },
    problems: await problemsOf(tx, ctx, row.blocks, available),
  };
}

async function getRow(tx: Tx, ctx: RequestCtx, id: string, lock = false): Promise<store.PageRow> {
  const row = await store.findPage(tx, ctx.organizationId, id, lock);
  if (row === undefined) throw notFound('Page');
  return row;
}

/** Locked until the transaction ends. */
async function getAtRevision(tx: Tx, ctx: RequestCtx, id: string, revision: number | undefined): Promise<store.PageRow> {
  const row = await getRow(tx, ctx, id, true);
  if (revision !== undefined && revision !== row.revision)
    throw invalid('The page has changed meanwhile', [
      { path: 'revision', code: 'stale_revision', message: `The draft is at revision ${row.revision}` },
    ]);
  return row;
}

const inOne = <T>(ctx: RequestCtx, work: (tx: Tx, available: Available) => Promise<T>): Promise<T> =>
  readAvailable(ctx)
    .then((available) => inTransaction(ctx, (tx) => work(tx, available)))
    .catch((error: unknown) => {
      if (violates(error, 'page_slug_is_unique'))
        throw invalid('That slug is taken', [{ path: 'slug', code: 'taken', message: 'Another page has this slug' }]);
      if (violates(error, 'published_page_slug_is_unique'))
        throw invalid('That slug is taken', [{ path: '', code: 'slug_published', message: 'Visitors see another page under this slug' }]);
      throw error;
    });

export const listPages = (ctx: RequestCtx, page: PageQuery, filter: store.PageFilter) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listPages(tx, ctx.organizationId, page, filter);
    return toPage(rows.map(summary), total, page);
  });

export const getPage = (ctx: RequestCtx, id: string) => inOne(ctx, (tx, available) => answer(tx, ctx, id, available));

export const createPage = (ctx: RequestCtx, input: NewPage) =>
  inOne(ctx, async (tx, available) => {
    await checkBlocks(tx, ctx, input.blocks, available);
    const id = newId();
    await makeRoom(tx, ctx, 'pages');
    await store.insertPage(tx, ctx.organizationId, { id, ...input });
    const changes = { slug: input.slug, title: input.title, blocks: input.blocks.length };
    await writeAudit(tx, ctx, { action: 'portal.create-page', target: { type: 'page', id }, changes });
    return answer(tx, ctx, id, available);
  });

export const changePage = (ctx: RequestCtx, id: string, { revision, status, slug, title, blocks }: PageChange) =>
  inOne(ctx, async (tx, available) => {
    await getAtRevision(tx, ctx, id, revision);
    if (blocks !== undefined) await checkBlocks(tx, ctx, blocks, available);
    const draft = { ...(slug !== undefined && { slug }), ...(title !== undefined && { title }), ...(blocks !== undefined && { blocks }) };
    if (Object.keys(draft).length > 0) await store.updateDraft(tx, ctx.organizationId, id, draft);
    if (status === 'draft') await store.unpublish(tx, ctx.organizationId, id);
    const after = await answer(tx, ctx, id, available);
    const changes = {
      ...draft,
      ...(blocks !== undefined && { blocks: blocks.length }),
      ...(status && { status }),
      revision: after.revision,
    };
    await writeAudit(tx, ctx, { action: 'portal.update-page', target: { type: 'page', id }, changes });
    return after;
  });

export const publishPage = (ctx: RequestCtx, id: string, revision: number) =>
  inOne(ctx, async (tx, available) => {
    const { slug, blocks } = await getAtRevision(tx, ctx, id, revision);
    await checkBlocks(tx, ctx, blocks, available);
    await store.publish(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, { action: 'portal.publish-page', target: { type: 'page', id }, changes: { slug, revision } });
    return answer(tx, ctx, id, available);
  });

export const deletePage = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { slug } = await getRow(tx, ctx, id);
    if ((await store.deletePage(tx, ctx.organizationId, id)) === 0) throw notFound('Page');
    await writeAudit(tx, ctx, { action: 'portal.delete-page', target: { type: 'page', id }, changes: { slug } });
  });
