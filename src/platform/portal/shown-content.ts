// What the company has configured for the pages that visitors open: labels and formats, the sidebar, published
// pages, views that everyone may see, and which field of the portal's document is which field of the ERP.
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import type { EndpointDefinition } from '../../public/index.ts';
import { findView } from '../views/views.store.ts';
import { findDocumentEndpoints } from './access.store.ts';
import type { Block } from './pages.schemas.ts';
import { withoutForbiddenLinks } from './pages.service.ts';
import { findPublishedBlocks } from './pages.store.ts';
import type { Portal } from './visitor-scope.ts';

/** The endpoints of a document, by name. They never change. */
export const readEndpoints = (
  ctx: TenantCtx,
  { document }: Portal,
): Promise<ReadonlyMap<string, EndpointDefinition>> =>
  inTransaction(ctx, async (tx) => {
    const endpoints = await findDocumentEndpoints(tx, ctx.organizationId, document);
    return new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]));
  });

/** As visitors see it; undefined for a page that isn't published. */
export const readPublishedBlocks = (ctx: TenantCtx, id: string): Promise<Block[] | undefined> =>
  inTransaction(ctx, async (tx) =>
    (await findPublishedBlocks(tx, ctx.organizationId, id))?.map(withoutForbiddenLinks),
  );

/** A view that everyone in the organization can see. */
export const findSharedView = (ctx: TenantCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const view = await findView(tx, ctx.organizationId, id);
    return view?.visibility === 'organization' ? view : undefined;
  });
