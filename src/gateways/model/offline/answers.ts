// Answers a reading from the tools' results, in sentences that repeat how the question was understood. Reports only what a tool returned.
import type { Filter } from './clauses.ts';
import type { Reading } from './readings.ts';
import type { Stats, Tools } from './tools.ts';

const maxShown = 10;
const maxListed = 50;
const maxFields = 7;
const names: Readonly<Record<string, string>> = { sum: 'sum of', average: 'average of', min: 'smallest', max: 'largest' };

const shown = (value: unknown): string => (value === null || value === undefined ? 'empty' : String(value).replaceAll(/\s+/g, ' '));
export const where = (filters: readonly Filter[]): string =>
  filters.length === 0 ? '' : ` where ${filters.map(({ text }) => text).join(' and ')}`;
const counted = ({ resource: { one, many } }: Reading, count: number): string => `${count} ${count === 1 ? one : many}`;
const none = ({ resource, filters }: Reading): string => `None: no ${resource.one} was found${where(filters)}.`;
const inputOf = ({ resource: { name }, filters }: Reading) => ({
  resource: name,
  filters: Object.assign({}, ...filters.map(({ parameters }) => parameters)) as Filter['parameters'],
});

/** A sum or the like, or counts per value. Amounts in several currencies can't be added, so they are grouped by currency. */
async function answerStats(tools: Tools, reading: Reading): Promise<string> {
  const { resource, kind, field, filters } = reading;
  const input = { ...inputOf(reading), ...(field !== undefined && { field: field.name }) };
  const currency = field?.type === 'number' ? resource.fields.find(({ name }) => name === 'currency') : undefined;
  const resultOf = (stats: Stats): string => {
    if (field === undefined) return counted(reading, stats.count);
    const some = stats.values === stats.count ? '' : ` (${stats.values} have a value)`;
    return `${shown(stats[kind as 'sum'])}, over ${counted(reading, stats.count)}${some}`;
  };
  const title = `${field === undefined ? resource.many : `The ${names[kind]} ${field.name}`}${where(filters)}`;
  const by = reading.groupBy ?? currency;
  if (by === undefined) return `${title}: ${resultOf(await tools.aggregate(input))}`;
  const { groups, totalGroups } = await tools.groups({ ...input, groupBy: by.name, orderBy: kind, limit: maxShown });
  if (totalGroups === 0) return none(reading);
  const part = totalGroups > groups.length ? `, the largest ${groups.length} of ${totalGroups} groups` : '';
  const lines = groups.map((group) => `- ${group.value === null ? `no ${by.name}` : shown(group.value)}: ${resultOf(group)}`);
  return [`${title} by ${by.name}${part}:`, ...lines].join('\n');
}

/** Records: the field by which they are called, then the field that is asked for, and unless that is all of one record, others. */
async function answerList(tools: Tools, reading: Reading): Promise<string> {
  const { resource, kind, field, order, limit = maxShown, filters } = reading;
  const called = resource.identity[0]?.name ?? 'id';
  const others = resource.fields.filter((one) => one.kind !== 'lines' && (kind === 'record' || !/^id$|Id$/.test(one.name)));
  const asked = field === undefined ? [] : [field];
  const isOnly = kind === 'record' && field !== undefined;
  const all = new Set((isOnly ? asked : [...asked, ...filters.map((one) => one.field), ...others]).map(({ name }) => name));
  const fields = [...all].filter((name) => name !== called).slice(0, kind === 'record' ? all.size : maxFields);
  const wanted = Math.min(limit, maxListed);
  // One more than wanted shows whether the last one ties with the next.
  const options = { pageSize: wanted + 1, fields: [...new Set(['id', called, ...fields])] };
  const sort = order === undefined ? {} : { sort: field?.name, order };
  const { data, pagination } = await tools.list({ ...inputOf(reading), ...options, ...sort });
  if (pagination.total === 0) return none(reading);
  const rows = data.slice(0, wanted);
  const part = rows.length < pagination.total ? `${rows.length} of ` : '';
  const way = order === undefined ? '' : `, by ${field?.name}, ${order === 'asc' ? 'smallest or earliest' : 'largest or latest'} first`;
  const lines = rows.map((row) => `- ${shown(row[called] ?? row.id)}: ${fields.map((name) => `${name} ${shown(row[name])}`).join(', ')}`);
  const isTie = order !== undefined && data.length > wanted && data[wanted]?.[field?.name ?? ''] === rows.at(-1)?.[field?.name ?? ''];
  const tie = isTie ? [`Others have the same ${field?.name} as the last one.`] : [];
  return [`${part}${counted(reading, pagination.total)}${where(filters)}${way}:`, ...lines, ...tie].join('\n');
}

/** Resolves to the answer's text. Rejects with ToolFailed when a tool fails. */
export async function answerReading(tools: Tools, reading: Reading): Promise<string> {
  const { kind, field, groupBy, filters } = reading;
  if (kind === 'list' || kind === 'record') return answerList(tools, reading);
  if (field !== undefined || groupBy !== undefined) return answerStats(tools, reading);
  const { count } = await tools.aggregate(inputOf(reading));
  return `${kind === 'count' ? '' : count === 0 ? 'No: ' : 'Yes: '}${counted(reading, count)}${where(filters)}.`;
}
