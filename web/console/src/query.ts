// Reads that screens share: what was read before is shown at once and read again. A screen that is not
// visible reads nothing, and repeated reads leave most of the rate limit of a person (60 requests a minute)
// for what they do.
import { useLayoutEffect, useMemo } from 'preact/hooks';
import { type Answer, api, type paths } from './api.ts';
import { loadEntry, type Read, reload } from './read-cache.ts';

export { expire, invalidate, type Read } from './read-cache.ts';

/** All pages of a list. */
export async function readPages<Page extends { readonly pagination: { readonly totalPages: number } }>(
  readPage: (page: number) => Promise<Page>,
): Promise<[Page, ...Page[]]> {
  const first = await readPage(1);
  const others = Array.from({ length: first.pagination.totalPages - 1 }, (_, index) => readPage(index + 2));
  return [first, ...(await Promise.all(others))];
}

/** An answer younger than this is not read again when another screen shows it. */
const freshMs = 3_000;

/**
 * Reads `load` under `key`, unless that is younger than `maxAgeMs`, and again every `everyMs` while the page
 * is visible and when it becomes visible. A null key reads nothing.
 */
export function useRead<T>(
  key: string | null,
  load: () => Promise<T>,
  { everyMs, maxAgeMs = freshMs }: { everyMs?: number | undefined; maxAgeMs?: number } = {},
): Read<T> & { reload(): Promise<void> } {
  // `load` belongs to its key: a later one reads the same.
  const entry = useMemo(() => loadEntry(key ?? '', load), [key]);
  // Before the screen is painted, so that the request is sent a frame earlier.
  useLayoutEffect(() => {
    if (key === null) return;
    entry.users += 1;
    if (Date.now() - entry.state.peek().at > maxAgeMs) void reload(entry);
    const readAgain = (): void => {
      if (!document.hidden) void reload(entry);
    };
    const timer = everyMs === undefined ? undefined : setInterval(readAgain, everyMs);
    if (timer !== undefined) document.addEventListener('visibilitychange', readAgain);
    return () => {
      entry.users -= 1;
      clearInterval(timer);
      document.removeEventListener('visibilitychange', readAgain);
    };
  }, [entry, key, everyMs]);
  return { ...(entry.state.value as Read<T>), reload: () => reload(entry) };
}

type GetPath = {
  [P in keyof paths]: paths[P] extends { get: { responses: unknown } } ? P : never;
}[keyof paths];
type Init<P extends GetPath> = paths[P]['get'] extends { parameters: infer Given }
  ? Partial<Given>
  : Record<string, never>;

/**
 * Reads an operation of the management interface: `useGet('/syncs/{id}', {path: {id}})`. A null path reads
 * nothing.
 */
export function useGet<P extends GetPath>(
  path: P | null,
  params: Init<P> = {} as Init<P>,
  options: { everyMs?: number | undefined } = {},
): Read<Answer<P>> & { reload(): Promise<void> } {
  const key = path === null ? null : `${path} ${JSON.stringify(params)}`;
  const load = async (): Promise<Answer<P>> => {
    // The path is one of GET by its type, which openapi-fetch checks by overloads that a generic call can't
    // name.
    const call = api.GET as unknown as (at: string, init: unknown) => Promise<{ data: Answer<P> }>;
    return (await call(path ?? '', { params })).data;
  };
  return useRead(key, load, options);
}
