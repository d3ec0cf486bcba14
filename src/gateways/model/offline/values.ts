// Conditions whose words are values in the data: a status, a customer, a number. Each is looked for there; what no record holds is
// only taken for a value where the question names its field.
import { type Field, identityFields } from './catalog.ts';
import type { Data } from './data.ts';
import {
  AskBack,
  addFilter,
  type Condition,
  type Draft,
  fieldsAt,
  type Groups,
  listed,
  NotRead,
  quoted,
  rule,
  takeAll,
  valueAt,
} from './draft.ts';
import { escapeForPattern, otherWords } from './language.ts';

/** A field with no more values than this is one of states or kinds, whose values are words of questions. */
const mostStates = 50;
const mostLookedAt = 100;

const takesEquals = ({ kind, name, filters }: Field): boolean => kind !== 'day' && filters.has(name);
const fitsNumber = (value: string): boolean => /^-?\d+(\.\d+)?$/.test(value);

/** Codes are mostly written so; without a filter for parts of a text no other spelling can be looked for. */
async function inCapitals(
  { data, resource }: Pick<Draft, 'data' | 'resource'>,
  { name }: Field,
  value: string,
): Promise<readonly string[]> {
  const capitals = value.toUpperCase();
  if (capitals === value) return [];
  const { count } = await data.aggregate({ resource: resource.name, filters: { [name]: capitals } });
  return count > 0 ? [capitals] : [];
}

/** Of a field of states, those that the value stands for: `Open` for `Invoice : Open`. */
async function stateMatches({ data, resource }: Draft, fields: readonly Field[], value: string): Promise<readonly Match[]> {
  const found = await Promise.all(
    fields
      .filter(({ kind, name }) => kind === 'text' && !identityFields(resource).some((field) => field.name === name))
      .map(async (field) => ({ field, values: statesCalled(await valuesOf(data, resource.name, field), value) })),
  );
  return found.filter(({ values }) => values.length > 0);
}

const statesCalled = (values: readonly string[], value: string): readonly string[] =>
  values.filter(
    (known) => known.toLowerCase() === value.toLowerCase() || (wordsOfState(value) !== '' && wordsOfState(known) === wordsOfState(value)),
  );

/** All values of a field that has few; none of one that has many. */
async function valuesOf(data: Data, resource: string, field: Field): Promise<readonly string[]> {
  const { totalGroups, groups } = await data.groups({ resource, filters: {}, groupBy: field.name, limit: mostStates });
  const values = groups.map(({ value }) => value).filter((value): value is string => typeof value === 'string' && value.trim() !== '');
  return totalGroups <= mostStates ? values : [];
}

/** How the data spell this value of the field, whatever the case; empty when there is none. */
async function spellings({ data, resource }: Draft, field: Field, value: string): Promise<readonly string[]> {
  if (field.kind === 'boolean') return value === 'true' || value === 'false' ? [value] : [];
  if (field.kind === 'number' && !fitsNumber(value)) return [];
  const { count } = await data.aggregate({ resource: resource.name, filters: { [field.name]: value } });
  if (count > 0) return [value];
  const folded = `${field.name}_contains`;
  if (field.kind !== 'text') return [];
  if (!field.filters.has(folded)) return inCapitals({ data, resource }, field, value);
  if ([...value].length < 3) return [];
  const near = await data.groups({ resource: resource.name, filters: { [folded]: value }, groupBy: field.name, limit: mostLookedAt });
  return near.groups.map((group) => String(group.value)).filter((text) => text.toLowerCase() === value.toLowerCase());
}

type Match = { readonly field: Field; readonly values: readonly string[] };

async function matches(draft: Draft, fields: readonly Field[], value: string): Promise<readonly Match[]> {
  const found = await Promise.all(fields.map(async (field) => ({ field, values: await spellings(draft, field, value) })));
  return found.filter(({ values }) => values.length > 0);
}

function addValue(draft: Draft, { field, values }: Match, isNot = false): Condition {
  const parameter = isNot ? `${field.name}_not` : field.name;
  if (!field.filters.has(parameter)) throw new AskBack(`This version has no filter for what ${field.name} is${isNot ? ' not' : ''}.`);
  const [first = '', ...others] = values;
  return addFilter(
    draft,
    parameter,
    others.length === 0 ? first : values,
    `${field.name} is ${isNot ? 'not ' : ''}${values.map(quoted).join(' or ')}`,
  );
}

/** A value of a field that the question names: one of several fields if the words leave that open. */
async function takeNamed(draft: Draft, mark: string, value: string, isNot: boolean): Promise<string | undefined> {
  const fields = fieldsAt(draft, mark).filter(takesEquals);
  if (fields.length === 0) {
    const [first] = fieldsAt(draft, mark);
    if (first?.kind === 'lines' || first?.kind === 'day') return undefined;
    throw new AskBack(`This version has no filter for ${first?.name ?? 'that'}.`);
  }
  const literal = await matches(draft, fields, value);
  const found = literal.length > 0 ? literal : await stateMatches(draft, fields, value);
  const [match, ...others] = found;
  if (others.length > 0) throw new AskBack(`${quoted(value)} occurs as ${listed(found.map(({ field }) => field))}: which is meant?`);
  if (match !== undefined) addValue(draft, match, isNot);
  else {
    // Nothing has it under any of the fields, so each of them leads to the same: nothing.
    const fitting = fields.find(({ kind }) => kind !== 'number' || fitsNumber(value));
    if (fitting === undefined || isNot) throw new AskBack(`No record has ${quoted(value)} as ${listed(fields)}.`);
    addFilter(draft, fitting.name, value, `${listed(fields)} is ${quoted(value)}`);
  }
  return '<~v>';
}

/** One record by what it is called: `invoice 563614`. */
async function takeRecord(draft: Draft): Promise<void> {
  await takeAll(draft, rule('<r> (?:with )?(?:the )?(?:id |{F:f} (?:of |is )?|no |called |named )?{V:v}'), async ({ f, v = '' }, after) => {
    // In "invoice 500 or more" the number is none of a record.
    if (/^ or /.test(after)) return undefined;
    const value = valueAt(draft, v);
    const named = f === undefined ? identityFields(draft.resource).filter(takesEquals) : fieldsAt(draft, f).filter(takesEquals);
    if (f !== undefined && !named.some((field) => identityFields(draft.resource).includes(field))) return undefined;
    const found = await matches(draft, named, value);
    const canBeId = f === undefined && (!draft.resource.hasWholeIds || /^\d{1,18}$/.test(value));
    const byId = canBeId ? await findId(draft, value) : [];
    const [match, ...others] = [...found, ...byId];
    if (others.length > 0)
      throw new AskBack(
        `${quoted(value)} is the ${listed([...found, ...byId].map(({ field }) => field))} of different records: which is meant?`,
      );
    const tried = canBeId ? [...named, idField] : named;
    const [first] = tried;
    if (first === undefined) return undefined;
    // Nothing has it under any of these, so each of them leads to the same: nothing.
    draft.record =
      match === undefined ? addFilter(draft, first.name, value, `${listed(tried)} is ${quoted(value)}`) : addValue(draft, match);
    draft.isSingle = true;
    return '<r>';
  });
}

const idField: Field = { name: 'id', type: 'text', kind: 'text', filters: new Set(['id']), sortable: false, lineFields: [] };

/** A record that is found by its number too is one record, not two. */
async function findId({ data, resource }: Draft, value: string): Promise<readonly Match[]> {
  const { rows } = await data.list({ resource: resource.name, filters: { id: value }, pageSize: 1 });
  const [row] = rows;
  if (row === undefined || identityFields(resource).some(({ name }) => row[name] === value)) return [];
  return [{ field: idField, values: [value] }];
}

/** Words that are values of fields with few values: `open`, `paid in full`. */
async function takeStates(draft: Draft): Promise<void> {
  if (otherWords(draft.text).length === 0) return;
  const { resource, data } = draft;
  // What names records has as many values as there are records.
  const names = new Set(['id', ...identityFields(resource).map(({ name }) => name)]);
  const fields = resource.fields.filter((field) => field.kind === 'text' && takesEquals(field) && !names.has(field.name));
  const perField = await Promise.all(fields.map(async (field) => statesOf(field, await valuesOf(data, resource.name, field))));
  const states = perField.flat().sort((a, b) => b.words.length - a.words.length);
  for (const state of states) await takeState(draft, states, state);
  // The first word stands for a state, as `paid` for `Paid In Full`, where no other state begins so.
  for (const state of states) {
    const [first = ''] = state.words.split(' ');
    const isOnly = states.filter(({ words }) => words.split(' ')[0] === first).length === 1;
    if (isOnly && first.length > 2 && first !== state.words) await takeState(draft, states, { ...state, words: first });
  }
}

/** Words, and all values of the field that they stand for. */
type State = { readonly field: Field; readonly values: readonly string[]; readonly words: string };

const statesOf = (field: Field, values: readonly string[]): readonly State[] =>
  [...Map.groupBy(values, wordsOfState)].filter(([words]) => words !== '').map(([words, same]) => ({ field, values: same, words }));

/** `Invoice : Paid In Full` is asked for as `paid in full`. */
const wordsOfState = (value: string): string =>
  (value.split(' : ').at(-1) ?? value)
    .toLowerCase()
    .replaceAll(/[^\p{L}\d]+/gu, ' ')
    .trim();

/**
 * Whether a day tells when the state began: "were paid by CUST12415 in August", "in August, how many were paid". One of the record
 * itself stands with it, as in "paid invoices in August" and "invoices in August that were paid".
 */
function isDatedState(text: string, after: string): boolean {
  const isBeforeRecord = /^ (?:(?!and |<~)[^ ]+ )*?<[rR]> /.test(after);
  return (
    !isBeforeRecord && (/^(?: (?!and |with |that |which |whose )[^ ]+)*? <~d>/.test(after) || /^ (?:in |on |during )?<~d> /.test(text))
  );
}

async function takeState(draft: Draft, all: readonly State[], { field, values, words }: State): Promise<void> {
  const pattern = rule(`(?:{F:f} {glue})?(?<not>(?:not|non) )?${escapeForPattern(words)}`);
  const others = all.filter((other) => other.words === words && other.field !== field).map((other) => other.field);
  await takeAll(draft, pattern, ({ f, not }: Groups, after) => {
    if (f !== undefined && !fieldsAt(draft, f).includes(field)) return undefined;
    if (f === undefined && others.length > 0) throw new AskBack(`"${words}" occurs as ${listed([field, ...others])}: which is meant?`);
    // "paid in August" asks when it became so, which a date of the record doesn't tell.
    if (isDatedState(draft.text, after))
      throw new AskBack(
        `When ${field.name} became ${values.map(quoted).join(' or ')} is not known here. Ask for ${words} ${draft.resource.many} of that time instead.`,
      );
    addValue(draft, { field, values }, not !== undefined);
    return '<~v>';
  });
}

/** `invoices of CUST12415`: a value whose field is not named, found in exactly one. */
async function takeReference(draft: Draft): Promise<void> {
  await takeAll(draft, rule('(?:(?:of|for|from|by|to) {V:v}|{Q:w})'), async ({ v, w }) => {
    const value = valueAt(draft, v ?? w ?? '');
    const fields = draft.resource.fields.filter((field) => field.kind === 'text' && takesEquals(field) && field.name !== 'id');
    const found = await matches(draft, fields, value);
    const [match, ...others] = found;
    if (match === undefined) throw new NotRead(value);
    if (others.length > 0) throw new AskBack(`${quoted(value)} occurs as ${listed(found.map(({ field }) => field))}: which is meant?`);
    addValue(draft, match);
    return '<~v>';
  });
}

/** `items named "…"`. */
async function takeCalled(draft: Draft): Promise<void> {
  const fields = draft.resource.fields.filter((field) => field.name === 'name' && takesEquals(field));
  await takeAll(draft, rule('(?:named|called) {V:v}'), async ({ v = '' }) => {
    const value = valueAt(draft, v);
    const [match] = await matches(draft, fields, value);
    if (match !== undefined) addValue(draft, match);
    else if (fields.length === 0) return undefined;
    else addFilter(draft, 'name', value, `name is ${quoted(value)}`);
    return '<~v>';
  });
}

export async function takeValues(draft: Draft): Promise<void> {
  await takeRecord(draft);
  await takeCalled(draft);
  await takeAll(
    draft,
    rule('(?:by (?:the )?)?{F:f} (?<glue>(?:(?:is|are|was|were|of|equals|the|called|named) )*)(?<not>not )?(?<v><[qcn]\\d+>|true|false)'),
    async ({ f = '', glue = '', v = '', not }, after) => {
      // In "the total of the 3 largest invoices" the number is none of a total.
      if (v.startsWith('<n') && /\b(?:of|the) /.test(glue) && /^ (?:[^ <]+ ){0,2}<[rR]>/.test(after)) return undefined;
      return takeNamed(draft, f, v.startsWith('<') ? valueAt(draft, v) : v, not !== undefined);
    },
  );
  await takeStates(draft);
  await takeReference(draft);
}
