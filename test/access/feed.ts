// Follows change feeds: whatever was synced in between, the copy is the list that the reader may read, and
// nothing else was ever reported.
import { expect } from 'vitest';
import { listConditions } from './model.ts';
import { allowedNames, type Case, computeExpected, inspect } from './oracle.ts';
import { plainQuery } from './queries.ts';
import { createRandom, parseExact } from './random.ts';
import { codesIn } from './surfaces.ts';

type Change = {
  readonly op: 'upsert' | 'delete';
  readonly id: string;
  readonly record: Record<string, unknown> | null;
};
type Page = { readonly data: readonly Change[]; readonly next: string; readonly hasMore: boolean };

export type Follower = {
  /** Catches up page by page and compares the copy with the list. */
  catchUp(): Promise<void>;
  stop(): Promise<void>;
};

/** A client of the feed that the case names. */
export function createFollower(one: Case): Follower {
  const { oracle, reader, version, endpoint } = one;
  const random = createRandom(one.seed);
  const plain: Case = { ...one, query: plainQuery };
  const copy = new Map<string, string>();
  // Without a row scope, the feed also reports what was deleted before this client began.
  const isWhole = listConditions(reader.access, endpoint).length === 0;
  const everReadable = new Set(isWhole ? oracle.fixture.everStored(endpoint.recordType) : []);
  let since: string | null = null;

  const readPage = async (
    token: string | null,
    limit: number,
    current: ReadonlyMap<string, string>,
  ): Promise<Page> => {
    const path = `${version.version}/${endpoint.name}/changes?limit=${limit}${token === null ? '' : `&since=${token}`}`;
    const answer = await oracle.get(reader, path);
    expect(answer.status, answer.text).toBe(200);
    const records = [...[...current.values()].map((text) => JSON.parse(text) as unknown)];
    inspect(plain, answer, '', {
      names: new Set([...allowedNames(plain, 'resource'), ...everReadable]),
      records,
    });
    return parseExact(answer.text) as Page;
  };

  /** Applies what happened after the token to a copy; returns the next token. */
  const follow = async (
    into: Map<string, string>,
    from: string | null,
    current: ReadonlyMap<string, string>,
  ): Promise<string> => {
    const limit = 1 + random.int(40);
    const reported: string[] = [];
    for (let token = from; ; ) {
      const page: Page = await readPage(token, limit, current);
      for (const { op, id, record } of page.data) {
        if (op === 'delete') {
          expect([record, current.has(id), everReadable.has(id)]).toEqual([null, false, true]);
          into.delete(id);
        } else {
          expect(JSON.stringify(record)).toBe(current.get(id));
          into.set(id, JSON.stringify(record));
        }
      }
      reported.push(...page.data.map(({ id }) => id));
      token = page.next;
      if (page.hasMore) continue;
      expect(new Set(reported).size).toBe(reported.length);
      return token;
    }
  };

  /** Positions of a reader of other records are of no use. */
  const checkReach = async (own: string): Promise<void> => {
    if (isWhole) return;
    const address = `${version.version}/${endpoint.name}/changes?limit=1`;
    const { next } = JSON.parse((await oracle.get(oracle.whole, address)).text) as Page;
    const answers = [
      await oracle.get(reader, `${address}&since=${next}`),
      await oracle.get(oracle.whole, `${address}&since=${own}`),
    ];
    for (const answer of answers)
      expect([answer.status, codesIn(answer)], answer.text).toEqual([410, ['token_expired']]);
  };

  return {
    catchUp: async () => {
      const expected = await computeExpected(plain, []);
      if (expected.kind === 'refused') {
        const { status } = await oracle.get(reader, `${version.version}/${endpoint.name}/changes`);
        return void expect(expected.statuses).toContain(status);
      }
      const current = new Map(
        expected.records.map((record) => [String(record['id']), JSON.stringify(record)]),
      );
      for (const id of current.keys()) everReadable.add(id);
      since = await follow(copy, since, current);
      expect(new Map([...copy].sort()), 'the copy that was kept').toEqual(new Map([...current].sort()));
      await checkReach(since);
      const fresh = new Map<string, string>();
      await follow(fresh, null, current);
      expect(new Map([...fresh].sort()), 'a new copy').toEqual(new Map([...current].sort()));
    },
    stop: async () => undefined,
  };
}
