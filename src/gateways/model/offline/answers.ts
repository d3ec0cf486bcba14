// Answers a reading from what the tools say, in plain sentences that repeat how the question was understood, so that a reader sees
// which conditions the numbers are for. Nothing is said that no tool said.
import { type Field, identityFields } from './catalog.ts';
import type { Data, Figures, Row } from './data.ts';
import type { Asked, Figure, Reading } from './reading.ts';

const mostShown = 10;
const mostFields = 7;
const mostLines = 20;
const longestValue = 120;

/** A line of text, whatever a record holds. */
const shown = (value: unknown): string => {
  if (value === null || value === undefined) return 'empty';
  const text = (typeof value === 'object' ? JSON.stringify(value) : String(value)).replaceAll(/\s+/g, ' ');
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
};

const conditions = ({ said }: Reading): string => (said.length === 0 ? '' : ` where ${said.join(' and ')}`);
const counted = ({ resource: { one, many } }: Reading, count: number): string => `${count} ${count === 1 ? one : many}`;

const nothingFound = (reading: Reading): string => `None: no ${reading.resource.one} was found${conditions(reading)}.`;

/** What names a record in a list. */
const nameField = (reading: Reading): string => identityFields(reading.resource)[0]?.name ?? 'id';

function fieldsToShow(reading: Reading, wanted: readonly Field[]): readonly string[] {
  const { resource, filters } = reading;
  const asked = new Set(wanted.map(({ name }) => name));
  const filtered = resource.fields.filter(({ name }) =>
    Object.keys(filters).some((filter) => filter === name || filter.startsWith(`${name}_`)),
  );
  const others = resource.fields.filter(({ kind, name }) => kind !== 'lines' && name !== 'id' && !/Id$/.test(name));
  const names = [nameField(reading), ...asked, ...filtered.map(({ name }) => name), ...others.map(({ name }) => name)];
  return [...new Set(names)].slice(0, Math.max(mostFields, asked.size + 1));
}

const recordLine = (reading: Reading, row: Row, fields: readonly string[]): string => {
  const name = nameField(reading);
  return `- ${shown(row[name] ?? `id ${row.id}`)}: ${fields
    .filter((field) => field !== name)
    .map((field) => `${field} ${shown(row[field])}`)
    .join(', ')}`;
};

async function answerCount(data: Data, reading: Reading): Promise<string> {
  const { count } = await data.aggregate({ resource: reading.resource.name, filters: reading.filters });
  return `${counted(reading, count)}${conditions(reading)}.`;
}

async function answerExists(data: Data, reading: Reading): Promise<string> {
  if (reading.record !== undefined) {
    const named = { ...reading, ...reading.record };
    const { count: found } = await data.aggregate({ resource: reading.resource.name, filters: named.filters });
    if (found === 0) return nothingFound(named);
  }
  const { count } = await data.aggregate({ resource: reading.resource.name, filters: reading.filters });
  return `${count === 0 ? 'No' : 'Yes'}: ${counted(reading, count)}${conditions(reading)}.`;
}

const figureNames: Readonly<Record<Figure, string>> = { sum: 'sum of', average: 'average of', min: 'smallest', max: 'largest' };

/** Amounts of several currencies make no sum, so they are told apart where a resource says its currency. */
const currencyOf = ({ resource }: Reading, field: Field): Field | undefined =>
  field.type === 'number' ? resource.fields.find(({ name, kind }) => name === 'currency' && kind === 'text') : undefined;

const figureText = (figure: Figure, figures: Figures): string => shown(figures[figure]);

async function answerFigure(data: Data, reading: Reading, { figure, field }: Extract<Asked, { kind: 'figure' }>): Promise<string> {
  const { resource, filters } = reading;
  const question = { resource: resource.name, filters, field: field.name };
  const currency = currencyOf(reading, field);
  const name = `The ${figureNames[figure]} ${field.name}`;
  const over = (figures: Figures): string => {
    const values = figures.values ?? 0;
    return values === figures.count ? counted(reading, values) : `${values} of ${counted(reading, figures.count)}, as the others have none`;
  };
  if (currency !== undefined) {
    const { groups, totalGroups } = await data.groups({ ...question, groupBy: currency.name, limit: mostShown });
    const [only] = groups;
    if (only === undefined) return nothingFound(reading);
    if (totalGroups > groups.length) return `These are of ${totalGroups} currencies; name a condition that leaves fewer.`;
    if (totalGroups > 1)
      return [
        `${name}${conditions(reading)}, by ${currency.name}:`,
        ...groups.map((group) => `- ${figureText(figure, group)} ${shown(group.value)} (${over(group)})`),
      ].join('\n');
    const unit = only.value === null ? '' : ` ${shown(only.value)}`;
    return (only.values ?? 0) === 0
      ? `No ${resource.one}${conditions(reading)} has a value of ${field.name}.`
      : `${name} is ${figureText(figure, only)}${unit}, over ${over(only)}${conditions(reading)}.`;
  }
  const figures = await data.aggregate(question);
  if (figures.count === 0) return nothingFound(reading);
  if ((figures.values ?? 0) === 0) return `No ${resource.one}${conditions(reading)} has a value of ${field.name}.`;
  return `${name} is ${figureText(figure, figures)}, over ${over(figures)}${conditions(reading)}.`;
}

async function answerList(data: Data, reading: Reading, { limit, sort, show }: Extract<Asked, { kind: 'list' }>): Promise<string> {
  const { resource, filters } = reading;
  const fields = fieldsToShow(reading, show);
  const wanted = Math.min(limit ?? mostShown, mostShown * 5);
  const order = sort === undefined ? {} : { sort: sort.field.name, order: sort.order ?? 'asc' };
  // One more than asked for tells whether the border runs between equals.
  const { rows, total } = await data.list({
    resource: resource.name,
    filters,
    ...order,
    pageSize: wanted + 1,
    fields: ['id', ...fields.filter((name) => name !== 'id')],
  });
  if (total === 0) return nothingFound(reading);
  const listed = rows.slice(0, wanted);
  const way =
    sort === undefined
      ? ''
      : `, by ${sort.field.name}, ${(sort.order ?? 'asc') === 'asc' ? 'smallest or earliest' : 'largest or latest'} first`;
  const head =
    listed.length === total
      ? `${counted(reading, total)}${conditions(reading)}${way}:`
      : `${listed.length} of ${counted(reading, total)}${conditions(reading)}${way}:`;
  const lines = listed.map((row) => recordLine(reading, row, fields));
  const [next, last] = [rows[wanted], listed.at(-1)];
  const isTie = sort !== undefined && limit !== undefined && next !== undefined && last?.[sort.field.name] === next[sort.field.name];
  const tie = isTie ? [`Others have the same ${sort.field.name} as the last one.`] : [];
  const more = limit !== undefined && limit > wanted ? [`No more than ${wanted} are listed at once.`] : [];
  return [head, ...lines, ...tie, ...more].join('\n');
}

/** The records that one name stands for: mostly one. */
async function answerValues(data: Data, reading: Reading, { show }: Extract<Asked, { kind: 'values' }>): Promise<string> {
  const { resource, filters } = reading;
  const fields =
    show.length > 0
      ? [nameField(reading), ...show.map(({ name }) => name)]
      : resource.fields.filter(({ kind }) => kind !== 'lines').map(({ name }) => name);
  const chosen = [...new Set(['id', ...fields])];
  const { rows, total } = await data.list({ resource: resource.name, filters, pageSize: mostShown, fields: chosen });
  if (total === 0) return nothingFound(reading);
  const [row] = rows;
  const title = row === undefined ? '' : `${resource.one} ${shown(row[nameField(reading)] ?? row.id)}`;
  if (total === 1 && row !== undefined) {
    const [only] = show;
    if (show.length === 1 && only !== undefined) return `${only.name} of ${title} is ${shown(row[only.name])}.`;
    return [`${title}:`, ...chosen.map((name) => `- ${name}: ${shown(row[name])}`)].join('\n');
  }
  return [`${counted(reading, total)}${conditions(reading)}:`, ...rows.map((each) => recordLine(reading, each, chosen))].join('\n');
}

async function answerLines(data: Data, reading: Reading, { field, counted: isCount }: Extract<Asked, { kind: 'lines' }>): Promise<string> {
  const { resource, filters } = reading;
  const { rows, total } = await data.list({
    resource: resource.name,
    filters,
    pageSize: 2,
    fields: ['id', nameField(reading), field.name].filter((name, at, all) => all.indexOf(name) === at),
  });
  const [row] = rows;
  if (row === undefined) return nothingFound(reading);
  if (total > 1) return `${counted(reading, total)}${conditions(reading)}: which is meant?`;
  const lines = Array.isArray(row[field.name]) ? (row[field.name] as unknown[]) : [];
  const title = `${resource.one} ${shown(row[nameField(reading)] ?? row.id)}`;
  const head = `${title} has ${lines.length} ${field.name}`;
  if (isCount || lines.length === 0) return `${head}.`;
  const texts = lines.slice(0, mostLines).map(
    (line) =>
      `- ${Object.entries(line ?? {})
        .map(([name, value]) => `${name} ${shown(value)}`)
        .join(', ')}`,
  );
  return [lines.length > mostLines ? `${head}; the first ${mostLines}:` : `${head}:`, ...texts].join('\n');
}

async function answerGroups(
  data: Data,
  reading: Reading,
  { by, figure, field, most }: Extract<Asked, { kind: 'groups' }>,
): Promise<string> {
  const { resource, filters } = reading;
  const currency = field === undefined || by.name === 'currency' ? undefined : currencyOf(reading, field);
  if (currency !== undefined) {
    const { totalGroups } = await data.groups({ resource: resource.name, filters, groupBy: currency.name, limit: 1 });
    if (totalGroups > 1) return `These are of ${totalGroups} currencies, which can't be put together; name a condition that leaves one.`;
  }
  const { groups, totalGroups } = await data.groups({
    resource: resource.name,
    filters,
    groupBy: by.name,
    orderBy: figure,
    limit: mostShown + 1,
    ...(field !== undefined && { field: field.name }),
  });
  if (totalGroups === 0) return nothingFound(reading);
  const value = (group: Figures): string => (figure === 'count' ? counted(reading, group.count) : figureText(figure, group));
  const line = (group: (typeof groups)[number]): string =>
    `- ${group.value === null ? `no ${by.name}` : shown(group.value)}: ${value(group)}`;
  const named = groups.filter((group) => group.value !== null);
  if (most) {
    const best = named[0]?.count;
    const winners = named.filter(({ count }) => count === best);
    if (winners.length === 0) return nothingFound(reading);
    const others = winners.length > mostShown ? ['Others may have as many.'] : [];
    return [`The most ${resource.many}${conditions(reading)} by ${by.name}:`, ...winners.slice(0, mostShown).map(line), ...others].join(
      '\n',
    );
  }
  const title = figure === 'count' ? resource.many : `The ${figureNames[figure]} ${field?.name ?? ''} of ${resource.many}`;
  const part = totalGroups > mostShown ? `, the largest ${mostShown} groups of ${totalGroups}` : '';
  return [`${title} by ${by.name}${conditions(reading)}${part}:`, ...groups.slice(0, mostShown).map(line)].join('\n');
}

export function answerReading(data: Data, reading: Reading): Promise<string> {
  const { asked } = reading;
  if (asked.kind === 'count') return answerCount(data, reading);
  if (asked.kind === 'exists') return answerExists(data, reading);
  if (asked.kind === 'figure') return answerFigure(data, reading, asked);
  if (asked.kind === 'list') return answerList(data, reading, asked);
  if (asked.kind === 'values') return answerValues(data, reading, asked);
  return asked.kind === 'lines' ? answerLines(data, reading, asked) : answerGroups(data, reading, asked);
}
