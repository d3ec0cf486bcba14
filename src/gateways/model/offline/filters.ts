// Conditions that a question's own words tell: comparisons of numbers and days, text that a field holds, empty fields, booleans, an
// order. What needs a look into the data is in values.ts.
import { type Field, mainAmount, mainDay, type Resource } from './catalog.ts';
import type { Data } from './data.ts';
import { addDays, type DaySpan } from './dates.ts';
import { AskBack, addFilter, type Draft, fieldsAt, type Groups, quoted, rule, spanAt, takeAll, valueAt } from './draft.ts';

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

const one = (fields: readonly Field[], what: string): Field => {
  const [field, ...others] = fields;
  if (field === undefined || others.length > 0) throw new AskBack(what);
  return field;
};

const filterable = (field: Field, parameter: string, asked: string): void => {
  if (!field.filters.has(parameter))
    throw new AskBack(`This version has no filter for ${quoted(asked)}: ${field.name} can't be filtered that way.`);
};

/** The number field that is named, or the main one. */
function numberField(draft: Draft, mark: string | undefined): Field {
  const named = mark === undefined ? [] : fieldsAt(draft, mark).filter(({ kind }) => kind === 'number');
  if (named.length > 0) return one(named, `Which of these is meant: ${named.map(({ name }) => name).join(', ')}?`);
  const main = mainAmount(draft.resource);
  if (main !== undefined) return main;
  const numbers = draft.resource.fields.filter(({ kind }) => kind === 'number').map(({ name }) => name);
  throw new AskBack(
    numbers.length === 0
      ? `${draft.resource.name} have no numbers here.`
      : `Which number is meant? ${draft.resource.name} have ${numbers.join(', ')}.`,
  );
}

/** Credits are below zero, where "over 500" and "the largest" could mean either end. */
export async function assertAboveZero(data: Data, { name, many }: Resource, field: Field): Promise<void> {
  const { min, max } = await data.aggregate({ resource: name, filters: {}, field: field.name });
  if (max === null || max === undefined || Number(max) > 0 || Number(min) >= 0) return;
  throw new AskBack(
    `${field.name} of ${many} is never above zero: it runs from ${min} to ${max}. Ask with the sign, as in "under -500", or for a list sorted by ${field.name}.`,
  );
}

const isNumberMark = (draft: Draft, mark: string | undefined): boolean =>
  mark === undefined || fieldsAt(draft, mark).some(({ kind }) => kind === 'number');

async function addNumber(draft: Draft, field: Field, suffix: Comparison, value: string): Promise<string> {
  if (!value.startsWith('-') && Number(value) !== 0) await assertAboveZero(draft.data, draft.resource, field);
  const said = `${field.name} ${inWords[suffix]} ${value}`;
  filterable(field, `${field.name}${suffix}`, said);
  addFilter(draft, `${field.name}${suffix}`, value, said);
  return '<~n>';
}

/** The field that a comparison follows, if it follows one: what is said of lines is not said of the record. */
const numberOf = '(?:{F:f} {glue}|(?<!<f\\d+> {glue}))';

const isYear = (value: string): boolean => /^(?:19|20)\d{2}$/.test(value);

async function takeNumbers(draft: Draft): Promise<void> {
  const compared = async (groups: Groups, after: string): Promise<string | undefined> => {
    const { f, g, op = '', n = '', m } = groups;
    // "Show at most 3 invoices" tells how many.
    if (f === undefined && g === undefined && /^ (?:[^ <]+ )?<[rR]>/.test(after)) return undefined;
    // What is over 3 lines, or over 5 days, is not told by a number field.
    if (!isNumberMark(draft, f) || (f === undefined && !isNumberMark(draft, g))) return undefined;
    if (f === undefined && g === undefined && [n, m].every((mark) => mark !== undefined && isYear(valueAt(draft, mark))))
      throw new AskBack('Years or amounts? Write days or months, as in "between 2011-01-01 and 2011-12-31", or name the number.');
    if (m !== undefined && Number(valueAt(draft, m)) < Number(valueAt(draft, n)))
      throw new AskBack('The second number lies below the first.');
    const field = numberField(draft, f ?? g);
    if (m === undefined) await addNumber(draft, field, suffixOf(op), valueAt(draft, n));
    else {
      await addNumber(draft, field, '_gte', valueAt(draft, n));
      await addNumber(draft, field, '_lte', valueAt(draft, m));
    }
    return f !== undefined && g !== undefined ? `<~n> ${g}` : '<~n>';
  };
  await takeAll(
    draft,
    rule(`${numberOf}between {N:n} and {N:m}(?: {F:g}(?! (?:after|before|since|on|in|from|between|until|by|<d)))?`),
    compared,
  );
  await takeAll(
    draft,
    rule(`${numberOf}(?<!not )(?<op>${anyComparison}) {N:n}(?: {F:g}(?! (?:after|before|since|on|in|from|between|until|by|<d)))?`),
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
  await takeAll(draft, rule(`${numberOf}{N:n} or (?<op>more|higher|above|less|lower|below)`), (groups, after) =>
    compared({ ...groups, op: flipped[groups['op'] ?? ''] }, after),
  );
}

type Edges = { readonly from?: string; readonly to?: string };
const asksWhich =
  (other: string) =>
  (_span: DaySpan): never => {
    throw new AskBack(`This can be read in two ways. Write "in" or "${other}" with the date.`);
  };
const edges: readonly (readonly [string, (span: DaySpan) => Edges])[] = [
  ['since|starting(?: on| from| in)?|on or after|not before', ({ from }) => ({ from })],
  ['from', asksWhich('since')],
  ['after|later than|newer than|more recent than', ({ to }) => ({ from: addDays(to, 1) })],
  ['before|earlier than|older than|prior to', ({ from }) => ({ to: addDays(from, -1) })],
  ['through|on or before|no later than|not after', ({ to }) => ({ to })],
  ['until|till|up to|by', (span) => (span.from === span.to ? { to: span.to } : asksWhich('before')(span))],
  ['over', (span) => (span.from === span.to ? asksWhich('after')(span) : span)],
  ['in|on|during|within|for|of|at', (span) => span],
];
const anyEdge = edges.map(([words]) => words).join('|');

function dayField(draft: Draft, mark: string | undefined): Field {
  const named = mark === undefined ? [] : fieldsAt(draft, mark).filter(({ kind }) => kind === 'day');
  if (named.length > 0) return one(named, `Which of these is meant: ${named.map(({ name }) => name).join(', ')}?`);
  const main = mainDay(draft.resource);
  if (main !== undefined) return main;
  const days = draft.resource.fields.filter(({ kind }) => kind === 'day').map(({ name }) => name);
  throw new AskBack(
    days.length === 0
      ? `${draft.resource.name} have no dates here.`
      : `Which date is meant? ${draft.resource.name} have ${days.join(', ')}.`,
  );
}

/** Whichever of the two spellings of an edge the version filters by. */
function addDay(draft: Draft, field: Field, { from, to }: Edges): void {
  const add = (day: string, spellings: readonly (readonly [string, string])[], said: string): void => {
    const usable = spellings.find(([suffix]) => field.filters.has(field.name + suffix));
    if (usable === undefined)
      throw new AskBack(`This version has no filter for ${quoted(said)}: ${field.name} can't be filtered that way.`);
    if (day < '0002-01-01' || day > '9990-01-01') throw new AskBack('Such a day is outside of what can be asked for.');
    addFilter(draft, field.name + usable[0], usable[1], said);
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

async function takeDays(draft: Draft): Promise<void> {
  const mark = '<~d>';
  const takeSpan = ({ f, d = '', e }: Groups, span: (groups: DaySpan) => Edges): string => {
    const isDay = f !== undefined && fieldsAt(draft, f).some(({ kind }) => kind === 'day');
    const first = spanAt(draft, d);
    const last = e === undefined ? first : spanAt(draft, e);
    if (last.to < first.from) throw new AskBack('The second day lies before the first.');
    addDay(draft, dayField(draft, f), span({ from: first.from, to: last.to }));
    return f !== undefined && !isDay ? `${f} ${mark}` : mark;
  };
  await takeAll(
    draft,
    rule('(?:{F:f} {glue})?(?:(?:dated|issued|made) )?(?:between|from) {D:d} (?:and|to|until|till|through) {D:e}'),
    (groups) => takeSpan(groups, (span) => span),
  );
  await takeAll(draft, rule(`(?:{F:f} {glue})?(?:(?:dated|issued|made) )?(?<!not )(?:(?<op>${anyEdge}) )?(?:the )?{D:d}`), (groups) => {
    const { op } = groups;
    const edge = op === undefined ? undefined : edges.find(([words]) => new RegExp(`^(?:${words})$`).test(op));
    return takeSpan(groups, edge?.[1] ?? ((span) => span));
  });
}

async function takeEmpty(draft: Draft): Promise<void> {
  const take = ({ f = '' }: Groups, isNull: boolean): string => {
    const fields = fieldsAt(draft, f).filter(({ name, filters }) => filters.has(`${name}_null`));
    if (fields.length === 0)
      throw new AskBack(`This version has no filter for records with or without ${fieldsAt(draft, f)[0]?.name ?? 'it'}.`);
    const field = one(fields, `Which of these is meant: ${fields.map(({ name }) => name).join(', ')}?`);
    addFilter(draft, `${field.name}_null`, String(isNull), `${field.name} is ${isNull ? '' : 'not '}empty`);
    return '<~e>';
  };
  await takeAll(
    draft,
    rule('(?:without|with no|have no|has no|having no|had no|lacking|missing) (?:an? |any |the |their |its )?{F:f}'),
    (groups) => take(groups, true),
  );
  await takeAll(draft, rule('{F:f} (?:is|are) (?:missing|empty|null|unknown)'), (groups) => take(groups, true));
  await takeAll(draft, rule('(?:with|have|has|having) an? {F:f}(?= $| <~| (?:and|that|which|is|are)\\b)'), (groups) =>
    fieldsAt(draft, groups['f'] ?? '').some(({ name, filters }) => filters.has(`${name}_null`)) ? take(groups, false) : undefined,
  );
}

/** Quoted text, a code, a number, or a plain word before the end or the next thing that was understood; several need their quotes. */
const patternValue = '(?:(?:the )?(?:words?|text|letters) )?(?:(?<v><[qcn]\\d+>)|(?<w>(?:[^ <]+ ?){1,6}?)(?= (?:$|<~)))';

async function takeParts(draft: Draft): Promise<void> {
  const take = (groups: Groups, suffix: '_contains' | '_starts_with'): string => {
    const { f = '', v, w = '' } = groups;
    const verb = suffix === '_contains' ? 'contains' : 'starts with';
    const value = v === undefined ? w.trim().replace(/ and(?: an?| the)?$/, '') : valueAt(draft, v);
    // Where plain words end, and the next condition begins, is anyone's guess.
    if (v === undefined && value.includes(' ')) throw new AskBack(`Write the text that is looked for in quotes, as in ${quoted(value)}.`);
    const fields = fieldsAt(draft, f).filter(({ name, filters }) => filters.has(name + suffix));
    if (fields.length === 0) throw new AskBack(`This version has no filter for what ${fieldsAt(draft, f)[0]?.name ?? 'that'} ${verb}.`);
    const field = one(fields, `Which of these is meant: ${fields.map(({ name }) => name).join(', ')}?`);
    if (suffix === '_contains' && [...value].length < 3) throw new AskBack('At least three letters are needed to search for.');
    addFilter(draft, field.name + suffix, value, `${field.name} ${verb} ${quoted(value)}`);
    return '<~t>';
  };
  const holding = '(?:contains?|containing|includes?|including)';
  await takeAll(draft, rule(`${holding} ${patternValue.replace(' (?:$|<~)', ' in ')} in (?:the |their |its )?{F:f}`), (groups) =>
    take(groups, '_contains'),
  );
  await takeAll(draft, rule(`{F:f} {glue}${holding} ${patternValue}`), (groups) => take(groups, '_contains'));
  await takeAll(draft, rule(`{F:f} {glue}(?:starts?|starting|begins?|beginning) with ${patternValue}`), (groups) =>
    take(groups, '_starts_with'),
  );
}

/** `isInactive` is asked for as `inactive`, and its opposite as `not inactive` or `active`. */
async function takeBooleans(draft: Draft): Promise<void> {
  await takeBooleanNames(draft);
  for (const field of draft.resource.fields.filter(({ kind }) => kind === 'boolean')) {
    const word = field.name.replace(/^(?:is|has)(?=[A-Z])/, '').toLowerCase();
    const opposite = /^(?:in|un|non)(.{4,})$/.exec(word)?.[1];
    const take = (value: boolean): string => {
      const said = `${field.name} is ${value}`;
      filterable(field, field.name, said);
      addFilter(draft, field.name, String(value), said);
      return '<~b>';
    };
    await takeAll(draft, rule(`not (?:an? )?${word}s?`), () => take(false));
    await takeAll(draft, rule(`(?:an? )?${word}s?`), () => take(true));
    if (opposite === undefined) continue;
    await takeAll(draft, rule(`not (?:an? )?${opposite}`), () => take(true));
    await takeAll(draft, rule(`(?:an? )?${opposite}`), () => take(false));
  }
}

/** `paid` where the field is called just so; not where it is asked for rather than a condition, as in `per paid`. */
async function takeBooleanNames(draft: Draft): Promise<void> {
  const take = (mark: string, value: boolean): string | undefined => {
    const [field, ...others] = fieldsAt(draft, mark);
    if (field?.kind !== 'boolean' || others.length > 0) return undefined;
    const said = `${field.name} is ${value}`;
    filterable(field, field.name, said);
    addFilter(draft, field.name, String(value), said);
    return '<~b>';
  };
  await takeAll(draft, rule('{F:f} (?:is )?(?<value>true|false)'), ({ f = '', value }) => take(f, value === 'true'));
  await takeAll(draft, rule('(?<!(?:by|per|each|every|and|which|what) )(?<not>not )?{F:f}(?! of)'), ({ f = '', not }) =>
    take(f, not === undefined),
  );
}

async function takeOrder(draft: Draft): Promise<void> {
  await takeAll(
    draft,
    rule('(?:sorted|ordered|sort|order) by (?:the )?{F:f}(?: (?<way>ascending|descending|asc|desc))?'),
    ({ f = '', way }) => {
      if (draft.sort !== undefined) throw new AskBack('A list has one order.');
      const fields = fieldsAt(draft, f);
      const sortable = fields.filter((field) => field.sortable);
      if (sortable.length === 0) throw new AskBack(`This version has no order by ${fields[0]?.name ?? 'that'}.`);
      const order = way === undefined ? undefined : way.startsWith('desc') ? 'desc' : 'asc';
      draft.sort = { field: one(sortable, 'Which field is meant by the order?'), order };
      return '<~s>';
    },
  );
}

/** In this order: a later rule never sees the words of an earlier one. */
export async function takeFilters(draft: Draft): Promise<void> {
  await takeOrder(draft);
  await takeNumbers(draft);
  await takeDays(draft);
  await takeEmpty(draft);
  await takeParts(draft);
  await takeBooleans(draft);
}
