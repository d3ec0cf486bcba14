// Plans `expand`: which related records a read embeds in each of its records, each in the shape that its own
// endpoint has for this reader. Pure.
import { didYouMean } from '../../../core/text/nearest-name.ts';
import type { CompiledRelation, ReadableEndpoint } from '../../version/compile.ts';
import { readableRelations } from '../../version/narrow.ts';
import { maxSuggestions, type ReportProblem } from './parameters.ts';
import type { QueryParameters } from './request.ts';

/** `endpoint` is null when this reader may not read that resource: the related record is then always null. */
export type Expansion = { readonly relation: CompiledRelation; readonly endpoint: ReadableEndpoint | null };

/** An expansion that is read. */
export type ReadExpansion = Expansion & { readonly endpoint: ReadableEndpoint };

export const maxExpansions = 3;
export const expandParameter = 'expand';
export const noExpansions: readonly Expansion[] = [];

/**
 * The parameters that the relations of an endpoint add to its own; without relations, `expand` is not a
 * parameter.
 */
export const withExpand = (own: ReadonlySet<string>, { relations }: ReadableEndpoint): ReadonlySet<string> =>
  relations.size === 0 ? own : new Set([...own, expandParameter]);

/** Parameters that are accepted, and not named to a reader who may read no related record. */
export const unnamedParameters = (endpoint: ReadableEndpoint): ReadonlySet<string> =>
  new Set(readableRelations(endpoint).length === 0 ? [expandParameter] : []);

/** Whether the query expands a relation whose field this reader sees masked. */
export const expandsMasked = ({ maskedRelations }: ReadableEndpoint, query: QueryParameters): boolean =>
  maskedRelations.size > 0 &&
  (query.get(expandParameter) ?? []).some((text) =>
    text.split(',').some((name) => maskedRelations.has(name)),
  );

/** The expansions of a query in the order of the relations; problems go to `report`. */
export function parseExpand(
  endpoint: ReadableEndpoint,
  query: QueryParameters,
  report: ReportProblem,
): readonly Expansion[] {
  const { relations } = endpoint;
  const texts = relations.size === 0 ? undefined : query.get(expandParameter);
  if (texts === undefined) return noExpansions;
  const [text = ''] = texts;
  const names = new Set(text.split(','));
  const unknown = [...names].filter((name) => !relations.has(name));
  if (texts.length > 1)
    report(
      expandParameter,
      'repeated_parameter',
      '"expand" may be given only once: separate several names by commas',
    );
  else if (text === '') report(expandParameter, 'empty_value', '"expand" must not be empty');
  else if (unknown.length > 0) {
    const known = readableRelations(endpoint);
    const takes = known.length === 0 ? '' : ` "expand" takes: ${known.join(', ')}.`;
    for (const name of unknown.slice(0, maxSuggestions)) {
      const message = `Unknown relation "${name.slice(0, 80)}".${takes}${didYouMean(name, known)}`;
      report(expandParameter, 'unknown_relation', message);
    }
  } else if (names.size > maxExpansions) {
    report(expandParameter, 'too_many_values', `"expand" takes at most ${maxExpansions} relations`);
  } else {
    return [...relations.values()]
      .filter(({ name }) => names.has(name))
      .map((relation) => ({ relation, endpoint: endpoint.findRelated(relation) }));
  }
  return noExpansions;
}

/**
 * The part of the `normalized` text of a plan that names its related records: equal for readers who are shown
 * the same ones.
 */
export const expansionsKey = (expansions: readonly Expansion[]): readonly (readonly string[])[] =>
  expansions.map(({ relation, endpoint }) =>
    endpoint === null ? [relation.name] : [relation.name, endpoint.key, endpoint.reach],
  );

/**
 * The part of the key of a cached plan that tells readers apart who may read the same records of the
 * endpoint, and different related ones. Empty for a query that expands nothing. `queryText` may spell the
 * name of a parameter with escapes.
 */
export function relatedAccessKey(endpoint: ReadableEndpoint, queryText: string): string {
  if (endpoint.relations.size === 0 || !(queryText.includes(expandParameter) || queryText.includes('%')))
    return '';
  const related = [...endpoint.relations.values()].map((relation) => ({
    relation,
    endpoint: endpoint.findRelated(relation),
  }));
  return JSON.stringify(expansionsKey(related));
}

/** Those whose records are read; the other ones are null. */
export const readExpansions = (expansions: readonly Expansion[]): readonly ReadExpansion[] =>
  expansions.flatMap(({ relation, endpoint }) => (endpoint === null ? [] : [{ relation, endpoint }]));

const noTypes: readonly string[] = [];

/** The record types of the related records, which `readRow` takes. */
export const relatedTypes = (expansions: readonly Expansion[]): readonly string[] =>
  expansions.length === 0 ? noTypes : readExpansions(expansions).map(({ endpoint }) => endpoint.recordType);
