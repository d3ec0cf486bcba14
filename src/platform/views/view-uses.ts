// Which views use the fields of a record type: read before fields are removed from a sync, and to show the
// effects of schema drift. Views that the caller may not see are not named.
import type { RequestCtx } from '../../core/ctx.ts';
import type { Tx } from '../../db/transaction.ts';
import { toViewer } from './views.service.ts';
import { listViewsOfRecordType } from './views.store.ts';

export type ViewUse = {
  /** Null when the caller may not see the view. */
  readonly view: { readonly id: string; readonly name: string } | null;
  readonly isPrivate: boolean;
  /** Distinct sources in columns, filters, sort and summary, as the view writes them. */
  readonly sources: readonly string[];
};

const listFields = (parts: readonly { readonly field: string }[]) => parts.map(({ field }) => field);

export async function findViewUses(tx: Tx, ctx: RequestCtx, recordType: string): Promise<ViewUse[]> {
  const maySee = ctx.principal.permissions.has('view:read');
  const views = await listViewsOfRecordType(tx, ctx.organizationId, recordType, toViewer(ctx));
  return views.map(({ id, name, visible, visibility, columns, filters, sort, summary }) => ({
    view: visible && maySee ? { id, name } : null,
    isPrivate: visibility === 'private',
    sources: [
      ...new Set([
        ...columns,
        ...listFields([...filters, ...sort, ...(summary?.groups ?? []), ...(summary?.aggregates ?? [])]),
      ]),
    ].filter((source) => source !== 'id'),
  }));
}
