// Extracts conditions that the question's words express on their own: comparisons of numbers and days, text contained in a field, empty
// fields, booleans, an order. Conditions that need a lookup in the data are in values.ts.
import { type CatalogField, type CatalogResource, mainAmount, mainDay } from './catalog.ts';
import type { DataTools } from './data.ts';
import { addDays, type DaySpan } from './dates.ts';
import {
  addFilter,
  createRule,
  type Draft,
  extractAll,
  fieldsAt,
  inQuotes,
  type MatchGroups,
  NeedsClarification,
  spanAt,
  valueAt,
} from './draft.ts';

type Comparison = '_gt' | '_lt' | '_gte' | '_lte' | '';
const comparisons: readonly (readonly [string, Comparison])[] = [
  ['no (?:more|greater|higher) than|at most|up to|a maximum of', '_lte'],
  ['no (?:less|lower|fewer) than|at least|a minimum of', '_gte'],
  ['(?:more|greater|larger|bigger|higher) than|over|above|exceeding|exceeds?', '_gt'],
  ['(?:less|lower|smaller|fewer) than|under|below', '_lt'],
  ['exactly|equal to|equals', ''],
];
const anyComparison = comparisons.map(([words]) => words).join('|');
const suffixOf = (words: string): Comparison => comparisons.find(([known]) => new RegExp(`^(?:${known})$`).test(words))?.[1] ?? '';
const inWords: Readonly<Record<string, string>> = { _gt: 'over', _lt: 'under', _gte: 'at least', _lte: 'at most', '': 'is' };

const getOnlyField = (fields: readonly CatalogField[], what: string): CatalogField => {
  const [field, ...others] = fields;
  if (field === undefined || others.length > 0) throw new NeedsClarification(what);
  return field;
};

const assertFilterable = (field: CatalogField, parameter: string, asked: string): void => {
  if (!field.filters.has(parameter))
    throw new NeedsClarification(`This version has no filter for ${inQuotes(asked)}: ${field.name} can't be filtered that way.`);
};

/** The number field that is named, or the main one. */
function numberField(draft: Draft, mark: string | undefined): CatalogField {
  const named = mark === undefined ? [] : fieldsAt(draft, mark).filter(({ kind }) => kind === 'number');
  if (named.length > 0) return getOnlyField(named, `Which one do you mean: ${named.map(({ name }) => name).join(', ')}?`);
  const main = mainAmount(draft.resource);
  if (main !== undefined) return main;
  const numbers = draft.resource.fields.filter(({ kind }) => kind === 'number').map(({ name }) => name);
  throw new NeedsClarification(
    numbers.length === 0 ? `The resource ${draft.resource.name} has no numeric field.` : `Which number do you mean: ${numbers.join(', ')}?`,
  );
}

/**
 * For negative amounts, such as credits, "over 500" and "the largest" are ambiguous: rejects with NeedsClarification if the field's values
 * are never above zero.
 */
export async function assertNotAllNegative(data: DataTools, { name, many }: CatalogResource, field: CatalogField): Promise<void> {
  const { min, max } = await data.aggregate({ resource: name, filters: {}, field: field.name });
  if (max === null || max === undefined || Number(max) > 0 || Number(min) >= 0) return;
  throw new NeedsClarification(
    `${field.name} of ${many} is never above zero: it runs from ${min} to ${max}. Ask with the sign, as in "under -500", or for a list sorted by ${field.name}.`,
  );
}

const isNumberMark = (draft: Draft, mark: string | undefined): boolean =>
  mark === undefined || fieldsAt(draft, mark).some(({ kind }) => kind === 'number');

async function addNumber(draft: Draft, field: CatalogField, suffix: Comparison, value: string): Promise<string> {
  if (!value.startsWith('-') && Number(value) !== 0) await assertNotAllNegative(draft.data, draft.resource, field);
  const description = `${field.name} ${inWords[suffix]} ${value}`;
  assertFilterable(field, `${field.name}${suffix}`, description);
  addFilter(draft, `${field.name}${suffix}`, value, description);
  return '<~n>';
}

/** The field before a comparison, if there is one: a comparison of a line's field isn't one of the record. */
const numberOf = '(?:{F:f} {glue}|(?<!<f\\d+> {glue}))';

const isYear = (value: string): boolean => /^(?:19|20)\d{2}$/.test(value);

async function extractNumbers(draft: Draft): Promise<void> {
  const compared = async (groups: MatchGroups, after: string): Promise<string | undefined> => {
    const { f, g, op = '', n = '', m } = groups;
    // In "show at most 3 invoices" the number is the number of records.
    if (f === undefined && g === undefined && /^ (?:[^ <]+ )?<[rR]>/.test(after)) return undefined;
    // "over 3 lines" and "over 5 days" aren't about a number field.
    if (!isNumberMark(draft, f) || (f === undefined && !isNumberMark(draft, g))) return undefined;
    if (f === undefined && g === undefined && [n, m].every((mark) => mark !== undefined && isYear(valueAt(draft, mark))))
      throw new NeedsClarification(
        'Years or amounts? Write days or months, as in "between 2011-01-01 and 2011-12-31", or name the number.',
      );
    if (m !== undefined && Number(valueAt(draft, m)) < Number(valueAt(draft, n)))
      throw new NeedsClarification('The second number is below the first.');
    const field = numberField(draft, f ?? g);
    if (m === undefined) await addNumber(draft, field, suffixOf(op), valueAt(draft, n));
    else {
      await addNumber(draft, field, '_gte', valueAt(draft, n));
      await addNumber(draft, field, '_lte', valueAt(draft, m));
    }
    return f !== undefined && g !== undefined ? `<~n> ${g}` : '<~n>';
  };
  await extractAll(
    draft,
    createRule(`${numberOf}between {N:n} and {N:m}(?: {F:g}(?! (?:after|before|since|on|in|from|between|until|by|<d)))?`),
    compared,
  );
  await extractAll(
    draft,
    createRule(`${numberOf}(?<!not )(?<op>${anyComparison}) {N:n}(?: {F:g}(?! (?:after|before|since|on|in|from|between|until|by|<d)))?`),
    compared,
  );
  const flipped: Readonly<Record<string, string>> = {
    more: 'at least',
    higher: 'at least',
    above: 'at least',
    less: 'at most',
    lower: 'at most',
    below: 'at most',
  };
  await extractAll(draft, createRule(`${numberOf}{N:n} or (?<op>more|higher|above|less|lower|below)`), (groups, after) =>
    compared({ ...groups, op: flipped[groups['op'] ?? ''] }, after),
  );
}

type Edges = { readonly from?: string; readonly to?: string };
const ambiguousEdge =
  (other: string) =>
  (_span: DaySpan): never => {
    throw new NeedsClarification(`This can be read in two ways. Write "in" or "${other}" with the date.`);
  };
const edges: readonly (readonly [string, (span: DaySpan) => Edges])[] = [
  ['since|starting(?: on| from| in)?|on or after|not before', ({ from }) => ({ from })],
  ['from', ambiguousEdge('since')],
  ['after|later than|newer than|more recent than', ({ to }) => ({ from: addDays(to, 1) })],
  ['before|earlier than|older than|prior to', ({ from }) => ({ to: addDays(from, -1) })],
  ['through|on or before|no later than|not after', ({ to }) => ({ to })],
  ['until|till|up to|by', (span) => (span.from === span.to ? { to: span.to } : ambiguousEdge('before')(span))],
  ['over', (span) => (span.from === span.to ? ambiguousEdge('after')(span) : span)],
  ['in|on|during|within|for|of|at', (span) => span],
];
const anyEdge = edges.map(([words]) => words).join('|');

function dayField(draft: Draft, mark: string | undefined): CatalogField {
  const named = mark === undefined ? [] : fieldsAt(draft, mark).filter(({ kind }) => kind === 'day');
  if (named.length > 0) return getOnlyField(named, `Which one do you mean: ${named.map(({ name }) => name).join(', ')}?`);
  const main = mainDay(draft.resource);
  if (main !== undefined) return main;
  const days = draft.resource.fields.filter(({ kind }) => kind === 'day').map(({ name }) => name);
  throw new NeedsClarification(
    days.length === 0 ? `The resource ${draft.resource.name} has no date field.` : `Which date do you mean: ${days.join(', ')}?`,
  );
}

/** Adds the day filters. Each end has two equivalent filters, such as `_gte` and `_after`; the version has to offer one of them. */
function addDay(draft: Draft, field: CatalogField, { from, to }: Edges): void {
  const add = (day: string, spellings: readonly (readonly [string, string])[], description: string): void => {
    const usable = spellings.find(([suffix]) => field.filters.has(field.name + suffix));
    if (usable === undefined)
      throw new NeedsClarification(`This version has no filter for ${inQuotes(description)}: ${field.name} can't be filtered that way.`);
    if (day < '0002-01-01' || day > '9990-01-01') throw new NeedsClarification('Days must be between 0002-01-01 and 9990-01-01.');
    addFilter(draft, field.name + usable[0], usable[1], description);
  };
  const isOneDay = from !== undefined && from === to && field.filters.has(field.name);
  if (isOneDay) add(from, [['', from]], `${field.name} is ${from}`);
  if (from !== undefined && !isOneDay)
    add(
      from,
      [
        ['_gte', from],
        ['_after', addDays(from, -1)],
      ],
      `${field.name} from ${from}`,
    );
  if (to !== undefined && !isOneDay)
    add(
      to,
      [
        ['_lte', to],
        ['_before', addDays(to, 1)],
      ],
      `${field.name} to ${to}`,
    );
}

async function extractDays(draft: Draft): Promise<void> {
  const mark = '<~d>';
  const takeSpan = ({ f, d = '', e }: MatchGroups, span: (groups: DaySpan) => Edges): string => {
    const isDay = f !== undefined && fieldsAt(draft, f).some(({ kind }) => kind === 'day');
    const first = spanAt(draft, d);
    const last = e === undefined ? first : spanAt(draft, e);
    if (last.to < first.from) throw new NeedsClarification('The second day is before the first.');
    addDay(draft, dayField(draft, f), span({ from: first.from, to: last.to }));
    return f !== undefined && !isDay ? `${f} ${mark}` : mark;
  };
  await extractAll(
    draft,
    createRule('(?:{F:f} {glue})?(?:(?:dated|issued|made) )?(?:between|from) {D:d} (?:and|to|until|till|through) {D:e}'),
    (groups) => takeSpan(groups, (span) => span),
  );
  await extractAll(
    draft,
    createRule(`(?:{F:f} {glue})?(?:(?:dated|issued|made) )?(?<!not )(?:(?<op>${anyEdge}) )?(?:the )?{D:d}`),
    (groups) => {
      const { op } = groups;
      const edge = op === undefined ? undefined : edges.find(([words]) => new RegExp(`^(?:${words})$`).test(op));
      return takeSpan(groups, edge?.[1] ?? ((span) => span));
    },
  );
}

async function extractEmpty(draft: Draft): Promise<void> {
  const handle = ({ f = '' }: MatchGroups, isNull: boolean): string => {
    const fields = fieldsAt(draft, f).filter(({ name, filters }) => filters.has(`${name}_null`));
    if (fields.length === 0)
      throw new NeedsClarification(`This version has no filter for records with or without ${fieldsAt(draft, f)[0]?.name ?? 'it'}.`);
    const field = getOnlyField(fields, `Which one do you mean: ${fields.map(({ name }) => name).join(', ')}?`);
    addFilter(draft, `${field.name}_null`, String(isNull), `${field.name} is ${isNull ? '' : 'not '}empty`);
    return '<~e>';
  };
  await extractAll(
    draft,
    createRule('(?:without|with no|have no|has no|having no|had no|lacking|missing) (?:an? |any |the |their |its )?{F:f}'),
    (groups) => handle(groups, true),
  );
  await extractAll(draft, createRule('{F:f} (?:is|are) (?:missing|empty|null|unknown)'), (groups) => handle(groups, true));
  await extractAll(draft, createRule('(?:with|have|has|having) an? {F:f}(?= $| <~| (?:and|that|which|is|are)\\b)'), (groups) =>
    fieldsAt(draft, groups['f'] ?? '').some(({ name, filters }) => filters.has(`${name}_null`)) ? handle(groups, false) : undefined,
  );
}

/** Quoted text, a code, a number, or one plain word before the end or the next mark; several words need quotes. */
const patternValue = '(?:(?:the )?(?:words?|text|letters) )?(?:(?<v><[qcn]\\d+>)|(?<w>(?:[^ <]+ ?){1,6}?)(?= (?:$|<~)))';

async function extractTextParts(draft: Draft): Promise<void> {
  const handle = (groups: MatchGroups, suffix: '_contains' | '_starts_with'): string => {
    const { f = '', v, w = '' } = groups;
    const verb = suffix === '_contains' ? 'contains' : 'starts with';
    const value = v === undefined ? w.trim().replace(/ and(?: an?| the)?$/, '') : valueAt(draft, v);
    // Without quotes it is unclear where the text ends and the next condition begins.
    if (v === undefined && value.includes(' '))
      throw new NeedsClarification(`Write the text that is looked for in quotes, as in ${inQuotes(value)}.`);
    const fields = fieldsAt(draft, f).filter(({ name, filters }) => filters.has(name + suffix));
    if (fields.length === 0)
      throw new NeedsClarification(`This version has no filter for what ${fieldsAt(draft, f)[0]?.name ?? 'that'} ${verb}.`);
    const field = getOnlyField(fields, `Which one do you mean: ${fields.map(({ name }) => name).join(', ')}?`);
    if (suffix === '_contains' && [...value].length < 3) throw new NeedsClarification('At least three letters are needed to search for.');
    addFilter(draft, field.name + suffix, value, `${field.name} ${verb} ${inQuotes(value)}`);
    return '<~t>';
  };
  const holding = '(?:contains?|containing|includes?|including)';
  await extractAll(draft, createRule(`${holding} ${patternValue.replace(' (?:$|<~)', ' in ')} in (?:the |their |its )?{F:f}`), (groups) =>
    handle(groups, '_contains'),
  );
  await extractAll(draft, createRule(`{F:f} {glue}${holding} ${patternValue}`), (groups) => handle(groups, '_contains'));
  await extractAll(draft, createRule(`{F:f} {glue}(?:starts?|starting|begins?|beginning) with ${patternValue}`), (groups) =>
    handle(groups, '_starts_with'),
  );
}

/** `isInactive` is asked for as `inactive`, and its opposite as `not inactive` or `active`. */
async function extractBooleans(draft: Draft): Promise<void> {
  await extractBooleanNames(draft);
  for (const field of draft.resource.fields.filter(({ kind }) => kind === 'boolean')) {
    const word = field.name.replace(/^(?:is|has)(?=[A-Z])/, '').toLowerCase();
    const opposite = /^(?:in|un|non)(.{4,})$/.exec(word)?.[1];
    const handle = (value: boolean): string => {
      const description = `${field.name} is ${value}`;
      assertFilterable(field, field.name, description);
      addFilter(draft, field.name, String(value), description);
      return '<~b>';
    };
    await extractAll(draft, createRule(`not (?:an? )?${word}s?`), () => handle(false));
    await extractAll(draft, createRule(`(?:an? )?${word}s?`), () => handle(true));
    if (opposite === undefined) continue;
    await extractAll(draft, createRule(`not (?:an? )?${opposite}`), () => handle(true));
    await extractAll(draft, createRule(`(?:an? )?${opposite}`), () => handle(false));
  }
}

/** `paid` for a boolean field of that name; not where the field itself is asked for, as in `per paid`. */
async function extractBooleanNames(draft: Draft): Promise<void> {
  const handle = (mark: string, value: boolean): string | undefined => {
    const [field, ...others] = fieldsAt(draft, mark);
    if (field?.kind !== 'boolean' || others.length > 0) return undefined;
    const description = `${field.name} is ${value}`;
    assertFilterable(field, field.name, description);
    addFilter(draft, field.name, String(value), description);
    return '<~b>';
  };
  await extractAll(draft, createRule('{F:f} (?:is )?(?<value>true|false)'), ({ f = '', value }) => handle(f, value === 'true'));
  await extractAll(draft, createRule('(?<!(?:by|per|each|every|and|which|what) )(?<not>not )?{F:f}(?! of)'), ({ f = '', not }) =>
    handle(f, not === undefined),
  );
}

async function extractOrder(draft: Draft): Promise<void> {
  await extractAll(
    draft,
    createRule('(?:sorted|ordered|sort|order) by (?:the )?{F:f}(?: (?<way>ascending|descending|asc|desc))?'),
    ({ f = '', way }) => {
      if (draft.sort !== undefined) throw new NeedsClarification('A list can be sorted by only one field.');
      const fields = fieldsAt(draft, f);
      const sortable = fields.filter((field) => field.sortable);
      if (sortable.length === 0) throw new NeedsClarification(`This version can't sort by ${fields[0]?.name ?? 'that'}.`);
      const order = way === undefined ? undefined : way.startsWith('desc') ? 'desc' : 'asc';
      draft.sort = { field: getOnlyField(sortable, 'Which field do you want to sort by?'), order };
      return '<~s>';
    },
  );
}

/**
 * Extracts these conditions, in this order: a later rule doesn't see the words that an earlier one removed. Rejects with NeedsClarification
 * or ToolFailed.
 */
export async function extractFilters(draft: Draft): Promise<void> {
  await extractOrder(draft);
  await extractNumbers(draft);
  await extractDays(draft);
  await extractEmpty(draft);
  await extractTextParts(draft);
  await extractBooleans(draft);
}
