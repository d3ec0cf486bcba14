// The aggregates that agents compute, compared with sums over the filtered answer of an unlimited reader.
import { expect } from 'vitest';
import type { AppError } from '../../src/core/errors.ts';
import type { Answer } from './call.ts';
import { byValue, computeAverage, isNumeric, respelled, toText } from './computed.ts';
import { type FieldModel, sumDecimals, visibleFields } from './model.ts';
import { allowedNames, type Case, computeExpected, findRefusal, inspect } from './oracle.ts';
import { selectionInput } from './queries.ts';
import { createRandom, parseExact } from './random.ts';
import type { Surface } from './surfaces.ts';

type Aggregates = Record<string, unknown>;

function computeAggregates(
  records: readonly Record<string, unknown>[],
  field: FieldModel | undefined,
): Aggregates {
  const count = { count: `#${records.length}` };
  if (field === undefined) return count;
  const values = records
    .flatMap((record) => (record[field.name] === null ? [] : [toText(record[field.name])]))
    .sort(byValue(field.kind));
  const range = {
    ...count,
    values: `#${values.length}`,
    min: respelled(values[0] ?? null),
    max: respelled(values.at(-1) ?? null),
  };
  if (!isNumeric(field.kind)) return range;
  return {
    ...range,
    sum: values.length === 0 ? null : sumDecimals(values),
    average: values.length === 0 ? null : computeAverage(values),
  };
}

const comparable = (aggregates: Aggregates): string =>
  JSON.stringify(Object.entries(aggregates).map(([name, value]) => [name, respelled(value)]));

/** The answer of the tool, or its refusal, as if it had been sent. */
export async function callAggregate(one: Case, input: object): Promise<Answer> {
  const { service, fixture } = one.oracle;
  const tenant = { ...service.ctx, organizationId: fixture.organizationId };
  const answer = (status: number, text: string): Answer => ({
    status,
    text,
    headers: {},
    head: '',
    isWhole: true,
    raw: Buffer.from(text),
  });
  const complete = {
    orderBy: 'count' as const,
    limit: 100,
    version: one.version.version,
    resource: one.endpoint.name,
    ...input,
  };
  try {
    return answer(
      200,
      await service.tools.aggregate(
        tenant,
        { reads: one.reader.access, masks: 'own', maxCharacters: 100_000 },
        complete,
      ),
    );
  } catch (error) {
    const { status, code, message, details } = error as AppError;
    if (status === undefined) throw error;
    return answer(status, JSON.stringify({ error: { code, message, details } }));
  }
}

async function checkAggregate(one: Case): Promise<void> {
  const random = createRandom(one.seed);
  const scalars = one.endpoint.fields.filter(({ kind }) => kind !== 'lines');
  const ordered = scalars.filter(({ kind }) => isNumeric(kind) || kind === 'date' || kind === 'time');
  const field = ordered.length > 0 && random.chance(0.7) ? random.pick(ordered) : undefined;
  const groupBy = random.chance(0.5) ? random.pick(scalars) : undefined;
  const input = {
    ...selectionInput(one.query),
    ...(field !== undefined && { field: field.name }),
    ...(groupBy !== undefined && { groupBy: groupBy.name }),
  };
  const answer = await callAggregate(one, input);
  const named = [
    ...(field === undefined ? [] : [field.name]),
    ...(groupBy === undefined ? [] : [groupBy.name]),
  ];
  const usable = visibleFields(one.reader.access, one.endpoint).filter(
    ({ mask }) => mask === null || one.reader.access.unmasked,
  );
  const isRefused = named.some((name) => !usable.some((one) => one.name === name));
  const expected = await computeExpected(one, ['filters']);
  if (isRefused || expected.kind === 'refused') {
    expect([400, 403], answer.text).toContain(answer.status);
    inspect(one, answer, JSON.stringify(input), {
      names: findRefusal(one, []) === undefined ? allowedNames(one, 'resource') : new Set(),
    });
    return;
  }
  if (answer.status === 400 && answer.text.includes('answer_too_long')) return;
  expect(answer.status, answer.text).toBe(200);
  const found = parseExact(answer.text) as { totalGroups?: string; groups?: Aggregates[] } & Aggregates;
  // Sums and averages are values of no record.
  const computed = [
    computeAggregates(expected.whole, field),
    ...(groupBy === undefined ? [] : [...aggregateGroups(expected.whole, groupBy, field)]),
  ];
  inspect(one, answer, JSON.stringify(input), {
    names: allowedNames(one, 'resource'),
    records: [...expected.records, ...computed],
  });
  if (groupBy === undefined) {
    const { freshness: _freshness, ...aggregates } = found;
    expect(comparable(aggregates)).toBe(comparable(computeAggregates(expected.whole, field)));
    return;
  }
  const groups = aggregateGroups(expected.whole, groupBy, field);
  expect(found.totalGroups).toBe(`#${groups.size}`);
  expect(found.groups?.length).toBe(Math.min(groups.size, 100));
  for (const { value, ...aggregates } of found.groups ?? []) {
    const wanted = groups.get(value === null ? '' : toText(value));
    expect(comparable(aggregates)).toBe(wanted === undefined ? 'no such group' : comparable(wanted));
  }
}

/** Equal numbers are one group, without zeros at the end. */
const toKey = (value: unknown, { kind }: FieldModel): string =>
  value === null ? '' : toText(kind === 'number' ? respelled(value) : value);

function aggregateGroups(
  records: readonly Record<string, unknown>[],
  groupBy: FieldModel,
  field: FieldModel | undefined,
): Map<string, Aggregates> {
  const groups = Map.groupBy(records, (record) => toKey(record[groupBy.name], groupBy));
  return new Map([...groups].map(([value, list]) => [value, computeAggregates(list, field)]));
}

export const aggregateSurface: Surface = { name: 'aggregate', check: checkAggregate };
