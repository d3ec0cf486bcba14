// Says in words what trying a version's reads has shown: which are slow, and which are too slow to be promised. Pure.
import type { EndpointDefinition, Problem, Proof } from '../../public/index.ts';
import type { ProofSummary } from './api-schemas.schemas.ts';

type Pair = Proof['pairs'][number];
type Read = Pick<Pair, 'resource' | 'filter' | 'sort' | 'order'> & { readonly value: Pair['trials'][number]['value'] };

const mostWarnings = 20;

/** As a caller would write it, without the value. */
const written = ({ resource, filter, sort, order, value }: Read): string => {
  const parameters = [...(filter === null ? [] : [`${filter}=…`]), ...(sort === null ? [] : [`sort=${sort}`]), `order=${order}`];
  return `${resource}?${parameters.join('&')}${value === 'all' ? '' : ` (${value} value)`}`;
};

/** Where the definition asks for it: the operator of the filter, or else the sort. */
function pathOf(endpoints: readonly EndpointDefinition[], { resource, filter, sort }: Read): string {
  const index = endpoints.findIndex(({ name }) => name === resource);
  const endpoint = endpoints[index];
  for (const [position, { field, operators }] of (endpoint?.filters ?? []).entries()) {
    const operator = operators.findIndex((name) => filter === (name === 'eq' ? field : `${field}_${name}`));
    if (operator !== -1) return `endpoints[${index}].filters[${position}].operators[${operator}]`;
  }
  const at = sort === null ? -1 : (endpoint?.sorts.indexOf(sort) ?? -1);
  return at === -1 ? `endpoints[${index}]` : `endpoints[${index}].sorts[${at}]`;
}

const slowestOf = ({ trials }: Pair): number => Math.max(0, ...trials.map(({ ms }) => ms));

export const slowestFirst = (pairs: Proof['pairs']): Pair[] => [...pairs].sort((a, b) => slowestOf(b) - slowestOf(a));

export function summaryOf(proof: Proof, endpoints: readonly EndpointDefinition[], warnMs: number): ProofSummary {
  const reads = proof.pairs.flatMap(({ trials, ...pair }) => trials.map((trial) => ({ ...pair, ...trial }))).sort((a, b) => b.ms - a.ms);
  const slow = reads.filter(({ ms }) => ms > warnMs);
  return {
    pairs: proof.total,
    tried: proof.pairs.length,
    slowestMs: reads[0]?.ms ?? 0,
    warnings: slow.slice(0, mostWarnings).map((read) => ({
      path: pathOf(endpoints, read),
      code: 'slow_read',
      message: `${written(read)} takes ${Math.round(read.ms)} ms to show the first of ${read.rows} records`,
    })),
  };
}

/** Why the version can't go live; empty when it can. */
export const refusalsOf = ({ timedOut }: Proof, endpoints: readonly EndpointDefinition[], timeoutMs: number): Problem[] =>
  timedOut.map((read) => ({
    path: pathOf(endpoints, read),
    code: 'too_slow',
    message:
      `${written(read)} takes longer than the ${timeoutMs} ms that a read may take${read.counting ? ', to count its records' : ''}: ` +
      `leave out ${advice(read)}, or let reads take longer (READ_TIMEOUT_MS)`,
    blocks: 'publish',
  }));

const advice = ({ filter, sort, counting }: Proof['timedOut'][number]): string => {
  if (filter === null) return sort === null ? 'the resource' : `the sort ${sort}`;
  return counting || sort === null ? `the filter ${filter}` : `the filter ${filter} or the sort ${sort}`;
};
