// Completes what a question may mean: looks its values up in the data, and refuses what contradicts itself.
import { equals, type Filter, type Lookup } from './clauses.ts';
import { type Intent, readQuestion } from './questions.ts';
import type { Question } from './text.ts';
import type { Field, Resource, Tools } from './tools.ts';

export type Reading = Intent & { readonly resource: Resource; readonly filters: readonly Filter[] };
type Context = { readonly tools: Tools; readonly resource: Resource };

/** The words are understood, but not what they ask for. The message is for the user. */
export class Unclear extends Error {}

/** A field with at most this many values is a state or category, whose values may occur as words in questions. */
const maxStates = 50;
const maxConditions = 8;

/** `invoice : paid in full` is asked for as `paid in full`. */
const stateWords = (value: string): string => value.replace(/^.* : /s, '').replaceAll(/[^\p{L}\d]+/gu, ' ');

/** The values of the field that are meant, ignoring case unless it has too many values to find all. */
async function findValues({ tools, resource }: Context, field: Field, { value, isState }: Lookup): Promise<readonly string[]> {
  const exactly = { resource: resource.name, filters: { [field.name]: value } };
  const isNumber = /^-?\d{1,18}(?:\.\d+)?$/.test(value);
  if (field.kind === 'boolean' || (field.kind === 'number' && !isNumber)) return [];
  if (field.name === 'id') {
    const [row] = (await tools.list({ ...exactly, pageSize: 1 })).data;
    // The record may have this name as well.
    return row === undefined || resource.identity.some(({ name }) => row[name] === value) ? [] : [value];
  }
  if (!isState && (await tools.aggregate(exactly)).count > 0) return [value];
  if (isNumber) return [];
  const { totalGroups, groups } = await tools.groups({ resource: resource.name, filters: {}, groupBy: field.name, limit: maxStates });
  const isMeant = (known: string): boolean => [known.toLowerCase(), stateWords(known.toLowerCase())].includes(value.toLowerCase());
  return totalGroups > maxStates ? [] : groups.map((group) => String(group.value ?? '')).filter(isMeant);
}

/** Each of the filters is one thing that the words may mean. Rejects with Unclear if they mean nothing. */
async function lookUp(context: Context, lookup: Lookup): Promise<readonly Filter[]> {
  const { named, value, isNot, isState } = lookup;
  const { fields, identity } = context.resource;
  const any = fields.filter((field) => field.kind === 'text' && field.name !== 'id' && !(isState && identity.includes(field)));
  const usable = (named ?? any).filter(({ name, filters }) => filters.includes(name));
  const values = await Promise.all(usable.map((field) => findValues(context, field, lookup)));
  const found = usable.flatMap((field, index) => (values[index]?.length ? equals(field, values[index], isNot) : []));
  if (found.length > 0) return found;
  if (named === undefined || isState) throw new Unclear(`I don't understand this question: "${value}" means nothing to me here.`);
  throw new Unclear(`No record has exactly "${value}" as ${usable.map(({ name }) => name).join(' or ')}.`);
}

/** Rejects with Unclear for what may be meant differently. */
async function assertClear({ tools, resource }: Context, { kind, field, order }: Intent, filters: readonly Filter[]): Promise<void> {
  const isPositive = ({ field: { type }, parameters }: Filter): boolean =>
    type !== 'text' && Object.values(parameters).some((value) => Number(value) > 0);
  const isExtreme = field?.kind === 'number' && (kind === 'min' || kind === 'max' || order !== undefined);
  // "Over 500" and "the largest" are ambiguous for fields that are never above zero, such as credits.
  for (const { name } of new Set([...filters.filter(isPositive).map((one) => one.field), ...(isExtreme ? [field] : [])])) {
    const { min, max } = await tools.aggregate({ resource: resource.name, filters: {}, field: name });
    if (Number(max ?? 0) <= 0 && Number(min ?? 0) < 0)
      throw new Unclear(`${name} of ${resource.many} is never above zero (${min} to ${max}). Ask with the sign, as in "under -500".`);
  }
}

type Combinations = readonly (readonly Filter[])[];
/** One condition more, in each of its meanings; none if its field has a condition already. */
const addTo = (filters: readonly Filter[], meanings: readonly Filter[]): Combinations =>
  meanings.filter(({ field }) => filters.every((one) => one.field !== field)).map((next) => [...filters, next]);

async function readingsOf(context: Context, intent: Intent): Promise<readonly (Reading | Unclear)[]> {
  try {
    if (intent.conditions.length > maxConditions) throw new Unclear(`I understand at most ${maxConditions} conditions.`);
    const meanings = await Promise.all(intent.conditions.map((one) => ('isState' in one ? lookUp(context, one) : [one])));
    const combined = meanings.reduce<Combinations>((all, meant) => all.flatMap((filters) => addTo(filters, meant)), [[]]);
    if (combined.length === 0) throw new Unclear('You gave two conditions for the same field.');
    for (const filters of combined) await assertClear(context, intent, filters);
    return combined.map((filters) => ({ ...intent, resource: context.resource, filters }));
  } catch (error) {
    if (error instanceof Unclear) return [error];
    throw error;
  }
}

/** All readings of a question about a resource, and why others are not clear. Rejects with ToolFailed. */
export async function interpret(context: Context, question: Question): Promise<readonly (Reading | Unclear)[]> {
  const intents = readQuestion(question, context.resource);
  // Any words may be a state, so that is the last thing to try.
  const plain = intents.filter(({ conditions }) => !conditions.some((one) => 'isState' in one && one.isState));
  return (await Promise.all((plain.length > 0 ? plain : intents).map((intent) => readingsOf(context, intent)))).flat();
}
