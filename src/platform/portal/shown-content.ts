// What the company has configured for the pages that visitors open: labels and formats, the sidebar, published
// pages, views that everyone may see, and which field of the portal's document is which field of the ERP.
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import type { EndpointDefinition } from '../../public/index.ts';
import { findView } from '../views/views.store.ts';
import { findDocumentEndpoints } from './access.store.ts';
import type { MappedField } from './field-mappings.schemas.ts';
import { listAllMappings } from './field-mappings.store.ts';
import type { Block } from './pages.schemas.ts';
import { withoutForbiddenLinks } from './pages.service.ts';
import { findPublishedPages } from './pages.store.ts';
import type { SidebarItem } from './sidebar.schemas.ts';
import { findSidebar } from './sidebar.store.ts';
import type { Portal } from './visitor-scope.ts';

export type PublishedPage = {
  readonly slug: string;
  readonly title: string;
  readonly blocks: readonly Block[];
};

export type ShownContent = {
  /** By record type, in the order in which they are shown. */
  readonly mappings: ReadonlyMap<string, readonly MappedField[]>;
  /** Empty until a sidebar is stored. */
  readonly sidebar: readonly SidebarItem[];
  /** By id and by slug. */
  readonly pages: ReadonlyMap<string, PublishedPage>;
};

type PageRow = { readonly id: string } & PublishedPage;
const byIdAndSlug = (rows: readonly PageRow[]): Map<string, PublishedPage> =>
  new Map([...rows.map((row) => [row.slug, row] as const), ...rows.map((row) => [row.id, row] as const)]);

/** The endpoints of a document, by name. They never change. */
export const readEndpoints = (
  ctx: TenantCtx,
  { document }: Portal,
): Promise<ReadonlyMap<string, EndpointDefinition>> =>
  inTransaction(ctx, async (tx) => {
    const endpoints = await findDocumentEndpoints(tx, ctx.organizationId, document);
    return new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]));
  });

export const readShownContent = (ctx: TenantCtx): Promise<ShownContent> =>
  inTransaction(ctx, async (tx) => {
    const { organizationId } = ctx;
    const mappings = await listAllMappings(tx, organizationId);
    const pages = await findPublishedPages(tx, organizationId);
    const sidebar = await findSidebar(tx, organizationId);
    return {
      mappings: new Map(mappings.map(({ record_type: type, fields }) => [type, fields])),
      sidebar: (sidebar?.items ?? []) as SidebarItem[],
      pages: byIdAndSlug(pages.map((page) => ({ ...page, blocks: page.blocks.map(withoutForbiddenLinks) }))),
    };
  });

/** A view that everyone in the organization can see. */
export const findSharedView = (ctx: TenantCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const view = await findView(tx, ctx.organizationId, id);
    return view?.visibility === 'organization' ? view : undefined;
  });
