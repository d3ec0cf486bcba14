// Watches what a run does with the connections of the data pool: for how long each is held, and what for.
import type { Pool, PoolClient } from 'pg';
import type { Ctx } from '../src/core/ctx.ts';

/**
 * `ctx` with a data pool that calls `onConnect` with each connection taken, and what that returned with the
 * ms for which it was held.
 */
export function watchConnections(ctx: Ctx, onConnect: (client: PoolClient) => (heldMs: number) => void): Ctx {
  const pool = ctx.db.data;
  const connect = async (): Promise<PoolClient> => {
    const client = await pool.connect();
    const startMs = performance.now();
    const onRelease = onConnect(client);
    const release = client.release.bind(client);
    client.release = (error) => {
      client.release = release;
      onRelease(performance.now() - startMs);
      release(error);
    };
    return client;
  };
  const watched: Pool = Object.create(pool, {
    connect: { value: connect },
    query: { value: pool.query.bind(pool) },
  });
  return { ...ctx, db: { ...ctx.db, data: watched } };
}

export type Commits = { readonly pagesMs: number[]; readonly publishesMs: number[] };

const toText = (query: unknown): string => {
  if (typeof query === 'string') return query;
  const text = typeof query === 'object' && query !== null && 'text' in query ? query.text : '';
  return typeof text === 'string' ? text : '';
};

/**
 * Notes how long the transactions take that commit a page and that publish, from their first statement to the
 * end of COMMIT.
 */
export function watchCommits(ctx: Ctx): { readonly ctx: Ctx; readonly commits: Commits } {
  const commits: Commits = { pagesMs: [], publishesMs: [] };
  const watched = watchConnections(ctx, (client) => {
    const statements: string[] = [];
    const query = client.query;
    // The pool hands out the same object again: its own method comes back at the release.
    client.query = ((...given: Parameters<typeof query>) => {
      statements.push(toText(given[0]));
      return Reflect.apply(query, client, given);
    }) as typeof query;
    return (heldMs) => {
      client.query = query;
      const does = (what: RegExp): boolean => statements.some((text) => what.test(text));
      if (does(/update \S+\.record_state set generation/)) commits.publishesMs.push(heldMs);
      else if (does(/^copy /)) commits.pagesMs.push(heldMs);
    };
  });
  return { ctx: watched, commits };
}
