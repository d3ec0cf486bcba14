// Answers a reading from the tools' results, in sentences that repeat how the question was understood.
// Reports only what a tool returned.
import { equals, type Filter, filterBy, hasValue } from './filters.ts';
import { listPeriods, type Period } from './periods.ts';
import { type Reading, Unclear } from './readings.ts';
import type { Field, Stats, Tools } from './tools.ts';

const maxShown = 10;
const maxListed = 50;
const maxFields = 7;
const maxPeriods = 36;
const maxCurrencies = 3;
const names: Readonly<Record<string, string>> = {
  sum: 'sum of',
  average: 'average of',
  min: 'smallest',
  max: 'largest',
};

const shown = (value: unknown): string =>
  value === null || value === undefined ? 'empty' : String(value).replaceAll(/\s+/g, ' ');
export const where = (filters: readonly Filter[]): string =>
  filters.length === 0 ? '' : ` where ${filters.map(({ text }) => text).join(' and ')}`;
const counted = ({ resource: { one, many } }: Reading, count: number): string =>
  `${count} ${count === 1 ? one : many}`;
const none = ({ resource, filters }: Reading) => `None: no ${resource.one} was found${where(filters)}.`;
const toInput = ({ resource: { name }, kind, field, filters }: Reading) => ({
  resource: name,
  ...(field !== undefined && kind !== 'list' && kind !== 'record' && { field: field.name }),
  filters: Object.assign({}, ...filters.map(({ parameters }) => parameters)) as Filter['parameters'],
});

const formatResult = (reading: Reading, stats: Stats): string => {
  const { kind, field } = reading;
  if (field === undefined) return counted(reading, stats.count);
  const some = stats.values === stats.count ? '' : ` (${stats.values} have a value)`;
  return `${shown(stats[kind as 'sum'])}, over ${counted(reading, stats.count)}${some}`;
};
const formatTitle = ({ resource, kind, field, filters }: Reading): string =>
  `${field === undefined ? resource.many : `The ${names[kind]} ${field.name}`}${where(filters)}`;
/** Of the amounts that are asked for. */
const findCurrencyField = ({ resource, field }: Reading): Field | undefined =>
  field?.type === 'number' ? resource.currency : undefined;

/**
 * The groups of a field's values, the largest first. Records without a value come last, and are no group when
 * the top is asked for.
 */
async function answerGroups(tools: Tools, reading: Reading, by: Field): Promise<string> {
  const { kind, resource, isTop, limit } = reading;
  const filters = [...reading.filters, ...(isTop ? hasValue(by, resource) : [])];
  const asked = { ...reading, filters };
  const wanted = Math.min(limit ?? maxShown, maxListed);
  // One more that has no value, and one that shows whether the last one ties with the next.
  const { groups, totalGroups } = await tools.groups({
    ...toInput(asked),
    groupBy: by.name,
    orderBy: kind,
    limit: wanted + 2,
  });
  if (totalGroups === 0) return none(asked);
  const formatLine = (group: (typeof groups)[number]): string =>
    `- ${group.value === null ? `no ${by.name}` : shown(group.value)}: ${formatResult(asked, group)}`;
  const [valued, empty] = [
    groups.filter(({ value }) => value !== null),
    groups.filter(({ value }) => value === null),
  ];
  const rows = valued.slice(0, wanted);
  const total = totalGroups - empty.length;
  const part = total > rows.length ? `, the largest ${rows.length} of ${total} groups` : '';
  const selectAmount = (group: Stats | undefined): unknown => group?.[kind as 'sum'];
  const isTie =
    limit !== undefined &&
    valued.length > wanted &&
    selectAmount(valued[wanted]) === selectAmount(rows.at(-1));
  const tie = isTie ? ['Others are as large as the last one.'] : [];
  return [
    `${formatTitle(asked)} by ${by.name}${part}:`,
    ...[...rows, ...(isTop ? [] : empty)].map(formatLine),
    ...tie,
  ].join('\n');
}

/** Amounts in several currencies can't be added or compared: each is answered by itself. */
async function answerByCurrency(
  tools: Tools,
  reading: Reading,
  answer: (reading: Reading) => Promise<string>,
): Promise<string> {
  const currency = findCurrencyField(reading);
  if (currency === undefined) return answer(reading);
  const { groups, totalGroups } = await tools.groups({
    ...toInput(reading),
    groupBy: currency.name,
    limit: maxCurrencies,
  });
  if (totalGroups === 0) return none(reading);
  const found = groups.flatMap(({ value }) => (value === null ? [] : equals(currency, [String(value)])));
  if (totalGroups === 1 && found.length === 0) return answer(reading);
  if (found.length < totalGroups)
    throw new Unclear(`The amounts are in ${totalGroups} currencies, and can't be added or compared.`);
  const filters = reading.filters.filter(({ field }) => field !== currency);
  return (await Promise.all(found.map((one) => answer({ ...reading, filters: [...filters, one] })))).join(
    '\n',
  );
}

/** The periods from the first through the last day, each queried by itself; in order, or largest first. */
async function answerPeriods(tools: Tools, reading: Reading, day: Field, period: Period): Promise<string> {
  const { filters, kind, limit, isTop } = reading;
  const { count, values, min, max } = await tools.aggregate({ ...toInput(reading), field: day.name });
  if (typeof min !== 'string' || typeof max !== 'string') return none(reading);
  const spans = listPeriods({ from: min, to: max }, period, maxPeriods);
  if (spans.length > maxPeriods)
    throw new Unclear(`From ${min} to ${max} there are more than ${maxPeriods} ${period}s: say since when.`);
  // All records are within the first and the last day, so that a condition for the day itself is met.
  const others = filters.filter(({ field }) => field !== day);
  const asked = spans.map(async ({ name, from, to }) => {
    const [within] = filterBy(day, { _gte: from, _lte: to }, '');
    if (within === undefined)
      throw new Unclear(`This version has no filters for days from one ${day.name} to another.`);
    const stats = await tools.aggregate(toInput({ ...reading, filters: [...others, within] }));
    return { size: Number(stats[kind as 'sum'] ?? 0), line: `- ${name}: ${formatResult(reading, stats)}` };
  });
  const found = await Promise.all(asked);
  const ordered = isTop ? found.sort((a, b) => b.size - a.size).slice(0, limit) : found;
  const missing =
    values === count ? [] : [`${counted(reading, count - values)} without a ${day.name} not included.`];
  return [
    `${formatTitle(reading)} by ${period}${isTop ? ', the largest first' : ''}:`,
    ...ordered.map(({ line }) => line),
    ...missing,
  ].join('\n');
}

/** A sum or the like, or counts; amounts by currency, so that different ones are never added. */
async function answerStats(tools: Tools, reading: Reading): Promise<string> {
  const { period, resource } = reading;
  const { day } = resource.main;
  const currency = findCurrencyField(reading);
  const by = reading.groupBy ?? (period === undefined ? currency : undefined);
  if (period !== undefined && day !== undefined)
    return answerByCurrency(tools, reading, (one) => answerPeriods(tools, one, day, period));
  if (by !== undefined && by === currency) return answerGroups(tools, reading, by);
  if (by !== undefined) return answerByCurrency(tools, reading, (one) => answerGroups(tools, one, by));
  return `${formatTitle(reading)}: ${formatResult(reading, await tools.aggregate(toInput(reading)))}`;
}

/**
 * Records: the field by which they are called, then the field that is asked for, and unless that is all of
 * one record, others.
 */
async function answerList(tools: Tools, reading: Reading): Promise<string> {
  const { resource, kind, field, order, limit = maxShown, filters } = reading;
  const called = resource.identity[0]?.name ?? 'id';
  const others = resource.fields.filter(
    (one) => one.kind !== 'lines' && (kind === 'record' || !/^id$|Id$/.test(one.name)),
  );
  const asked = field === undefined ? [] : [field];
  const isOnly = kind === 'record' && field !== undefined;
  const all = new Set(
    (isOnly ? asked : [...asked, ...filters.map((one) => one.field), ...others]).map(({ name }) => name),
  );
  const fields = [...all]
    .filter((name) => name !== called)
    .slice(0, kind === 'record' ? all.size : maxFields);
  const wanted = Math.min(limit, maxListed);
  // One more than wanted shows whether the last one ties with the next.
  const options = { pageSize: wanted + 1, fields: [...new Set(['id', called, ...fields])] };
  const sort = order === undefined ? {} : { sort: field?.name, order };
  const { data, pagination } = await tools.list({ ...toInput(reading), ...options, ...sort });
  if (pagination.total === 0) return none(reading);
  const rows = data.slice(0, wanted);
  const part = rows.length < pagination.total ? `${rows.length} of ` : '';
  const way =
    order === undefined
      ? ''
      : `, by ${field?.name}, ${order === 'asc' ? 'smallest or earliest' : 'largest or latest'} first`;
  const lines = rows.map(
    (row) =>
      `- ${shown(row[called] ?? row.id)}: ${fields.map((name) => `${name} ${shown(row[name])}`).join(', ')}`,
  );
  const isTie =
    order !== undefined &&
    data.length > wanted &&
    data[wanted]?.[field?.name ?? ''] === rows.at(-1)?.[field?.name ?? ''];
  const tie = isTie ? [`Others have the same ${field?.name} as the last one.`] : [];
  return [`${part}${counted(reading, pagination.total)}${where(filters)}${way}:`, ...lines, ...tie].join(
    '\n',
  );
}

/** Resolves to the answer. Rejects with ToolFailed when a tool fails, Unclear for what isn't computable. */
export async function answerReading(tools: Tools, reading: Reading): Promise<string> {
  const { kind, field, groupBy, period, filters } = reading;
  if (kind === 'list' || kind === 'record') return answerList(tools, reading);
  if (field !== undefined || groupBy !== undefined || period !== undefined)
    return answerStats(tools, reading);
  const { count } = await tools.aggregate(toInput(reading));
  return `${kind === 'count' ? '' : count === 0 ? 'No: ' : 'Yes: '}${counted(reading, count)}${where(filters)}.`;
}
