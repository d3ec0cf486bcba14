// Follows the changes of a resource from a stored position.
import { ApiError } from './errors.ts';
import { type Query, writeQuery } from './query.ts';
import type { CallOptions, Transport } from './transport.ts';

/** Keeps the position in the changes of one resource. */
export type ChangeStore = {
  /** What was saved last, if anything. */
  readonly load: () => Promise<string | undefined>;
  readonly save: (position: string) => Promise<void>;
};

export type Reset = { readonly op: 'reset' };
export type Upsert<Item> = {
  readonly op: 'upsert';
  readonly id: string;
  /** When the service published the change: RFC 3339. */
  readonly at: string;
  readonly record: Item;
};
export type Deletion = {
  readonly op: 'delete';
  readonly id: string;
  readonly at: string;
  readonly record: null;
};
/** `reset`: discard your copy; what comes next is everything. */
export type Change<Item> = Reset | Upsert<Item> | Deletion;

export type ChangePage<Item> = {
  /** Discard your copy before you apply the changes. */
  readonly reset: boolean;
  readonly changes: (Upsert<Item> | Deletion)[];
  /** Where the next page begins. */
  readonly next: string;
};

export type Changes<Item> = AsyncIterable<Change<Item>> & {
  /** The changes page by page, for a copy that stores `next` in the same transaction. */
  readonly pages: () => AsyncIterable<ChangePage<Item>>;
};

export type ChangesOptions = CallOptions & {
  /** Where the last walk ended. Without `store` and `since`, the walk begins with everything. */
  readonly store?: ChangeStore;
  readonly since?: string;
};

type Following = {
  readonly transport: Transport;
  readonly path: string;
  readonly toItem: (record: unknown) => unknown;
  readonly options: ChangesOptions;
};
type Body = {
  readonly data: readonly (Upsert<unknown> | Deletion)[];
  readonly next: string;
  readonly hasMore: boolean;
};

const pageSize = 1_000;
const hasExpired = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 410 && error.hasDetail('token_expired');

/** The next page; from the beginning when the position is no longer known to the service. */
async function readPage({ transport, path, options }: Following, since: string | undefined) {
  const read = async (query: Query) =>
    (await transport.read(path + writeQuery({ limit: pageSize, ...query }), options)).body as Body;
  if (since === undefined) return { reset: true, ...(await read({})) };
  try {
    return { reset: false, ...(await read({ since })) };
  } catch (error) {
    if (!hasExpired(error)) throw error;
    return { reset: true, ...(await read({})) };
  }
}

async function* walkPages(following: Following): AsyncGenerator<ChangePage<unknown>> {
  const { store, since } = following.options;
  let position = since ?? (await store?.load());
  for (;;) {
    const { reset, data, next, hasMore } = await readPage(following, position);
    const changes = data.map((change) =>
      change.op === 'upsert' ? { ...change, record: following.toItem(change.record) } : change,
    );
    if (reset || changes.length > 0) yield { reset, changes, next };
    // Only here has the caller processed the page.
    if (next !== position) await store?.save(next);
    position = next;
    if (!hasMore) return;
  }
}

export function followChanges(following: Following): Changes<unknown> {
  return {
    pages: () => walkPages(following),
    async *[Symbol.asyncIterator]() {
      for await (const { reset, changes } of walkPages(following)) {
        if (reset) yield { op: 'reset' };
        yield* changes;
      }
    },
  };
}
