// Walks the pages of a list. When a sync commits in between, the walk starts again and leaves out the records
// that it has given.
import { ApiError, InterruptedError } from './errors.ts';
import { type Query, writeQuery } from './query.ts';
import type { CallOptions, Freshness, Transport } from './transport.ts';

export type Pagination = {
  readonly total: number;
  readonly page: number;
  readonly pageSize: number;
  readonly totalPages: number;
};
export type Page<Item> = Freshness & { readonly data: Item[]; readonly pagination: Pagination };

export type List<Item> = AsyncIterable<Item> & {
  /** One page: the first, or that of the parameter `page`. */
  readonly page: () => Promise<Page<Item>>;
  /**
   * The pages from there to the end. A record that exists throughout is given exactly once, also when syncs
   * commit in between: pages that come after such a sync leave out what was given before it.
   */
  readonly pages: () => AsyncIterable<Page<Item>>;
};

export type Walk<Item> = {
  readonly transport: Transport;
  readonly path: string;
  readonly query: Query;
  /** For walks whose parameters don't say one. */
  readonly maxPageSize?: number | undefined;
  readonly expands?: boolean;
  readonly toItem: (record: unknown) => Item;
  readonly options: CallOptions;
};

type Position = { readonly page: number; readonly pageSize: number | undefined };

async function readPage<Item>(walk: Walk<Item>, query: Query): Promise<Page<Item>> {
  const {
    body,
    text: _,
    ...freshness
  } = await walk.transport.read(walk.path + writeQuery(query, walk), walk.options);
  const { data, pagination } = body as { readonly data: unknown[]; readonly pagination: Pagination };
  return { ...freshness, data: data.map(walk.toItem), pagination };
}

/** The first page of a walk may be too large before its size is known; its place is the same in any size. */
const firstSmaller = 10;
/** Restarts without a record that wasn't given before. */
const maxVainRestarts = 5;

/** The same place in pages of at most half the size; undefined for pages of one record. */
function halve({ page, pageSize }: Position): Position | undefined {
  if (pageSize === undefined) return page === 1 ? { page, pageSize: firstSmaller } : undefined;
  const start = (page - 1) * pageSize;
  for (let size = Math.floor(pageSize / 2); size > 0; size -= 1)
    if (start % size === 0) return { page: start / size + 1, pageSize: size };
  return undefined;
}

const writePosition = ({ page, pageSize }: Position): Query => ({
  page,
  ...(pageSize !== undefined && { pageSize }),
});

async function* walkPages<Item extends { readonly id: string }>(walk: Walk<Item>) {
  const { page: first = 1, pageSize, ...query } = walk.query;
  const start: Position = {
    page: Number(first),
    pageSize: pageSize === undefined ? walk.maxPageSize : Number(pageSize),
  };
  const given = new Set<string>();
  let generation: string | undefined;
  let vainRestarts = 0;
  let at = start;
  for (;;) {
    let page: Page<Item>;
    try {
      page = await readPage(walk, { ...query, ...writePosition(at) });
    } catch (error) {
      const isTooLarge = error instanceof ApiError && error.hasDetail('page_too_large');
      const smaller = isTooLarge && pageSize === undefined ? halve(at) : undefined;
      if (smaller === undefined) throw error;
      at = smaller;
      continue;
    }
    const hasChanged = generation !== undefined && generation !== page.generation;
    generation = page.generation;
    if (hasChanged && at.page > start.page) {
      vainRestarts += 1;
      if (vainRestarts > maxVainRestarts)
        throw new InterruptedError('The records change faster than the list can be read: use export');
      at = start;
      continue;
    }
    const data = page.data.filter(({ id }) => !given.has(id));
    for (const { id } of data) given.add(id);
    if (data.length > 0) vainRestarts = 0;
    yield { ...page, data };
    if (at.page >= page.pagination.totalPages) return;
    at = { page: at.page + 1, pageSize: page.pagination.pageSize };
  }
}

export function createList<Item extends { readonly id: string }>(walk: Walk<Item>): List<Item> {
  return {
    page: () => readPage(walk, walk.query),
    pages: () => walkPages(walk),
    async *[Symbol.asyncIterator]() {
      for await (const { data } of walkPages(walk)) yield* data;
    },
  };
}
