// Answers an interpreted question from the tools' results, in sentences that repeat how the question was understood, so that the reader
// sees which conditions the numbers are for. Reports only what a tool returned.
import { type CatalogField, identityFields } from './catalog.ts';
import type { AggregateStats, DataRow, DataTools } from './data.ts';
import type { AggregateFunction, Intent, Interpretation } from './interpret.ts';

const maxShown = 10;
const maxFields = 7;
const maxLines = 20;
const maxValueCharacters = 120;

/** A record's value as one line of limited length. */
const valueText = (value: unknown): string => {
  if (value === null || value === undefined) return 'empty';
  const text = (typeof value === 'object' ? JSON.stringify(value) : String(value)).replaceAll(/\s+/g, ' ');
  return text.length > maxValueCharacters ? `${text.slice(0, maxValueCharacters)}…` : text;
};

const conditionText = ({ descriptions }: Interpretation): string =>
  descriptions.length === 0 ? '' : ` where ${descriptions.join(' and ')}`;
const countText = ({ resource: { one, many } }: Interpretation, count: number): string => `${count} ${count === 1 ? one : many}`;

const nothingFound = (interpretation: Interpretation): string =>
  `None: no ${interpretation.resource.one} was found${conditionText(interpretation)}.`;

/** The field that identifies a record in a list. */
const nameField = (interpretation: Interpretation): string => identityFields(interpretation.resource)[0]?.name ?? 'id';

function fieldsToShow(interpretation: Interpretation, wanted: readonly CatalogField[]): readonly string[] {
  const { resource, filters } = interpretation;
  const intent = new Set(wanted.map(({ name }) => name));
  const filtered = resource.fields.filter(({ name }) =>
    Object.keys(filters).some((filter) => filter === name || filter.startsWith(`${name}_`)),
  );
  const others = resource.fields.filter(({ kind, name }) => kind !== 'lines' && name !== 'id' && !/Id$/.test(name));
  const names = [nameField(interpretation), ...intent, ...filtered.map(({ name }) => name), ...others.map(({ name }) => name)];
  return [...new Set(names)].slice(0, Math.max(maxFields, intent.size + 1));
}

const recordLine = (interpretation: Interpretation, row: DataRow, fields: readonly string[]): string => {
  const name = nameField(interpretation);
  return `- ${valueText(row[name] ?? `id ${row.id}`)}: ${fields
    .filter((field) => field !== name)
    .map((field) => `${field} ${valueText(row[field])}`)
    .join(', ')}`;
};

async function answerCount(data: DataTools, interpretation: Interpretation): Promise<string> {
  const { count } = await data.aggregate({ resource: interpretation.resource.name, filters: interpretation.filters });
  return `${countText(interpretation, count)}${conditionText(interpretation)}.`;
}

async function answerExists(data: DataTools, interpretation: Interpretation): Promise<string> {
  if (interpretation.record !== undefined) {
    const named = { ...interpretation, ...interpretation.record };
    const { count: found } = await data.aggregate({ resource: interpretation.resource.name, filters: named.filters });
    if (found === 0) return nothingFound(named);
  }
  const { count } = await data.aggregate({ resource: interpretation.resource.name, filters: interpretation.filters });
  return `${count === 0 ? 'No' : 'Yes'}: ${countText(interpretation, count)}${conditionText(interpretation)}.`;
}

const aggregateNames: Readonly<Record<AggregateFunction, string>> = {
  sum: 'sum of',
  average: 'average of',
  min: 'smallest',
  max: 'largest',
};

/** Amounts in several currencies can't be added, so they are grouped by currency if the resource has that field. */
const currencyOf = ({ resource }: Interpretation, field: CatalogField): CatalogField | undefined =>
  field.type === 'number' ? resource.fields.find(({ name, kind }) => name === 'currency' && kind === 'text') : undefined;

const statText = (aggregate: AggregateFunction, stats: AggregateStats): string => valueText(stats[aggregate]);

async function answerAggregate(
  data: DataTools,
  interpretation: Interpretation,
  { aggregate, field }: Extract<Intent, { kind: 'aggregate' }>,
): Promise<string> {
  const { resource, filters } = interpretation;
  const question = { resource: resource.name, filters, field: field.name };
  const currency = currencyOf(interpretation, field);
  const name = `The ${aggregateNames[aggregate]} ${field.name}`;
  const over = (stats: AggregateStats): string => {
    const values = stats.values ?? 0;
    return values === stats.count
      ? countText(interpretation, values)
      : `${values} of ${countText(interpretation, stats.count)}, as the others have none`;
  };
  if (currency !== undefined) {
    const { groups, totalGroups } = await data.groups({ ...question, groupBy: currency.name, limit: maxShown });
    const [only] = groups;
    if (only === undefined) return nothingFound(interpretation);
    if (totalGroups > groups.length) return `These are in ${totalGroups} currencies; add a condition that leaves fewer.`;
    if (totalGroups > 1)
      return [
        `${name}${conditionText(interpretation)}, by ${currency.name}:`,
        ...groups.map((group) => `- ${statText(aggregate, group)} ${valueText(group.value)} (${over(group)})`),
      ].join('\n');
    const unit = only.value === null ? '' : ` ${valueText(only.value)}`;
    return (only.values ?? 0) === 0
      ? `No ${resource.one}${conditionText(interpretation)} has a value of ${field.name}.`
      : `${name} is ${statText(aggregate, only)}${unit}, over ${over(only)}${conditionText(interpretation)}.`;
  }
  const stats = await data.aggregate(question);
  if (stats.count === 0) return nothingFound(interpretation);
  if ((stats.values ?? 0) === 0) return `No ${resource.one}${conditionText(interpretation)} has a value of ${field.name}.`;
  return `${name} is ${statText(aggregate, stats)}, over ${over(stats)}${conditionText(interpretation)}.`;
}

async function answerList(
  data: DataTools,
  interpretation: Interpretation,
  { limit, sort, show }: Extract<Intent, { kind: 'list' }>,
): Promise<string> {
  const { resource, filters } = interpretation;
  const fields = fieldsToShow(interpretation, show);
  const wanted = Math.min(limit ?? maxShown, maxShown * 5);
  const order = sort === undefined ? {} : { sort: sort.field.name, order: sort.order ?? 'asc' };
  // One more than requested shows whether the last record ties with the next.
  const { rows, total } = await data.list({
    resource: resource.name,
    filters,
    ...order,
    pageSize: wanted + 1,
    fields: ['id', ...fields.filter((name) => name !== 'id')],
  });
  if (total === 0) return nothingFound(interpretation);
  const listed = rows.slice(0, wanted);
  const way =
    sort === undefined
      ? ''
      : `, by ${sort.field.name}, ${(sort.order ?? 'asc') === 'asc' ? 'smallest or earliest' : 'largest or latest'} first`;
  const head =
    listed.length === total
      ? `${countText(interpretation, total)}${conditionText(interpretation)}${way}:`
      : `${listed.length} of ${countText(interpretation, total)}${conditionText(interpretation)}${way}:`;
  const lines = listed.map((row) => recordLine(interpretation, row, fields));
  const [next, last] = [rows[wanted], listed.at(-1)];
  const isTie = sort !== undefined && limit !== undefined && next !== undefined && last?.[sort.field.name] === next[sort.field.name];
  const tie = isTie ? [`Others have the same ${sort.field.name} as the last one.`] : [];
  const more = limit !== undefined && limit > wanted ? [`No more than ${wanted} are listed at once.`] : [];
  return [head, ...lines, ...tie, ...more].join('\n');
}

/** The records with one name: usually a single one. */
async function answerValues(
  data: DataTools,
  interpretation: Interpretation,
  { show }: Extract<Intent, { kind: 'values' }>,
): Promise<string> {
  const { resource, filters } = interpretation;
  const fields =
    show.length > 0
      ? [nameField(interpretation), ...show.map(({ name }) => name)]
      : resource.fields.filter(({ kind }) => kind !== 'lines').map(({ name }) => name);
  const chosen = [...new Set(['id', ...fields])];
  const { rows, total } = await data.list({ resource: resource.name, filters, pageSize: maxShown, fields: chosen });
  if (total === 0) return nothingFound(interpretation);
  const [row] = rows;
  const title = row === undefined ? '' : `${resource.one} ${valueText(row[nameField(interpretation)] ?? row.id)}`;
  if (total === 1 && row !== undefined) {
    const [only] = show;
    if (show.length === 1 && only !== undefined) return `${only.name} of ${title} is ${valueText(row[only.name])}.`;
    return [`${title}:`, ...chosen.map((name) => `- ${name}: ${valueText(row[name])}`)].join('\n');
  }
  return [
    `${countText(interpretation, total)}${conditionText(interpretation)}:`,
    ...rows.map((each) => recordLine(interpretation, each, chosen)),
  ].join('\n');
}

async function answerLines(
  data: DataTools,
  interpretation: Interpretation,
  { field, counted: isCount }: Extract<Intent, { kind: 'lines' }>,
): Promise<string> {
  const { resource, filters } = interpretation;
  const { rows, total } = await data.list({
    resource: resource.name,
    filters,
    pageSize: 2,
    fields: ['id', nameField(interpretation), field.name].filter((name, at, all) => all.indexOf(name) === at),
  });
  const [row] = rows;
  if (row === undefined) return nothingFound(interpretation);
  if (total > 1) return `${countText(interpretation, total)}${conditionText(interpretation)}. Which one do you mean?`;
  const lines = Array.isArray(row[field.name]) ? (row[field.name] as unknown[]) : [];
  const title = `${resource.one} ${valueText(row[nameField(interpretation)] ?? row.id)}`;
  const head = `${title} has ${lines.length} ${field.name}`;
  if (isCount || lines.length === 0) return `${head}.`;
  const texts = lines.slice(0, maxLines).map(
    (line) =>
      `- ${Object.entries(line ?? {})
        .map(([name, value]) => `${name} ${valueText(value)}`)
        .join(', ')}`,
  );
  return [lines.length > maxLines ? `${head}; the first ${maxLines}:` : `${head}:`, ...texts].join('\n');
}

async function answerGroups(
  data: DataTools,
  interpretation: Interpretation,
  { by, aggregate, field, onlyTop }: Extract<Intent, { kind: 'groups' }>,
): Promise<string> {
  const { resource, filters } = interpretation;
  const currency = field === undefined || by.name === 'currency' ? undefined : currencyOf(interpretation, field);
  if (currency !== undefined) {
    const { totalGroups } = await data.groups({ resource: resource.name, filters, groupBy: currency.name, limit: 1 });
    if (totalGroups > 1) return `These are in ${totalGroups} currencies, which can't be added; add a condition that leaves one.`;
  }
  const { groups, totalGroups } = await data.groups({
    resource: resource.name,
    filters,
    groupBy: by.name,
    orderBy: aggregate,
    limit: maxShown + 1,
    ...(field !== undefined && { field: field.name }),
  });
  if (totalGroups === 0) return nothingFound(interpretation);
  const value = (group: AggregateStats): string =>
    aggregate === 'count' ? countText(interpretation, group.count) : statText(aggregate, group);
  const line = (group: (typeof groups)[number]): string =>
    `- ${group.value === null ? `no ${by.name}` : valueText(group.value)}: ${value(group)}`;
  const named = groups.filter((group) => group.value !== null);
  if (onlyTop) {
    const best = named[0]?.count;
    const winners = named.filter(({ count }) => count === best);
    if (winners.length === 0) return nothingFound(interpretation);
    const others = winners.length > maxShown ? ['Others may have as many.'] : [];
    return [
      `The most ${resource.many}${conditionText(interpretation)} by ${by.name}:`,
      ...winners.slice(0, maxShown).map(line),
      ...others,
    ].join('\n');
  }
  const title = aggregate === 'count' ? resource.many : `The ${aggregateNames[aggregate]} ${field?.name ?? ''} of ${resource.many}`;
  const part = totalGroups > maxShown ? `, the largest ${maxShown} groups of ${totalGroups}` : '';
  return [`${title} by ${by.name}${conditionText(interpretation)}${part}:`, ...groups.slice(0, maxShown).map(line)].join('\n');
}

/** Resolves to the answer's text. Rejects with ToolFailed when a tool fails. */
export function answerInterpretation(data: DataTools, interpretation: Interpretation): Promise<string> {
  const { intent } = interpretation;
  if (intent.kind === 'count') return answerCount(data, interpretation);
  if (intent.kind === 'exists') return answerExists(data, interpretation);
  if (intent.kind === 'aggregate') return answerAggregate(data, interpretation, intent);
  if (intent.kind === 'list') return answerList(data, interpretation, intent);
  if (intent.kind === 'values') return answerValues(data, interpretation, intent);
  return intent.kind === 'lines' ? answerLines(data, interpretation, intent) : answerGroups(data, interpretation, intent);
}
