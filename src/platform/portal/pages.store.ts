// Rows of portal_pages: the draft, and the published copy of it for visitors.
import { containsSql } from '../../core/text/folded-text.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import type { Block } from './pages.schemas.ts';

export type PageSummaryRow = {
  id: string;
  slug: string;
  title: string;
  revision: number;
  published_revision: number | null;
  published_at: Date | null;
  created_at: Date;
  updated_at: Date;
};
export type PageRow = PageSummaryRow & {
  blocks: Block[];
  published_slug: string | null;
  published_title: string | null;
  published_blocks: Block[] | null;
};

const summaryColumns = [
  'id',
  'slug',
  'title',
  'revision',
  'published_revision',
  'published_at',
  'created_at',
  'updated_at',
] as const;
const allColumns = [
  ...summaryColumns,
  'blocks',
  'published_slug',
  'published_title',
  'published_blocks',
] as const;

export type PageFilter = {
  readonly q?: string | undefined;
  readonly status?: 'draft' | 'published' | undefined;
  /** Shown by a block of the draft or of the published version. */
  readonly viewId?: string | undefined;
};

export function listPages(
  tx: Tx,
  organizationId: string,
  page: PageQuery,
  { q, status, viewId }: PageFilter,
) {
  const query = tx('portal_pages')
    .where('organization_id', organizationId)
    .orderBy(newestFirst('created_at', 'id'))
    .select(...summaryColumns);
  if (q !== undefined) query.whereRaw(containsSql('title'), [q]);
  if (status !== undefined) query.whereRaw(`published_at is ${status === 'draft' ? '' : 'not'} null`);
  if (viewId !== undefined) {
    const block = JSON.stringify([{ type: 'view', viewId }]);
    query.whereRaw('(blocks @> ?::jsonb or published_blocks @> ?::jsonb)', [block, block]);
  }
  return readPage<PageSummaryRow>(query, page);
}

export const findPage = async (tx: Tx, organizationId: string, id: string, lock = false) => {
  const query = tx('portal_pages')
    .where({ organization_id: organizationId, id })
    .first<PageRow | undefined>(...allColumns);
  return lock ? query.forUpdate() : query;
};

export async function findPublishedBlocks(tx: Tx, organizationId: string, id: string) {
  const row = await tx('portal_pages')
    .where({ organization_id: organizationId, id })
    .whereNotNull('published_at')
    .first<{ blocks: Block[] } | undefined>({ blocks: 'published_blocks' });
  return row?.blocks;
}

type Draft = Pick<PageRow, 'slug' | 'title' | 'blocks'>;
export const insertPage = (
  tx: Tx,
  organizationId: string,
  { id, slug, title, blocks }: Draft & Pick<PageRow, 'id'>,
) =>
  tx('portal_pages').insert({
    id,
    slug,
    title,
    blocks: JSON.stringify(blocks),
    organization_id: organizationId,
  });

export const updatePageDraft = async (tx: Tx, organizationId: string, id: string, change: Partial<Draft>) =>
  tx('portal_pages')
    .where({ organization_id: organizationId, id })
    .update({
      ...change,
      ...(change.blocks !== undefined && { blocks: JSON.stringify(change.blocks) }),
      revision: tx.raw('revision + 1'),
      updated_at: tx.fn.now(),
    });

/** Copies the draft to the published version. */
export const publishDraft = (tx: Tx, organizationId: string, id: string): Promise<number> =>
  tx('portal_pages')
    .where({ organization_id: organizationId, id })
    .update({
      published_slug: tx.ref('slug'),
      published_title: tx.ref('title'),
      published_blocks: tx.ref('blocks'),
      published_revision: tx.ref('revision'),
      published_at: tx.fn.now(),
    });

const unpublishedColumns = {
  published_slug: null,
  published_title: null,
  published_blocks: null,
  published_revision: null,
  published_at: null,
};
export const unpublishPage = (tx: Tx, organizationId: string, id: string): Promise<number> =>
  tx('portal_pages').where({ organization_id: organizationId, id }).update(unpublishedColumns);

export const deletePage = (tx: Tx, organizationId: string, id: string): Promise<number> =>
  tx('portal_pages').where({ organization_id: organizationId, id }).delete();
