// Finds operations by words. Pure. An operation's id and address say most about it, its summary less, its description least.
import type { Route } from '../http/route.ts';

const wordsOf = (text: string): string[] =>
  text
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .match(/[a-z0-9]+/g)
    ?.map((word) => word.replace(/(?<=[a-z]{2})ies$/, 'y').replace(/(?<=[a-z]{2})s$/, '')) ?? [];

type Indexed = { readonly route: Route; readonly weights: ReadonlyMap<string, number> };

function indexOf(route: Route): Indexed {
  const weights = new Map<string, number>();
  const parts: readonly [string, number][] = [
    [route.description ?? '', 1],
    [route.group, 2],
    [route.permission, 2],
    [route.summary, 3],
    [`${route.id} ${route.path}`, 4],
  ];
  for (const [text, weight] of parts) for (const word of wordsOf(text)) weights.set(word, weight);
  return { route, weights };
}

const prefixWeight = 0.5;
function weightOf(word: string, weights: Indexed['weights']): number {
  const exact = weights.get(word);
  if (exact !== undefined) return exact;
  return word.length >= 3 && [...weights.keys()].some((known) => known.startsWith(word)) ? prefixWeight : 0;
}

/** Those that fit best first; what fits more of the words goes before what fits one of them well. */
export function openSearch(routes: readonly Route[]): (text: string) => readonly Route[] {
  const indexed = routes.map(indexOf);
  return (text) => {
    const wanted = [...new Set(wordsOf(text))].slice(0, 20);
    return indexed
      .map(({ route, weights }) => {
        const found = wanted.map((word) => weightOf(word, weights));
        return { route, fitting: found.filter((weight) => weight > 0).length, weight: found.reduce((sum, weight) => sum + weight, 0) };
      })
      .filter(({ fitting }) => fitting > 0)
      .sort((a, b) => b.fitting - a.fitting || b.weight - a.weight)
      .map(({ route }) => route);
  };
}
