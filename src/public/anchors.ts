// Anchors of deep pages, remembered per epoch, generation, filter and sort, as long as data don't change. Of several requests that
// need the same ones, one has them built and the others wait for it.
import { openTally, type Tally } from '../core/tally.ts';
import { openByteCache } from './byte-cache.ts';
import { type ListPlan, sortKey } from './plan.ts';
import type { Anchor, Anchors } from './ranges.ts';

export type AnchorCache = {
  /** Rows from one anchor to the next in lists that are not very long; undefined when there is no room for any. */
  readonly every: number | undefined;
  held(key: string): Anchors | undefined;
  /** `build` must give the anchors of the data that the key names; it may find that there are others by now. */
  get(key: string, build: () => Promise<Built>): Promise<Anchors | undefined>;
};
export type Built = { readonly key: string; readonly anchors: Anchors };

/** Longer lists have them further apart, so that none takes all of the memory. */
const mostAnchors = 2_000;
export const spacingFor = (total: number, every: number): number => Math.max(every, Math.ceil(total / mostAnchors));

export const anchorKey = (totalKey: string, { sort }: Pick<ListPlan, 'sort'>): string => `${totalKey} ${sortKey(sort)}`;

type Counted = readonly [count: number, anchors: readonly (readonly [number, string | null, string])[]];
/** Reads what the statement of sql.ts wrote. */
export function readAnchors(text: string | null): Anchors['valued'] {
  if (text === null) return { count: 0, anchors: [] };
  const [count, anchors] = JSON.parse(text) as Counted;
  return { count, anchors: [...anchors].sort(([a], [b]) => a - b).map(([, key, id]): Anchor => ({ key, id })) };
}

/** Objects and their texts, two bytes a character where it is not Latin. */
const anchorBytes = 120;
const bytesOf = ({ valued, nulls }: Anchors): number =>
  [...valued.anchors, ...nulls.anchors].reduce((sum, { key, id }) => sum + anchorBytes + 2 * ((key?.length ?? 0) + id.length), 0);

export function openAnchors(maxBytes: number, every: number, tally: Tally = openTally()): AnchorCache {
  const cache = openByteCache<Anchors>(maxBytes, bytesOf);
  const building = new Map<string, Promise<Built>>();
  const held = (key: string): Anchors | undefined => {
    const known = cache.get(key);
    if (known !== undefined) tally.hits += 1;
    return known;
  };
  return {
    every: maxBytes === 0 ? undefined : every,
    held,
    async get(key, build) {
      const known = held(key);
      if (known !== undefined) return known;
      const already = building.get(key);
      if (already === undefined) tally.misses += 1;
      else tally.hits += 1;
      const under = already ?? build();
      building.set(key, under);
      try {
        const built = await under;
        cache.set(built.key, built.anchors);
        return built.key === key ? built.anchors : undefined;
      } finally {
        if (building.get(key) === under) building.delete(key);
      }
    },
  };
}
