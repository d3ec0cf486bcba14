// Clients of a change feed that remember every token they ever got, with the copy of the records that it
// stands for. From each of them a client that follows the feed must end with the contents of the list, unless
// a failover lost what the token has seen: then it gets 410.
import type { Express } from 'express';
import type { Answer, Oracle } from './answer-oracle.ts';

type Token = {
  readonly since: string;
  readonly copy: ReadonlyMap<string, unknown>;
  readonly generation: bigint;
  isLost: boolean;
};
type Page = {
  data: { op: 'upsert' | 'delete'; id: string; record: unknown }[];
  next: string;
  hasMore: boolean;
};

export type ChangeClients = ReturnType<typeof createChangeClients>;

const feed = '/v1/things/changes';

export function createChangeClients(
  oracle: Oracle,
  readList: (app: Express) => Promise<Map<string, unknown>>,
) {
  const tokens: Token[] = [];
  let followed = 0;
  let expired = 0;
  const readPage = (app: Express, since: string | null, limit: number): Promise<Answer> =>
    oracle.read(app, `${feed}?limit=${limit}${since === null ? '' : `&since=${since}`}`);
  const apply = (copy: ReadonlyMap<string, unknown>, { data }: Page): Map<string, unknown> => {
    const next = new Map(copy);
    for (const { op, id, record } of data) {
      if (op === 'upsert') next.set(id, record);
      else next.delete(id);
    }
    return next;
  };
  const follow = async (
    app: Express,
    from: Token | null,
    limit: number,
    maxPages: number,
  ): Promise<ReadonlyMap<string, unknown> | undefined> => {
    let copy = from?.copy ?? new Map<string, unknown>();
    let since = from?.since ?? null;
    for (let at = 0; at < maxPages; at += 1) {
      const { status, text, generation } = await readPage(app, since, limit);
      if (status === 410) return undefined;
      if (status !== 200) throw new Error(`the feed answered ${status} ${text}`);
      const page = JSON.parse(text) as Page;
      copy = apply(copy, page);
      since = page.next;
      tokens.push({ since, copy, generation, isLost: false });
      if (!page.hasMore) return copy;
    }
    return undefined;
  };
  return {
    /** Follows the feed from the beginning for at most `pages` pages, and keeps the tokens. */
    start: async (app: Express, limit: number, pages: number): Promise<void> => {
      await follow(app, null, limit, pages);
    },
    /** Follows it to the end from a token that was kept, and compares with the list. */
    resume: async (app: Express, limit: number, choose: <T>(of: readonly T[]) => T): Promise<void> => {
      if (tokens.length === 0) return;
      // Tokens that saw what is lost are few, and are what must be refused.
      const lost = tokens.filter(({ isLost }) => isLost);
      const token = choose(choose([tokens, lost.length > 0 ? lost : tokens]));
      const copy = await follow(app, token, limit, Number.POSITIVE_INFINITY);
      if ((copy === undefined) !== token.isLost)
        throw new Error(
          `a token of generation ${token.generation} is ${token.isLost ? 'accepted, although lost' : 'rejected'}`,
        );
      if (copy === undefined) {
        expired += 1;
        return;
      }
      followed += 1;
      const sorted = (of: ReadonlyMap<string, unknown>) =>
        JSON.stringify([...of].sort(([a], [b]) => Number(a) - Number(b)));
      const [own, list] = [sorted(copy), sorted(await readList(app))];
      if (own !== list)
        throw new Error(`a client from generation ${token.generation} has\n${own}\ninstead of\n${list}`);
    },
    /** A failover left this generation: what was read from later ones is lost. */
    lose: (surviving: bigint): void => {
      for (const token of tokens) token.isLost ||= token.generation > surviving;
    },
    get followed() {
      return followed;
    },
    get expired() {
      return expired;
    },
  };
}
