// Which views use the fields of a record type, for whoever is about to take fields away or to learn that they went. Views that the
// caller may not see have no name here.
import type { RequestCtx } from '../../core/ctx.ts';
import type { Tx } from '../../db/transaction.ts';
import { viewerOf } from './views.service.ts';
import { viewsOfRecordType } from './views.store.ts';

export type ViewUse = {
  /** Null where the caller may not see the view. */
  readonly view: { readonly id: string; readonly name: string } | null;
  readonly isPrivate: boolean;
  /** As the view names them, each once: in columns, filters and sort. */
  readonly sources: readonly string[];
};

export async function usesByViews(tx: Tx, ctx: RequestCtx, recordType: string): Promise<ViewUse[]> {
  const maySee = ctx.principal.permissions.has('view:read');
  const views = await viewsOfRecordType(tx, ctx.organizationId, recordType, viewerOf(ctx));
  return views.map(({ id, name, visible, visibility, columns, filters, sort }) => ({
    view: visible && maySee ? { id, name } : null,
    isPrivate: visibility === 'private',
    sources: [...new Set([...columns, ...[...filters, ...sort].map(({ field }) => field)])].filter((source) => source !== 'id'),
  }));
}
