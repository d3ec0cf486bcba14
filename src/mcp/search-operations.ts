// Finds operations by keywords. Pure. Id and path weigh most, the summary less, the description least.
import type { Route } from '../http/route/route.ts';

const splitWords = (text: string): string[] =>
  text
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .match(/[a-z0-9]+/g)
    ?.map((word) => word.replace(/(?<=[a-z]{2})ies$/, 'y').replace(/(?<=[a-z]{2})s$/, '')) ?? [];

type Weights = ReadonlyMap<string, number>;

function computeWeights(route: Route): Weights {
  const weights = new Map<string, number>();
  const parts: readonly [string, number][] = [
    [route.description ?? '', 1],
    [route.group, 2],
    [route.permission, 2],
    [route.summary, 3],
    [`${route.id} ${route.path}`, 4],
    // The verb: ids start with one.
    [/^[a-z]+/.exec(route.id)?.[0] ?? '', 6],
  ];
  for (const [text, weight] of parts) for (const word of splitWords(text)) weights.set(word, weight);
  return weights;
}

const rootLength = 5;
/** Words with a common root, such as invite and invitation, count half. */
const isRelated = (word: string, known: string): boolean =>
  word.length >= 3 &&
  (known.startsWith(word) || (word.length >= rootLength && known.startsWith(word.slice(0, rootLength))));

function computeWeight(word: string, weights: Weights): number {
  const exact = weights.get(word);
  if (exact !== undefined) return exact;
  const related = [...weights].filter(([known]) => isRelated(word, known)).map(([, weight]) => weight / 2);
  return Math.max(0, ...related);
}

const emptyWords = new Set(['a', 'an', 'and', 'for', 'in', 'of', 'on', 'the', 'to']);

/** Best matches first. A keyword that matches few operations weighs more than one that matches many. */
export function createOperationSearch(routes: readonly Route[]): (text: string) => readonly Route[] {
  const indexed = routes.map(computeWeights);
  return (text) => {
    const wanted = [...new Set(splitWords(text))].filter((word) => !emptyWords.has(word)).slice(0, 20);
    const scores = routes.map(() => 0);
    for (const word of wanted) {
      const found = indexed.map((weights) => computeWeight(word, weights));
      const rarity = Math.log(1 + routes.length / found.filter((weight) => weight > 0).length);
      for (const [index, weight] of found.entries())
        if (weight > 0) scores[index] = (scores[index] ?? 0) + weight * rarity;
    }
    return routes
      .map((route, index) => ({ route, score: scores[index] ?? 0 }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .map(({ route }) => route);
  };
}
