// Turns measured reads of a version into warnings (slow) and problems (slower than the read timeout). Pure.
import type { DefinitionProblem, EndpointDefinition, GroupDefinition, Proof } from '../../public/index.ts';

type Pair = Proof['pairs'][number];
type Read = Pick<Pair, 'resource' | 'filter' | 'scope' | 'group' | 'sort' | 'order'> & {
  readonly value: Pair['trials'][number]['value'];
};

const maxWarnings = 20;

/** It has its directions in its name. */
const isSortSet = (sort: string | null): boolean => sort?.includes(',') === true;

/** The request as a caller would write it, without the value. */
const formatRead = ({ resource, filter, scope, group, sort, order, value }: Read): string => {
  if (group !== undefined) return `${resource}/summary?by=${group}`;
  const parameters = [
    ...(filter === null ? [] : [`${filter}=…`]),
    ...(sort === null ? [] : [`sort=${sort}`]),
    ...(isSortSet(sort) ? [] : [`order=${order}`]),
  ];
  const under = scope === undefined ? '' : ` under a row scope by ${scope}`;
  return `${resource}?${parameters.join('&')}${under}${value === 'all' ? '' : ` (${value.startsWith('many') ? `${value.replace('_', ' ')} values` : `${value} value`})`}`;
};

const namesGroup = (group: GroupDefinition, name: string): boolean =>
  typeof group === 'string'
    ? group === name
    : group.periods.some((period) => `${group.field}.${period}` === name);

/** In the definition: the summary's group, the row scope's field, the filter's operator, else the sort. */
function toReadPath(
  endpoints: readonly EndpointDefinition[],
  { resource, filter, scope, group, sort }: Read,
): string {
  const index = endpoints.findIndex(({ name }) => name === resource);
  const endpoint = endpoints[index];
  if (group !== undefined)
    return `endpoints[${index}].groups[${(endpoint?.groups ?? []).findIndex((one) => namesGroup(one, group))}]`;
  if (scope !== undefined)
    return `endpoints[${index}].fields[${endpoint?.fields.findIndex(({ name }) => name === scope)}].scopable`;
  for (const [position, { field, operators }] of (endpoint?.filters ?? []).entries()) {
    const operator = operators.findIndex((name) => filter === (name === 'eq' ? field : `${field}_${name}`));
    if (operator !== -1) return `endpoints[${index}].filters[${position}].operators[${operator}]`;
  }
  if (filter === 'q' || filter === 'or') return `endpoints[${index}].${filter === 'q' ? 'search' : 'or'}`;
  if (isSortSet(sort))
    return `endpoints[${index}].sortSets[${(endpoint?.sortSets ?? []).findIndex((keys) => keys.join() === sort)}]`;
  const at = sort === null ? -1 : (endpoint?.sorts.indexOf(sort) ?? -1);
  return at === -1 ? `endpoints[${index}]` : `endpoints[${index}].sorts[${at}]`;
}

const computeSlowestMs = ({ trials }: Pair): number => Math.max(0, ...trials.map(({ ms }) => ms));

export const sortSlowestFirst = (pairs: Proof['pairs']): Pair[] =>
  [...pairs].sort((a, b) => computeSlowestMs(b) - computeSlowestMs(a));

/** Summary with a warning for each read slower than `warnMs`, slowest first. */
export function summarizeProof(proof: Proof, endpoints: readonly EndpointDefinition[], warnMs: number) {
  const reads = proof.pairs
    .flatMap(({ trials, ...pair }) => trials.map((trial) => ({ ...pair, ...trial })))
    .sort((a, b) => b.ms - a.ms);
  const slow = reads.filter(({ ms }) => ms > warnMs);
  return {
    pairs: proof.total,
    tried: proof.pairs.length,
    slowestMs: reads[0]?.ms ?? 0,
    warnings: slow.slice(0, maxWarnings).map((read) => ({
      path: toReadPath(endpoints, read),
      code: 'slow_read',
      message: `${formatRead(read)} takes ${Math.round(read.ms)} ms ${read.group === undefined ? 'for the first page of' : 'for'} ${read.rows} records`,
    })),
  };
}

/** They block publishing; empty when each read stayed within the timeout and cost no more than reads may. */
export const findTooSlowReads = (
  proof: Proof,
  endpoints: readonly EndpointDefinition[],
  timeoutMs: number,
): DefinitionProblem[] => [
  ...timedOutProblems(proof, endpoints, timeoutMs),
  ...proof.costly.map((read) => ({
    path: toReadPath(endpoints, read),
    code: 'too_costly',
    message:
      `${formatRead(read)} takes ${Math.round(read.ms)} ms${read.counting ? ' with the count of its records' : ''}, more than ${read.maxLists} ` +
      `times the ${Math.round(read.plainMs)} ms of the list without filter: remove ${advice(read)}`,
    blocks: 'publish' as const,
  })),
];

const timedOutProblems = (
  { timedOut }: Proof,
  endpoints: readonly EndpointDefinition[],
  timeoutMs: number,
): DefinitionProblem[] =>
  timedOut.map((read) => ({
    path: toReadPath(endpoints, read),
    code: 'too_slow',
    message:
      `${formatRead(read)} takes longer than the read timeout of ${timeoutMs} ms${read.counting ? ' to count its records' : ''}: ` +
      `remove ${advice(read)}, or raise READ_TIMEOUT_MS`,
    blocks: 'publish',
  }));

type Refused = Pick<
  Proof['timedOut'][number],
  'filter' | 'scope' | 'group' | 'sort' | 'counting' | 'distinct'
>;
const advice = ({ filter, scope, group, sort, counting, distinct }: Refused): string => {
  if (group !== undefined) return `the group ${group}${distinct ? ' or the function "count_distinct"' : ''}`;
  if (scope !== undefined) return `"scopable" of the field ${scope}`;
  if (filter === null) return sort === null ? 'the resource' : `the sort ${sort}`;
  return counting || sort === null ? `the filter ${filter}` : `the filter ${filter} or the sort ${sort}`;
};
