// Completes what a question may mean: looks its values up in the data, and refuses what contradicts itself.
import type { Lookup } from './clauses.ts';
import { equals, type Filter } from './filters.ts';
import { type Intent, readQuestion } from './questions.ts';
import { type Question, toWords } from './text.ts';
import type { Field, Resource, Tools } from './tools.ts';

export type Reading = Intent & { readonly resource: Resource; readonly filters: readonly Filter[] };
type Context = { readonly tools: Tools; readonly resource: Resource };

/** The words are understood, but not what they ask for. The message is for the user. */
export class Unclear extends Error {}

/** A field with at most this many values is a state or category, whose values may be words of questions. */
const maxStates = 50;
const maxConditions = 8;

/** `invoice : paid in full` is asked for as `paid in full`. */
const stateWords = (value: string): string => value.replace(/^.* : /s, '').replaceAll(/[^\p{L}\d]+/gu, ' ');

/** Whether a name begins with these words or has them inside. */
const hasWords = (known: string, words: string): boolean =>
  ` ${known.toLowerCase().replaceAll(/[^\p{L}\d]+/gu, ' ')} `.includes(
    ` ${words.replaceAll(/[^\p{L}\d]+/gu, ' ').trim()} `,
  );

/**
 * The values of the field that are meant, ignoring case unless it has too many values to find all. Rejects
 * with Unclear if several values have this part of a name.
 */
async function findValues(
  { tools, resource }: Context,
  field: Field,
  { value, as }: Lookup,
): Promise<readonly string[]> {
  const exactly = { resource: resource.name, filters: { [field.name]: value } };
  const isNumber = /^-?\d{1,18}(?:\.\d+)?$/.test(value);
  if (field.kind === 'boolean' || (field.kind === 'number' && !isNumber)) return [];
  if (field.name === 'id') {
    const [row] = (await tools.list({ ...exactly, pageSize: 1 })).data;
    // The record may have this name as well.
    return row === undefined || resource.identity.some(({ name }) => row[name] === value) ? [] : [value];
  }
  if (as === 'value' && (await tools.aggregate(exactly)).count > 0) return [value];
  if (isNumber) return [];
  const part =
    as !== 'state' && field.filters.includes(`${field.name}_contains`)
      ? { [`${field.name}_contains`]: value }
      : {};
  const { totalGroups, groups } = await tools.groups({
    resource: resource.name,
    filters: part,
    groupBy: field.name,
    limit: maxStates,
  });
  if (totalGroups > maxStates) return [];
  const isMeant = (known: string): boolean =>
    [known.toLowerCase(), stateWords(known.toLowerCase())].includes(value.toLowerCase());
  const all = groups.map((group) => String(group.value ?? ''));
  const found = all.filter(isMeant);
  if (found.length > 0 || as !== 'name') return found;
  const similar = all.filter((known) => hasWords(known, value));
  if (similar.length > 1)
    throw new Unclear(
      `"${value}" may be ${similar
        .slice(0, 5)
        .map((known) => `"${known}"`)
        .join(' or ')}.`,
    );
  return similar;
}

/** A customer by what it is called in its own resource, such as its number. */
async function findParty(
  { tools, resource: { fields, party } }: Context,
  lookup: Lookup,
): Promise<readonly Filter[]> {
  const id = fields.find(({ name }) => name === party?.field.name.replace(/(?:Name)?$/, 'Id'));
  const name = (await tools.resources()).find((one) => party?.nouns.split('|').includes(toWords(one)));
  if (id === undefined || name === undefined) return [];
  const resource = await tools.describe(name);
  const called = resource.identity.filter((field) => field.filters.includes(field.name));
  const idsBy = async (field: Field): Promise<readonly string[]> => {
    const values = await findValues({ tools, resource }, field, lookup);
    if (values.length === 0) return [];
    const { data } = await tools.list({
      resource: name,
      filters: { [field.name]: values },
      pageSize: 2,
      fields: ['id'],
    });
    return data.map((row) => row.id);
  };
  const ids = [...new Set((await Promise.all(called.map(idsBy))).flat())];
  if (ids.length > 1) throw new Unclear(`Several ${resource.many} are called "${lookup.value}".`);
  return ids.flatMap((one) => equals(id, [one], lookup.isNot));
}

/** Each of the filters is one thing that the words may mean. Rejects with Unclear if they mean nothing. */
async function lookUp(context: Context, lookup: Lookup): Promise<readonly Filter[]> {
  const { named, value, isNot, as, meant = [] } = lookup;
  const { fields, identity, party } = context.resource;
  const isState = as === 'state';
  const any = fields.filter(
    (field) => field.kind === 'text' && field.name !== 'id' && !(isState && identity.includes(field)),
  );
  const usable = (named ?? any).filter(({ name, filters }) => filters.includes(name));
  const values = await Promise.all(usable.map((field) => findValues(context, field, lookup)));
  const found = usable.flatMap((field, index) =>
    values[index]?.length ? equals(field, values[index], isNot) : [],
  );
  if (found.length > 0 || meant.length > 0) return found.length > 0 ? found : meant;
  const others =
    !isState && party !== undefined && usable.includes(party.field) ? await findParty(context, lookup) : [];
  if (others.length > 0) return others;
  if (named === undefined || isState)
    throw new Unclear(`I don't understand this question: "${value}" means nothing to me here.`);
  const advice = as === 'name' ? ' Put the exact name in quotes.' : '';
  throw new Unclear(
    `No record has exactly "${value}" as ${usable.map(({ name }) => name).join(' or ')}.${advice}`,
  );
}

/** Rejects with Unclear for what may be meant differently. */
async function assertClear(
  { tools, resource }: Context,
  { kind, field, order }: Intent,
  filters: readonly Filter[],
): Promise<void> {
  const isPositive = ({ field: { type }, parameters }: Filter): boolean =>
    type !== 'text' && Object.values(parameters).some((value) => Number(value) > 0);
  const isExtreme = field?.kind === 'number' && (kind === 'min' || kind === 'max' || order !== undefined);
  // "Over 500" and "the largest" are ambiguous for fields that are never above zero, such as credits.
  for (const { name } of new Set([
    ...filters.filter(isPositive).map((one) => one.field),
    ...(isExtreme ? [field] : []),
  ])) {
    const input = { resource: resource.name, filters: {}, field: name, groupBy: resource.currency?.name };
    const all =
      input.groupBy === undefined
        ? [await tools.aggregate(input)]
        : (await tools.groups({ ...input, limit: 100 })).groups;
    const [min, max] = [
      Math.min(...all.map((one) => Number(one.min ?? 0))),
      Math.max(...all.map((one) => Number(one.max ?? 0))),
    ];
    if (max <= 0 && min < 0)
      throw new Unclear(
        `${name} of ${resource.many} is never above zero (${min} to ${max}). Ask with the sign, as in "under -500".`,
      );
  }
}

type Combinations = readonly (readonly Filter[])[];
/** One condition more, in each of its meanings; none if its field has a condition already. */
const addTo = (filters: readonly Filter[], meanings: readonly Filter[]): Combinations =>
  meanings
    .filter(({ field, also }) =>
      filters.every((one) => ![field, also].includes(one.field) && one.also !== field),
    )
    .map((next) => [...filters, next]);

async function listReadings(context: Context, intent: Intent): Promise<readonly (Reading | Unclear)[]> {
  try {
    if (intent.conditions.length > maxConditions)
      throw new Unclear(`I understand at most ${maxConditions} conditions.`);
    const meanings = await Promise.all(
      intent.conditions.map((one) => ('isNot' in one ? lookUp(context, one) : [one])),
    );
    const combined = meanings.reduce<Combinations>(
      (all, meant) => all.flatMap((filters) => addTo(filters, meant)),
      [[]],
    );
    if (combined.length === 0) throw new Unclear('You gave two conditions for the same field.');
    for (const filters of combined) await assertClear(context, intent, filters);
    return combined.map((filters) => ({ ...intent, resource: context.resource, filters }));
  } catch (error) {
    if (error instanceof Unclear) return [error];
    throw error;
  }
}

/** All readings of a question about a resource, and why others are not clear. Rejects with ToolFailed. */
export async function interpret(
  context: Context,
  question: Question,
): Promise<readonly (Reading | Unclear)[]> {
  const intents = readQuestion(question, context.resource);
  // Any words may be a state, so that is the last thing to try.
  const plain = intents.filter(
    ({ conditions }) => !conditions.some((one) => 'isNot' in one && one.as === 'state' && !one.meant?.length),
  );
  return (
    await Promise.all((plain.length > 0 ? plain : intents).map((intent) => listReadings(context, intent)))
  ).flat();
}
