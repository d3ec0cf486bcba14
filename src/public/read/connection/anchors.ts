// Caches the anchors of deep pages by epoch, generation, filter and sort, for as long as the data does not
// change. When several requests need the same anchors, one builds them and the others wait for it.
import { createCache } from '../../../core/work/cache.ts';
import type { HitCounter } from '../../../core/work/hit-counter.ts';
import { type ListPlan, sortKey } from '../plan/plan.ts';
import type { Anchor, Anchors } from '../plan/ranges.ts';

export type AnchorCache = {
  /** Rows between two anchors in lists of ordinary length; undefined when the cache has no capacity. */
  readonly every: number | undefined;
  find(key: string): Anchors | undefined;
  /**
   * Returns cached anchors or builds them. `build` must return the anchors of the data it actually read; when
   * that is newer than `key`, the result is cached under its own key and undefined is returned. Rejects with
   * the error of `build`.
   */
  load(key: string, build: () => Promise<BuiltAnchors>): Promise<Anchors | undefined>;
};
export type BuiltAnchors = { readonly key: string; readonly anchors: Anchors };

/** Longer lists have wider spacing, so that no single list fills the cache. */
const maxAnchors = 2_000;
export const spacingFor = (total: number, every: number): number =>
  Math.max(every, Math.ceil(total / maxAnchors));

export const anchorKey = (totalKey: string, { sort }: Pick<ListPlan, 'sort'>): string =>
  `${totalKey} ${sortKey(sort)}`;

type Counted = readonly [count: number, anchors: readonly (readonly [number, string | null, string])[]];
/** Parses a result column of `anchorsStatement` (list-sql.ts). */
export function parseAnchors(text: string | null): Anchors['valued'] {
  if (text === null) return { count: 0, anchors: [] };
  const [count, anchors] = JSON.parse(text) as Counted;
  return {
    count,
    anchors: [...anchors].sort(([a], [b]) => a - b).map(([, key, id]): Anchor => ({ key, id })),
  };
}

/** Objects and their strings, at two bytes a character. */
const anchorBytes = 120;
const countBytes = ({ anchors: { valued, nulls } }: BuiltAnchors): number =>
  [...valued.anchors, ...nulls.anchors].reduce(
    (sum, { key, id }) => sum + anchorBytes + 2 * ((key?.length ?? 0) + id.length),
    0,
  );

/** Bounded by `maxBytes`; 0 disables anchors. `every` is the spacing in lists of ordinary length. */
export function createAnchorCache(maxBytes: number, every: number, counter?: HitCounter): AnchorCache {
  const cache = createCache<BuiltAnchors>({ maxBytes, countBytes, toKey: ({ key }) => key, counter });
  return {
    every: maxBytes === 0 ? undefined : every,
    find: (key) => cache.findFresh(key)?.anchors,
    async load(key, build) {
      const built = await cache.load(key, build);
      return built.key === key ? built.anchors : undefined;
    },
  };
}
