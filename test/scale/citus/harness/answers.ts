// Reads the same addresses again and again, and compares every answer with the earlier ones: one entity tag
// names one content.
import { createHash } from 'node:crypto';

/** `url` with the headers of its caller. */
export type Address = { readonly url: string; readonly headers: Record<string, string> };
export type Watched = {
  readonly answers: number;
  readonly longestMs: number;
  /** Statuses other than 200 and 304, broken connections, and entity tags with two contents. */
  readonly problems: readonly string[];
};

/** Starts one reader per address. `stop` waits for the last answers and returns what came. */
export function watchAnswers(addresses: readonly Address[]): {
  readonly answers: () => number;
  stop(): Promise<Watched>;
} {
  const contents = new Map<string, string>();
  const problems = new Set<string>();
  let [answers, longestMs, isStopped] = [0, 0, false];
  async function readOnce({ url, headers }: Address): Promise<void> {
    const startedMs = performance.now();
    const response = await fetch(url, { headers });
    const text = await response.text();
    longestMs = Math.max(longestMs, performance.now() - startedMs);
    answers += 1;
    if (response.status !== 200) {
      problems.add(`${url}: ${response.status} ${text.slice(0, 80)}`);
      return;
    }
    const content = createHash('sha256').update(text).digest('hex');
    const tag = `${url} ${response.headers.get('etag')}`;
    if ((contents.get(tag) ?? content) !== content) problems.add(`${tag} names two contents`);
    contents.set(tag, content);
  }
  async function readOn(address: Address): Promise<void> {
    while (!isStopped)
      await readOnce(address).catch((error: unknown) => {
        problems.add(`${address.url}: ${String(error)}`);
      });
  }
  const readers = addresses.map(readOn);
  return {
    answers: () => answers,
    stop: async () => {
      isStopped = true;
      await Promise.all(readers);
      return { answers, longestMs: Math.round(longestMs), problems: [...problems] };
    },
  };
}
