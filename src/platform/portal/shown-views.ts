// A view as a visitor sees it: the visitor's records alone, and of the view's columns those that visitors may see.
import type { RecordAccess } from '../../core/record-access.ts';
import { type CallerRights, getRecordReader } from '../../public/index.ts';
import { readViewContent } from '../views/summary-table.ts';
import type { ViewRow } from '../views/views.store.ts';
import { recordsEndpoint } from './access-document.ts';
import type { PortalCtx } from './visitor-scope.ts';

/** What the access leaves of a record type; undefined for one that it doesn't name. */
function toRights({ layers, unmasked }: RecordAccess, recordType: string): CallerRights | undefined {
  const named = layers[0]?.rows?.resources[recordsEndpoint(recordType)];
  if (layers.length !== 1 || named?.recordType !== recordType) return undefined;
  return { unmasked, rows: named.conditions };
}

type Read = {
  readonly reads: RecordAccess;
  /** The sources that visitors may see. */
  readonly visible: ReadonlySet<string>;
  readonly page: { readonly page: number; readonly pageSize: number };
};

/**
 * Undefined for a record type that the visitor doesn't see, a view without a column that visitors may see, and a
 * summary of fields that they may not. Rejects with 503 while the records can't be read.
 */
export async function readViewForVisitor(ctx: PortalCtx, view: ViewRow, { reads, visible, page }: Read) {
  const rights = toRights(reads, view.record_type);
  const columns = view.columns.filter((source) => visible.has(source));
  const summarized = [
    ...(view.summary?.groups ?? []).map(({ field }) => field),
    ...(view.summary?.aggregates ?? []).map(({ field }) => field),
  ];
  if (rights === undefined || !summarized.every((source) => visible.has(source))) return undefined;
  if (view.summary === null && columns.length === 0) return undefined;
  return readViewContent(getRecordReader(ctx), ctx, { ...view, columns }, rights, page);
}
