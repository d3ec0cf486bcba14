// Answers a reading from the tools' results, in sentences that repeat how the question was understood. Reports only what a tool returned.
import type { Filter } from './clauses.ts';
import type { Reading } from './readings.ts';
import type { Stats, Tools } from './tools.ts';

const maxShown = 10;
const maxListed = 50;
const maxFields = 7;
const maxCharacters = 120;
const names: Readonly<Record<string, string>> = { sum: 'sum of', average: 'average of', min: 'smallest', max: 'largest' };

function shown(value: unknown): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return `${value.length} lines`;
  const text = String(value).replaceAll(/\s+/g, ' ');
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}
export const where = (filters: readonly Filter[]): string =>
  filters.length === 0 ? '' : ` where ${filters.map(({ text }) => text).join(' and ')}`;
const counted = ({ resource: { one, many } }: Reading, count: number): string => `${count} ${count === 1 ? one : many}`;
const none = ({ resource }: Reading, filters: readonly Filter[]): string => `None: no ${resource.one} was found${where(filters)}.`;
const inputOf = ({ resource: { name } }: Reading, filters: readonly Filter[]) => ({
  resource: name,
  filters: Object.assign({}, ...filters.map(({ parameters }) => parameters)) as Filter['parameters'],
});

async function answerCount(tools: Tools, reading: Reading): Promise<string> {
  const { kind, filters } = reading;
  const { count } = await tools.aggregate(inputOf(reading, filters));
  const record = filters.slice(0, 1);
  if (kind === 'is' && count === 0 && (await tools.aggregate(inputOf(reading, record))).count === 0) return none(reading, record);
  return `${kind === 'count' ? '' : count === 0 ? 'No: ' : 'Yes: '}${counted(reading, count)}${where(filters)}.`;
}

/** A sum or the like, or groups. Amounts in several currencies can't be added, so they are grouped by currency. */
async function answerStats(tools: Tools, reading: Reading): Promise<string> {
  const { resource, kind, field, groupBy, filters } = reading;
  const input = { ...inputOf(reading, filters), ...(field !== undefined && { field: field.name }) };
  const currency = field?.type === 'number' ? resource.fields.find(({ name }) => name === 'currency') : undefined;
  if (currency !== undefined && groupBy !== undefined && groupBy !== currency) {
    const { totalGroups } = await tools.groups({ ...input, groupBy: currency.name, limit: 1 });
    if (totalGroups > 1) return `These are in ${totalGroups} currencies, which can't be added. Add a condition that leaves one.`;
  }
  const resultOf = (stats: Stats): string => {
    if (field === undefined) return counted(reading, stats.count);
    const some = stats.values === stats.count ? '' : ` (${stats.values} have a value)`;
    return `${shown(stats[kind as 'sum'])}, over ${counted(reading, stats.count)}${some}`;
  };
  const title = `${field === undefined ? resource.many : `The ${names[kind]} ${field.name}`}${where(filters)}`;
  const by = groupBy ?? currency;
  if (by === undefined) return `${title}: ${resultOf(await tools.aggregate(input))}`;
  const { groups, totalGroups } = await tools.groups({ ...input, groupBy: by.name, orderBy: kind, limit: maxShown });
  if (totalGroups === 0) return none(reading, filters);
  const part = totalGroups > groups.length ? `, the largest ${groups.length} of ${totalGroups} groups` : '';
  const lines = groups.map((group) => `- ${group.value === null ? `no ${by.name}` : shown(group.value)}: ${resultOf(group)}`);
  return [`${title} by ${by.name}${part}:`, ...lines].join('\n');
}

/** Records: the field by which they are called, then the fields that are asked for, and unless one record is asked for, others. */
async function answerList(tools: Tools, reading: Reading): Promise<string> {
  const { resource, kind, show, field, order, limit = maxShown, filters } = reading;
  const called = resource.identity[0]?.name ?? 'id';
  const others = resource.fields.filter((one) => one.kind !== 'lines' && (kind === 'record' || !/^id$|Id$/.test(one.name)));
  const sorted = field === undefined ? [] : [field];
  const isOnly = kind === 'record' && show.length > 0;
  const all = new Set((isOnly ? show : [...show, ...sorted, ...filters.map((one) => one.field), ...others]).map(({ name }) => name));
  const fields = [...all].filter((name) => name !== called).slice(0, kind === 'record' ? all.size : Math.max(maxFields, show.length));
  const wanted = Math.min(limit, maxListed);
  // One more than wanted shows whether the last one ties with the next.
  const options = { pageSize: wanted + 1, fields: [...new Set(['id', called, ...fields])] };
  const sort = field === undefined ? {} : { sort: field.name, order };
  const { data, pagination } = await tools.list({ ...inputOf(reading, filters), ...options, ...sort });
  if (pagination.total === 0) return none(reading, filters);
  const rows = data.slice(0, wanted);
  const part = rows.length < pagination.total ? `${rows.length} of ` : '';
  const way = field === undefined ? '' : `, by ${field.name}, ${order === 'asc' ? 'smallest or earliest' : 'largest or latest'} first`;
  const lines = rows.map((row) => `- ${shown(row[called] ?? row.id)}: ${fields.map((name) => `${name} ${shown(row[name])}`).join(', ')}`);
  const isTie = field !== undefined && data[wanted] !== undefined && data[wanted][field.name] === rows.at(-1)?.[field.name];
  const tie = isTie ? [`Others have the same ${field.name} as the last one.`] : [];
  return [`${part}${counted(reading, pagination.total)}${where(filters)}${way}:`, ...lines, ...tie].join('\n');
}

/** Resolves to the answer's text. Rejects with ToolFailed when a tool fails. */
export function answerReading(tools: Tools, reading: Reading): Promise<string> {
  const { kind, field, groupBy } = reading;
  if (kind === 'list' || kind === 'record') return answerList(tools, reading);
  return field === undefined && groupBy === undefined ? answerCount(tools, reading) : answerStats(tools, reading);
}
