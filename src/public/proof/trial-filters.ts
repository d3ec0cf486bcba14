// Which values a filter is measured with. `q` is measured as `contains` on the first field that it searches, `or` with two filters at once.

import type { CompiledEndpoint, FilterParameter } from '../version/compile.ts';
import type { Pair } from './pairs.ts';
import type { TrialColumn, TrialFilter, TrialValue } from './trial-values.ts';
import { type ColumnSample, trialValues } from './trial-values.ts';

/** Undefined for the list without filter, and for `or`. A row scope filters by equality. */
export function trialFilterOf(
  { fields, filters, search }: CompiledEndpoint,
  { filter, scope }: Pick<Pair, 'filter' | 'scope'>,
): TrialFilter | undefined {
  const scoped = fields.find(({ name }) => name === scope);
  if (scoped?.kind === 'value') return { operator: 'eq', column: scoped.column };
  if (filter === null) return undefined;
  const [searched] = search;
  return filter === 'q' && searched !== undefined ? { operator: 'contains', column: searched.column } : filters.get(filter);
}

type Sample = (column: TrialColumn) => Promise<ColumnSample | undefined>;

/** The values of the filter or row scope of a pair, as requests write them; null when the pair has neither. */
export async function trialValuesOf(endpoint: CompiledEndpoint, pair: Pair, sample: Sample): Promise<readonly TrialValue[] | null> {
  const filter = trialFilterOf(endpoint, pair);
  if (filter !== undefined) return valuesOf(filter, sample);
  return pair.filter === 'or' ? alternativesOf(endpoint, sample) : null;
}

async function valuesOf(filter: TrialFilter, sample: Sample): Promise<readonly TrialValue[]> {
  const found = await sample(filter.column);
  return found === undefined ? [] : trialValues(filter, found);
}

/** Two filters that each select a part of the records. */
const alternatives = ({ filters }: CompiledEndpoint): FilterParameter[] =>
  [...filters.values()].filter(({ name, operator }) => name !== 'id' && operator !== 'not' && operator !== 'null').slice(0, 2);

async function alternativesOf(endpoint: CompiledEndpoint, sample: Sample): Promise<readonly TrialValue[]> {
  const chosen = alternatives(endpoint);
  const values = await Promise.all(chosen.map((filter) => valuesOf(filter, sample)));
  return (['common', 'rare', 'absent'] as const).flatMap((kind) => {
    const conditions = chosen.flatMap(({ field, operator }, index) => {
      const value = values[index]?.find((each) => each.kind === kind);
      return value === undefined ? [] : `${field}:${operator}:"${value.text.replaceAll('"', '""')}"`;
    });
    return conditions.length < 2 ? [] : [{ kind, text: `(${conditions.join()})` }];
  });
}
