// Which values a filter is measured with. `q` is measured as `contains` on the first field that it searches,
// `or` with two filters at once, and with as many conditions on lines as it takes.

import { maxOrConditions, minOrConditions } from '../read/plan/filters.ts';
import type { CompiledEndpoint, FilterParameter } from '../version/compile.ts';
import type { Pair } from './pairs.ts';
import type { TrialColumn, TrialFilter, TrialValue, ValueKind } from './trial-values.ts';
import { type ColumnSample, trialValues } from './trial-values.ts';

/** Undefined for the list without filter, and for `or`. A row scope filters by equality. */
export function findTrialFilter(
  { fields, filters, search }: CompiledEndpoint,
  { filter, scope }: Pick<Pair, 'filter' | 'scope'>,
): TrialFilter | undefined {
  const scoped = fields.find(({ name }) => name === scope);
  if (scoped?.kind === 'value') return { operator: 'eq', column: scoped.column };
  if (filter === null) return undefined;
  const [searched] = search;
  return filter === 'q' && searched !== undefined
    ? { operator: 'contains', column: searched.column }
    : filters.get(filter);
}

type Sample = (column: TrialColumn) => Promise<ColumnSample | undefined>;

/** The values of the filter or row scope of a pair, as requests write them; null when it has neither. */
export async function sampleTrialValues(
  endpoint: CompiledEndpoint,
  pair: Pair,
  sample: Sample,
): Promise<readonly TrialValue[] | null> {
  const filter = findTrialFilter(endpoint, pair);
  if (filter !== undefined)
    return (await sampleValues(filter, sample)).filter(
      ({ texts }) => pair.scope === undefined || texts.length === 1,
    );
  return pair.filter === 'or'
    ? [...(await sampleAlternatives(endpoint, sample)), ...(await sampleLineAlternatives(endpoint, sample))]
    : null;
}

async function sampleValues(filter: TrialFilter, sample: Sample): Promise<readonly TrialValue[]> {
  const found = await sample(filter.column);
  return found === undefined ? [] : trialValues(filter, found);
}

/** Two filters that each select a part of the records. */
const alternatives = ({ filters }: CompiledEndpoint): FilterParameter[] =>
  [...filters.values()]
    .filter(({ name, operator }) => name !== 'id' && operator !== 'not' && operator !== 'null')
    .slice(0, 2);

async function sampleAlternatives(
  endpoint: CompiledEndpoint,
  sample: Sample,
): Promise<readonly TrialValue[]> {
  const chosen = alternatives(endpoint);
  const values = await Promise.all(chosen.map((filter) => sampleValues(filter, sample)));
  return (['common', 'rare', 'absent'] as const).flatMap((kind) => {
    const conditions = chosen.flatMap(({ field, operator }, index) => {
      const value = values[index]?.find((each) => each.kind === kind);
      return value === undefined ? [] : alternative(field, operator, value.texts[0]);
    });
    return alternativesTrial(kind, conditions);
  });
}

const alternative = (field: string, operator: string, text = ''): string =>
  `${field}:${operator}:"${text.replaceAll('"', '""')}"`;
const alternativesTrial = (kind: ValueKind, conditions: readonly string[]): TrialValue[] =>
  conditions.length < minOrConditions ? [] : [{ kind, texts: [`(${conditions.join()})`] }];

/** Each filter on lines in turn, with further values of those that have them. */
async function sampleLineAlternatives(
  { filters }: CompiledEndpoint,
  sample: Sample,
): Promise<readonly TrialValue[]> {
  const chosen = [...filters.values()].filter(({ column: { line } }) => line !== undefined);
  const values = await Promise.all(chosen.map((filter) => sampleValues(filter, sample)));
  return (
    [
      ['many', 'common'],
      ['many_absent', 'absent'],
    ] as const
  ).flatMap(([kind, single]) => {
    const listTexts = (index: number): readonly string[] =>
      (
        values[index]?.find((each) => each.kind === kind) ??
        values[index]?.find((each) => each.kind === single)
      )?.texts ?? [];
    const rounds = Array.from({ length: maxOrConditions }, (_, round) => round);
    const conditions = rounds.flatMap((round) =>
      chosen.flatMap(({ field, operator }, index) => {
        const text = listTexts(index)[round];
        return text === undefined ? [] : [alternative(field, operator, text)];
      }),
    );
    return alternativesTrial(kind, conditions.slice(0, maxOrConditions));
  });
}
