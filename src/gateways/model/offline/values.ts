// Extracts conditions whose words are values in the data: a status, a customer, a number. Each is looked up there; a word that no record
// contains counts as a value only if the question names its field.
import { type CatalogField, identityFields } from './catalog.ts';
import type { DataTools } from './data.ts';
import {
  addFilter,
  createRule,
  type DescribedCondition,
  type Draft,
  extractAll,
  fieldsAt,
  inQuotes,
  joinFieldNames,
  type MatchGroups,
  NeedsClarification,
  NotUnderstood,
  valueAt,
} from './draft.ts';
import { contentWords, escapeForPattern } from './language.ts';

/** A field with at most this many values is a state or category, whose values may occur as words in questions. */
const maxStates = 50;
const maxSpellings = 100;

const takesEquals = ({ kind, name, filters }: CatalogField): boolean => kind !== 'day' && filters.has(name);
const fitsNumber = (value: string): boolean => /^-?\d+(\.\d+)?$/.test(value);

/** Codes are usually in capitals; without a `contains` filter no other spelling can be looked up. */
async function findInCapitals(
  { data, resource }: Pick<Draft, 'data' | 'resource'>,
  { name }: CatalogField,
  value: string,
): Promise<readonly string[]> {
  const capitals = value.toUpperCase();
  if (capitals === value) return [];
  const { count } = await data.aggregate({ resource: resource.name, filters: { [name]: capitals } });
  return count > 0 ? [capitals] : [];
}

/** The states of each field that the value refers to, such as `Invoice : Open` for `open`. */
async function findStateMatches({ data, resource }: Draft, fields: readonly CatalogField[], value: string): Promise<readonly Match[]> {
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

/** All values of a field with few values; none for a field with many. */
async function valuesOf(data: DataTools, resource: string, field: CatalogField): Promise<readonly string[]> {
  const { totalGroups, groups } = await data.groups({ resource, filters: {}, groupBy: field.name, limit: maxStates });
  const values = groups.map(({ value }) => value).filter((value): value is string => typeof value === 'string' && value.trim() !== '');
  return totalGroups <= maxStates ? values : [];
}

/** The spellings of this value in the data, ignoring case; empty if there is none. */
async function findSpellings({ data, resource }: Draft, field: CatalogField, value: string): Promise<readonly string[]> {
  if (field.kind === 'boolean') return value === 'true' || value === 'false' ? [value] : [];
  if (field.kind === 'number' && !fitsNumber(value)) return [];
  const { count } = await data.aggregate({ resource: resource.name, filters: { [field.name]: value } });
  if (count > 0) return [value];
  const folded = `${field.name}_contains`;
  if (field.kind !== 'text') return [];
  if (!field.filters.has(folded)) return findInCapitals({ data, resource }, field, value);
  if ([...value].length < 3) return [];
  const near = await data.groups({ resource: resource.name, filters: { [folded]: value }, groupBy: field.name, limit: maxSpellings });
  return near.groups.map((group) => String(group.value)).filter((text) => text.toLowerCase() === value.toLowerCase());
}

type Match = { readonly field: CatalogField; readonly values: readonly string[] };

async function findMatches(draft: Draft, fields: readonly CatalogField[], value: string): Promise<readonly Match[]> {
  const found = await Promise.all(fields.map(async (field) => ({ field, values: await findSpellings(draft, field, value) })));
  return found.filter(({ values }) => values.length > 0);
}

function addValue(draft: Draft, { field, values }: Match, isNot = false): DescribedCondition {
  const parameter = isNot ? `${field.name}_not` : field.name;
  if (!field.filters.has(parameter))
    throw new NeedsClarification(`This version has no filter for what ${field.name} is${isNot ? ' not' : ''}.`);
  const [first = '', ...others] = values;
  return addFilter(
    draft,
    parameter,
    others.length === 0 ? first : values,
    `${field.name} is ${isNot ? 'not ' : ''}${values.map(inQuotes).join(' or ')}`,
  );
}

/** Adds the condition for a value of a named field. The name may mean several fields; the data decide which. */
async function extractNamed(draft: Draft, mark: string, value: string, isNot: boolean): Promise<string | undefined> {
  const fields = fieldsAt(draft, mark).filter(takesEquals);
  if (fields.length === 0) {
    const [first] = fieldsAt(draft, mark);
    if (first?.kind === 'lines' || first?.kind === 'day') return undefined;
    throw new NeedsClarification(`This version has no filter for ${first?.name ?? 'that'}.`);
  }
  const literal = await findMatches(draft, fields, value);
  const found = literal.length > 0 ? literal : await findStateMatches(draft, fields, value);
  const [match, ...others] = found;
  if (others.length > 0)
    throw new NeedsClarification(`${inQuotes(value)} occurs as ${joinFieldNames(found.map(({ field }) => field))}. Which one do you mean?`);
  if (match !== undefined) addValue(draft, match, isNot);
  else {
    // No record has the value in any of the fields, so filtering by any of them finds nothing.
    const fitting = fields.find(({ kind }) => kind !== 'number' || fitsNumber(value));
    if (fitting === undefined || isNot) throw new NeedsClarification(`No record has ${inQuotes(value)} as ${joinFieldNames(fields)}.`);
    addFilter(draft, fitting.name, value, `${joinFieldNames(fields)} is ${inQuotes(value)}`);
  }
  return '<~v>';
}

/** One record by its name: `invoice 563614`. */
async function extractRecord(draft: Draft): Promise<void> {
  await extractAll(
    draft,
    createRule('<r> (?:with )?(?:the )?(?:id |{F:f} (?:of |is )?|no |called |named )?{V:v}'),
    async ({ f, v = '' }, after) => {
      // In "invoice 500 or more" the number isn't a record's.
      if (/^ or /.test(after)) return undefined;
      const value = valueAt(draft, v);
      const named = f === undefined ? identityFields(draft.resource).filter(takesEquals) : fieldsAt(draft, f).filter(takesEquals);
      if (f !== undefined && !named.some((field) => identityFields(draft.resource).includes(field))) return undefined;
      const found = await findMatches(draft, named, value);
      const canBeId = f === undefined && (!draft.resource.hasWholeIds || /^\d{1,18}$/.test(value));
      const byId = canBeId ? await findId(draft, value) : [];
      const [match, ...others] = [...found, ...byId];
      if (others.length > 0)
        throw new NeedsClarification(
          `${inQuotes(value)} is the ${joinFieldNames([...found, ...byId].map(({ field }) => field))} of different records. Which one do you mean?`,
        );
      const tried = canBeId ? [...named, idField] : named;
      const [first] = tried;
      if (first === undefined) return undefined;
      // No record has the value in any of these, so filtering by any of them finds nothing.
      draft.record =
        match === undefined
          ? addFilter(draft, first.name, value, `${joinFieldNames(tried)} is ${inQuotes(value)}`)
          : addValue(draft, match);
      draft.isSingle = true;
      return '<r>';
    },
  );
}

const idField: CatalogField = { name: 'id', type: 'text', kind: 'text', filters: new Set(['id']), sortable: false, lineFields: [] };

/** Finds a record by id, unless the same record is also found by its name. */
async function findId({ data, resource }: Draft, value: string): Promise<readonly Match[]> {
  const { rows } = await data.list({ resource: resource.name, filters: { id: value }, pageSize: 1 });
  const [row] = rows;
  if (row === undefined || identityFields(resource).some(({ name }) => row[name] === value)) return [];
  return [{ field: idField, values: [value] }];
}

/** Words that are values of fields with few values: `open`, `paid in full`. */
async function extractStates(draft: Draft): Promise<void> {
  if (contentWords(draft.text).length === 0) return;
  const { resource, data } = draft;
  // Fields that identify records have as many values as there are records.
  const names = new Set(['id', ...identityFields(resource).map(({ name }) => name)]);
  const fields = resource.fields.filter((field) => field.kind === 'text' && takesEquals(field) && !names.has(field.name));
  const perField = await Promise.all(fields.map(async (field) => statesOf(field, await valuesOf(data, resource.name, field))));
  const states = perField.flat().sort((a, b) => b.words.length - a.words.length);
  for (const state of states) await extractState(draft, states, state);
  // The first word of a state is enough if no other state begins with it, such as `paid` for `Paid In Full`.
  for (const state of states) {
    const [first = ''] = state.words.split(' ');
    const isOnly = states.filter(({ words }) => words.split(' ')[0] === first).length === 1;
    if (isOnly && first.length > 2 && first !== state.words) await extractState(draft, states, { ...state, words: first });
  }
}

/** A phrase and the field's values that it refers to. */
type State = { readonly field: CatalogField; readonly values: readonly string[]; readonly words: string };

const statesOf = (field: CatalogField, values: readonly string[]): readonly State[] =>
  [...Map.groupBy(values, wordsOfState)].filter(([words]) => words !== '').map(([words, same]) => ({ field, values: same, words }));

/** `Invoice : Paid In Full` is asked for as `paid in full`. */
const wordsOfState = (value: string): string =>
  (value.split(' : ').at(-1) ?? value)
    .toLowerCase()
    .replaceAll(/[^\p{L}\d]+/gu, ' ')
    .trim();

/**
 * Whether a day says when the state began, as in "were paid by CUST12415 in August" and "in August, how many were paid". In "paid invoices
 * in August" and "invoices in August that were paid" the day is the record's own date.
 */
function isDatedState(text: string, after: string): boolean {
  const isBeforeRecord = /^ (?:(?!and |<~)[^ ]+ )*?<[rR]> /.test(after);
  return (
    !isBeforeRecord && (/^(?: (?!and |with |that |which |whose )[^ ]+)*? <~d>/.test(after) || /^ (?:in |on |during )?<~d> /.test(text))
  );
}

async function extractState(draft: Draft, all: readonly State[], { field, values, words }: State): Promise<void> {
  const pattern = createRule(`(?:{F:f} {glue})?(?<not>(?:not|non) )?${escapeForPattern(words)}`);
  const others = all.filter((other) => other.words === words && other.field !== field).map((other) => other.field);
  await extractAll(draft, pattern, ({ f, not }: MatchGroups, after) => {
    if (f !== undefined && !fieldsAt(draft, f).includes(field)) return undefined;
    if (f === undefined && others.length > 0)
      throw new NeedsClarification(`"${words}" occurs as ${joinFieldNames([field, ...others])}. Which one do you mean?`);
    // "paid in August" asks when the state began, which no date of the record says.
    if (isDatedState(draft.text, after))
      throw new NeedsClarification(
        `When ${field.name} became ${values.map(inQuotes).join(' or ')} is not known here. Ask for ${words} ${draft.resource.many} of that time instead.`,
      );
    addValue(draft, { field, values }, not !== undefined);
    return '<~v>';
  });
}

/** `invoices of CUST12415`: a value whose field is not named, found in exactly one. */
async function extractReference(draft: Draft): Promise<void> {
  await extractAll(draft, createRule('(?:(?:of|for|from|by|to) {V:v}|{Q:w})'), async ({ v, w }) => {
    const value = valueAt(draft, v ?? w ?? '');
    const fields = draft.resource.fields.filter((field) => field.kind === 'text' && takesEquals(field) && field.name !== 'id');
    const found = await findMatches(draft, fields, value);
    const [match, ...others] = found;
    if (match === undefined) throw new NotUnderstood(value);
    if (others.length > 0)
      throw new NeedsClarification(
        `${inQuotes(value)} occurs as ${joinFieldNames(found.map(({ field }) => field))}. Which one do you mean?`,
      );
    addValue(draft, match);
    return '<~v>';
  });
}

/** `items named "…"`. */
async function extractCalled(draft: Draft): Promise<void> {
  const fields = draft.resource.fields.filter((field) => field.name === 'name' && takesEquals(field));
  await extractAll(draft, createRule('(?:named|called) {V:v}'), async ({ v = '' }) => {
    const value = valueAt(draft, v);
    const [match] = await findMatches(draft, fields, value);
    if (match !== undefined) addValue(draft, match);
    else if (fields.length === 0) return undefined;
    else addFilter(draft, 'name', value, `name is ${inQuotes(value)}`);
    return '<~v>';
  });
}

/** Extracts these conditions. Rejects with NeedsClarification, NotUnderstood or ToolFailed. */
export async function extractValues(draft: Draft): Promise<void> {
  await extractRecord(draft);
  await extractCalled(draft);
  await extractAll(
    draft,
    createRule(
      '(?:by (?:the )?)?{F:f} (?<glue>(?:(?:is|are|was|were|of|equals|the|called|named) )*)(?<not>not )?(?<v><[qcn]\\d+>|true|false)',
    ),
    async ({ f = '', glue = '', v = '', not }, after) => {
      // In "the total of the 3 largest invoices" the number isn't a value of total.
      if (v.startsWith('<n') && /\b(?:of|the) /.test(glue) && /^ (?:[^ <]+ ){0,2}<[rR]>/.test(after)) return undefined;
      return extractNamed(draft, f, v.startsWith('<') ? valueAt(draft, v) : v, not !== undefined);
    },
  );
  await extractStates(draft);
  await extractReference(draft);
}
