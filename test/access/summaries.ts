// The summaries of a resource, compared with what the filtered answer of an unlimited reader sums up to.
import { expect } from 'vitest';
import { byValue, computeAverage, respelled, toText } from './computed.ts';
import type { AggregateFunction, EndpointModel, ExactRecord, FieldKind, Period } from './model.ts';
import { sumDecimals } from './model.ts';
import { allowedNames, type Case, computeExpected, type Expected, inspect } from './oracle.ts';
import { filterText, selectionInput } from './queries.ts';
import { createRandom, parseExact, type Random } from './random.ts';
import { checkRefusal, checkTagOf, type Surface, toTarget, useTool } from './surfaces.ts';

type Measure = { readonly name: AggregateFunction; readonly field: string };
type Group = { readonly name: string; readonly field: string; readonly period: Period | null };
type Ask = {
  readonly measures: readonly Measure[];
  readonly by: readonly Group[];
  readonly count: boolean | null;
  readonly sort: string | null;
  readonly limit: number | null;
};
type Row = Record<string, unknown>;

const hasSummary = ({ aggregates, groups }: EndpointModel): boolean => aggregates.length + groups.length > 0;
const findKind = ({ fields }: EndpointModel, name: string): FieldKind =>
  fields.find((field) => field.name === name)?.kind ?? 'text';

const listGroups = ({ groups }: EndpointModel): Group[] =>
  groups.flatMap(({ field, periods }): Group[] =>
    periods === null
      ? [{ name: field, field, period: null }]
      : periods.map((period) => ({ name: `${field}.${period}`, field, period })),
  );

function randomAsk(random: Random, endpoint: EndpointModel): Ask {
  const known = endpoint.aggregates.flatMap(({ field, functions }) =>
    functions.map((name): Measure => ({ name, field })),
  );
  const by = random.some(listGroups(endpoint)).slice(0, random.pick([0, 1, 1, 2]));
  const measures = random.some(known).slice(0, 4);
  const count = random.pick([null, null, true]);
  const sorts = [
    ...by.map(({ name }) => name),
    ...measures.map(({ name, field }) => `${name}.${field}`),
    ...(count === true ? ['count'] : []),
  ];
  const sort =
    sorts.length > 0 && random.chance(0.5) ? `${random.pick(['', '-'])}${random.pick(sorts)}` : null;
  return { measures, by, count, sort, limit: by.length > 0 && random.chance(0.3) ? 1 + random.int(5) : null };
}

const periodStart: Readonly<Record<Period, (day: string) => string>> = {
  day: (day) => day,
  week: (day) => {
    const at = new Date(`${day}T00:00:00Z`);
    return new Date(at.getTime() - ((at.getUTCDay() + 6) % 7) * 86_400_000).toISOString().slice(0, 10);
  },
  month: (day) => day.slice(0, 7),
  quarter: (day) => `${day.slice(0, 4)}-Q${Math.ceil(Number(day.slice(5, 7)) / 3)}`,
  year: (day) => day.slice(0, 4),
};

/** The day of a date, or of a time in the zone of the version. */
const toDay = (text: string, utcOffsetMinutes: number): string =>
  text.length === 10
    ? text
    : new Date(Date.parse(text) + utcOffsetMinutes * 60_000).toISOString().slice(0, 10);

/** As `parseExact` reads it, in one spelling. */
const toKey = (record: ExactRecord, { field, period }: Group, utcOffsetMinutes: number): unknown => {
  const value = record[field] ?? null;
  return value === null || period === null
    ? respelled(value)
    : periodStart[period](toDay(toText(value), utcOffsetMinutes));
};

function computeMeasure(records: readonly ExactRecord[], { name, field }: Measure, kind: FieldKind): unknown {
  const values = records
    .flatMap((record) => (record[field] == null ? [] : [toText(record[field])]))
    .sort(byValue(kind));
  if (name === 'count_distinct') return `#${new Set(values.map(respelled)).size}`;
  if (values.length === 0) return null;
  if (name === 'min') return respelled(values[0]);
  if (name === 'max') return respelled(values.at(-1));
  return respelled(name === 'sum' ? sumDecimals(values) : computeAverage(values));
}

function computeRow(
  records: readonly ExactRecord[],
  endpoint: EndpointModel,
  { measures, by, count }: Ask,
  utcOffsetMinutes: number,
): Row {
  const row: Row = {};
  const [first] = records;
  for (const group of by)
    row[group.name] = first === undefined ? null : toKey(first, group, utcOffsetMinutes);
  if (count ?? measures.length === 0) row['count'] = `#${records.length}`;
  for (const measure of measures)
    row[measure.name] = {
      ...(row[measure.name] as Row | undefined),
      [measure.field]: computeMeasure(records, measure, findKind(endpoint, measure.field)),
    };
  return row;
}

/** Null comes last, whichever way the others are ordered. */
function compareValues(kind: FieldKind, direction: 1 | -1, a: unknown, b: unknown): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return direction * byValue(kind)(toText(a), toText(b));
}

function createComparator(endpoint: EndpointModel, { by, sort }: Ask): (a: Row, b: Row) => number {
  const kindOfGroup = ({ field, period }: Group): FieldKind =>
    period === null ? findKind(endpoint, field) : 'text';
  const keys = by.map(
    (group) => (a: Row, b: Row) => compareValues(kindOfGroup(group), 1, a[group.name], b[group.name]),
  );
  if (sort === null) return (a, b) => keys.reduce((order, key) => order || key(a, b), 0);
  const [name, direction] = sort.startsWith('-') ? [sort.slice(1), -1 as const] : [sort, 1 as const];
  const group = by.find((one) => one.name === name);
  const [measure = '', field = ''] = name.split('.');
  const sortedBy = (row: Row): unknown =>
    group !== undefined || name === 'count' ? row[name] : ((row[measure] as Row)[field] ?? null);
  const isCount = name === 'count' || measure === 'count_distinct';
  const kind = group !== undefined ? kindOfGroup(group) : isCount ? 'integer' : findKind(endpoint, field);
  return (a, b) =>
    compareValues(kind, direction, sortedBy(a), sortedBy(b)) ||
    keys.reduce((order, key) => order || key(a, b), 0);
}

/** All groups in their order. */
function computeRows(
  records: readonly ExactRecord[],
  endpoint: EndpointModel,
  ask: Ask,
  utcOffsetMinutes: number,
): Row[] {
  if (ask.by.length === 0) return [computeRow(records, endpoint, ask, utcOffsetMinutes)];
  const groups = Map.groupBy(records, (record) =>
    JSON.stringify(ask.by.map((group) => toKey(record, group, utcOffsetMinutes))),
  );
  return [...groups.values()]
    .map((list) => computeRow(list, endpoint, ask, utcOffsetMinutes))
    .sort(createComparator(endpoint, ask));
}

const canonical = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return respelled(value);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, canonical(one)]));
};

const pathTo = ({ version, endpoint, query }: Case, { measures, by, count, sort, limit }: Ask): string => {
  const parts = [
    ...measures.map(({ name, field }) => `${name}=${field}`),
    ...by.map(({ name }) => `by=${name}`),
    ...(count === null ? [] : [`count=${count}`]),
    ...(sort === null ? [] : [`sort=${sort}`]),
    ...(limit === null ? [] : [`limit=${limit}`]),
    ...filterText(query),
  ];
  return `${version.version}/${endpoint.name}/summary${parts.length === 0 ? '' : `?${parts.join('&')}`}`;
};

type Planned = {
  readonly ask: Ask;
  readonly expected: Expected;
  readonly rows: readonly Row[];
  readonly total: number;
};
async function planned(one: Case): Promise<Planned> {
  const ask = randomAsk(createRandom(one.seed), one.endpoint);
  const expected = await computeExpected(
    one,
    ['filters'],
    [...ask.measures, ...ask.by].map(({ field }) => field),
  );
  const rows =
    expected.kind === 'refused'
      ? []
      : computeRows(expected.whole, one.endpoint, ask, one.oracle.fixture.utcOffsetMinutes);
  return { ask, expected, rows: rows.slice(0, ask.limit ?? rows.length), total: rows.length };
}

async function checkSummary(one: Case): Promise<void> {
  if (!hasSummary(one.endpoint)) return;
  const { oracle, reader } = one;
  const { ask, expected, rows, total } = await planned(one);
  const path = pathTo(one, ask);
  const answer = await oracle.get(reader, path);
  const lines = await oracle.get(reader, path, { accept: 'application/x-ndjson' });
  if (expected.kind === 'refused') {
    for (const refusal of [answer, lines]) checkRefusal(one, refusal, path, expected);
    return;
  }
  const allowed = {
    names: allowedNames(one, 'resource'),
    records: [...expected.records, ...rows],
    hasNumbers: true,
  } as const;
  for (const found of [answer, lines]) {
    expect(found.status, found.text).toBe(200);
    inspect(one, found, path, allowed);
  }
  expect(canonical(parseExact(answer.text))).toEqual({ data: rows, total: `#${total}` });
  const texts = lines.text.split('\n').filter(Boolean);
  expect(texts.map((text) => canonical(parseExact(text)))).toEqual(rows);
  await checkTagOf(one, path, answer);
}

/**
 * Numbers that are few enough to be lost in an answer are no sign of records, so that only names and values
 * are inspected.
 */
async function checkSummaryTool(one: Case): Promise<void> {
  if (!hasSummary(one.endpoint)) return;
  const { ask, expected, rows, total } = await planned(one);
  const { measures, by, count, sort, limit } = ask;
  const input = {
    ...toTarget(one),
    ...selectionInput(one.query),
    ...Object.fromEntries(
      [...Map.groupBy(measures, ({ name }) => name)].map(([name, list]) => [
        name,
        list.map(({ field }) => field),
      ]),
    ),
    ...(by.length > 0 && { by: by.map(({ name }) => name) }),
    ...(count !== null && { count }),
    ...(sort !== null && { sort }),
    ...(limit !== null && { limit }),
  };
  const computed: Expected =
    expected.kind === 'refused' ? expected : { ...expected, records: [...expected.records, ...rows] };
  const found = await useTool(
    { ...one, query: { ...one.query, fields: null } },
    'aggregate',
    input,
    computed,
    allowedNames(one, 'resource'),
  );
  if (found === null || expected.kind === 'refused') return;
  const data = canonical(found['data']) as unknown[];
  expect(data).toEqual(rows.slice(0, data.length));
  if (found['cut'] === undefined) expect(data.length).toBe(rows.length);
  expect(found['total']).toBe(`#${total}`);
}

export const summarySurfaces: readonly Surface[] = [
  { name: 'summary', check: checkSummary },
  { name: 'aggregate of /mcp', check: checkSummaryTool },
];
