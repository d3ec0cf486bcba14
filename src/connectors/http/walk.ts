// Reads a list that can only be read by the ERP's own links from page to page, in no order of ids that is known.
import { httpError } from './errors.ts';

export type LinkedPage<Row> = {
  readonly rows: readonly Row[];
  /** Of a last page: from where changes since the first page are tracked; null for nowhere. */
  readonly changeToken: string | null;
};
export type LinkedList<Row> = {
  /** Of two lists that are read at the same time, each has its own. */
  readonly name: string;
  /** Reads its pages from the first one on. */
  readonly open: () => AsyncGenerator<LinkedPage<Row>, void>;
  /** The number of rows by the ERP's own count. */
  readonly count: () => Promise<number>;
};
type WalkPage = { readonly afterId: string | null; readonly limit: number; readonly signal: AbortSignal };
type Walk<Row> = {
  readonly pages: AsyncGenerator<LinkedPage<Row>, void>;
  /** Whether every page is used as it came; false for a walk that skipped some. */
  readonly isWhole: boolean;
  /** The rows behind `lastId`, with which the last page ended. */
  rows: Row[];
  lastId: string | null;
  total: number;
  /** The total at which the ERP is asked whether it has as many. */
  checkAt: number;
  changeToken: string | null;
};

const minCounted = 100;

/** Adds the next page; false behind the last one. Rejects with PAGE_REPEATS for far more rows than there are. */
async function extend<Row>(walk: Walk<Row>, count: LinkedList<Row>['count']): Promise<boolean> {
  const { done, value } = await walk.pages.next();
  if (done === true) return false;
  walk.rows.push(...value.rows);
  walk.total += value.rows.length;
  walk.changeToken = value.changeToken;
  if (walk.total < walk.checkAt) return true;
  const counted = await count();
  if (walk.total > 2 * (counted + minCounted)) {
    const message = `The ERP counts ${counted} records, and its pages have ${walk.total} and go on`;
    throw httpError('answer', 'PAGE_REPEATS', message);
  }
  walk.checkAt = 2 * walk.total;
  return true;
}

/** From the row behind `afterId` on; null: from the first one. */
async function startWalk<Row extends { readonly id: string }>(
  { open, count }: LinkedList<Row>,
  afterId: string | null,
): Promise<Walk<Row>> {
  const state = { rows: [], lastId: afterId, total: 0, checkAt: minCounted, changeToken: null };
  const walk: Walk<Row> = { pages: open(), isWhole: afterId === null, ...state };
  for (let index = -1; afterId !== null && index < 0; ) {
    walk.rows = [];
    if (!(await extend(walk, count)))
      throw httpError('answer', 'CURSOR_GONE', `The record ${afterId} is no longer listed`);
    index = walk.rows.findIndex(({ id }) => id === afterId);
    walk.rows.splice(0, index + 1);
  }
  return walk;
}

/**
 * A page that goes on where the last one with the same signal ended follows the links; any other one begins at
 * the start and skips what is known: what changed since those were read isn't tracked then. The function
 * rejects as the list does, with PAGE_REPEATS for pages that don't end, and CURSOR_GONE where the last record is
 * gone.
 */
export function createWalker<Row extends { readonly id: string }>() {
  const walksOf = new WeakMap<AbortSignal, Map<string, Walk<Row>>>();
  return async (list: LinkedList<Row>, { afterId, limit, signal }: WalkPage) => {
    const walks = walksOf.get(signal) ?? new Map<string, Walk<Row>>();
    walksOf.set(signal, walks);
    const known = walks.get(list.name);
    walks.delete(list.name);
    const isNext = afterId !== null && known?.lastId === afterId;
    const walk = isNext ? known : await startWalk(list, afterId);
    while (walk.rows.length <= limit && (await extend(walk, list.count)));
    // A row that moved while the pages were read is there twice.
    const rows = [...new Map(walk.rows.splice(0, limit).map((row) => [row.id, row])).values()];
    walk.lastId = rows.at(-1)?.id ?? null;
    const hasMore = walk.rows.length > 0;
    if (hasMore) walks.set(list.name, walk);
    return { rows, hasMore, changeToken: !hasMore && walk.isWhole ? walk.changeToken : null };
  };
}
