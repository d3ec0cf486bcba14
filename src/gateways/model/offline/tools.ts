// Typed access to the version's tools (`describe`, `aggregate`, `query`), through which alone the offline
// model reaches data. A resource comes with the words that people use for it and its fields, only from public
// names: no field is recognized by a word that the version doesn't have.
import { z } from 'zod';
import { bothNumbers, toWords } from './text.ts';

/** A tool failed or returned an unexpected result; the message becomes part of the answer. */
export class ToolFailed extends Error {}

const text = z.string().default('');
const stat = z.string().nullish();
const Stats = z.object({
  count: z.number(),
  values: z.number().default(0),
  sum: stat,
  average: stat,
  min: stat,
  max: stat,
});
const Groups = z.object({ totalGroups: z.number(), groups: z.array(Stats.extend({ value: z.unknown() })) });
const Page = z.object({
  data: z.array(z.looseObject({ id: z.string() })),
  pagination: z.object({ total: z.number() }),
});
const filters = z.array(z.string()).default([]);
const PlainField = z.object({
  name: z.string(),
  type: text.nullable(),
  description: text,
  filters,
  sortable: z.boolean().default(false),
});
const kinds: Readonly<Record<string, string>> = { integer: 'number', date: 'day', time: 'day' };
/** `kind` is the type, but `number` for whole numbers, also as an id, and `day` for dates and times. */
const Field = PlainField.transform((field) => {
  const isWholeId = field.name === 'id' && field.description.includes('whole number');
  return {
    ...field,
    words: toWords(field.name),
    kind: isWholeId ? 'number' : (kinds[field.type ?? ''] ?? field.type ?? ''),
  };
});
/** A truncated description is refused: what is missing could be what the question is about. */
const cut = z.undefined().optional();
const Resources = z.object({ resources: z.array(z.object({ resource: z.string() })), cut });
const defaultSort = z.object({ field: text });
const Described = z.object({
  resource: z.string(),
  description: text,
  fields: z.array(Field),
  defaultSort,
  cut,
});
export type Stats = z.infer<typeof Stats>;
export type Field = z.infer<typeof Field>;
type Input = {
  readonly resource: string;
  readonly filters: Readonly<Record<string, unknown>>;
  readonly [option: string]: unknown;
};

/** `one` and `many` are its name in singular and plural, such as `credit memo` and `credit memos`. */
export type Resource = ReturnType<typeof toResource>;

/** The names of what is still to be paid of a record. */
const debtName =
  /^(?:amount (?:due|remaining|unpaid)|(?:open |remaining )?balance(?: due)?|(?:unpaid|open) amount)$/;
const identityNames = ['number', 'code', 'sku', 'reference', 'key', 'name', 'title'];

/** `dueDate` is also called `due`, `isInactive` `inactive`, `customerName` and `customerId` `customer`. */
const shorten = (words: string) => words.replace(/^(?:is|has) | (?:date|at|on|name|id|number|code)$/, '');

/** Undefined if it isn't clear which one is meant. */
export const only = <T>(list: readonly T[]): T | undefined => (list.length === 1 ? list[0] : undefined);

/** The fields that each phrase may mean. */
function groupByPhrase(fields: readonly Field[]): ReadonlyMap<string, readonly Field[]> {
  const phrases = (called: (words: string) => string) => {
    const all = fields.flatMap((field) =>
      Object.values(bothNumbers(called(field.words))).map((phrase) => ({ phrase, field })),
    );
    return [...Map.groupBy(all, ({ phrase }) => phrase)].map(
      ([phrase, found]) => [phrase, found.map(({ field }) => field)] as const,
    );
  };
  // A field's own name wins over a shortened name of another field.
  return new Map([...phrases(shorten), ...phrases((words) => words)]);
}

function toResource({ resource: name, description, fields, defaultSort }: z.infer<typeof Described>) {
  const called = (list: readonly Field[], names: readonly string[]): readonly Field[] =>
    names.flatMap((wanted) => list.filter((field) => field.name === wanted));
  const choose = (list: readonly Field[], ...names: readonly string[]): Field | undefined =>
    called(list, names)[0] ?? only(list);
  const days = fields.filter(({ kind }) => kind === 'day');
  const day = choose(days, 'date', defaultSort.field);
  const decimals = fields.filter(({ type }) => type === 'number');
  const texts = fields.filter(({ kind }) => kind === 'text');
  const worded = (list: readonly Field[], pattern: RegExp): Field | undefined =>
    only(list.filter(({ words }) => pattern.test(words)));
  const party = worded(texts, /^(?:customer|client)(?: name)?$/);
  const named = fields.filter((field) => field.name !== 'id' && field.kind !== 'lines');
  return {
    ...{ name, description, fields, ...bothNumbers(toWords(name)), phrases: groupByPhrase(named) },
    /** The fields by which people refer to a record, the most common first. */
    identity: called(texts, identityNames),
    currency: fields.find(({ words }) => /^currency(?: (?:name|code|id))?$/.test(words)),
    /** What is still to be paid, and until when; undefined where the version has no field that says so. */
    debt: { amount: worded(decimals, debtName), day: worded(days, /^due(?: date| on)?$/) },
    /** Who owes it: the field, and what such a one is called. */
    party: party && { field: party, nouns: Object.values(bothNumbers(shorten(party.words))).join('|') },
    /** A record's fields of date (not of its last change) and amount; undefined if that isn't clear. */
    main: {
      day: /modif|chang|updat/i.test(day?.name ?? '') ? undefined : day,
      number: choose(decimals, 'total', 'amount'),
    },
  };
}

/** Parses JSON, keeping numbers that a float can't represent as text. Throws ToolFailed for other results. */
function parse<T>(schema: z.ZodType<T>, json: string): T {
  const exact = (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && String(value) !== context?.source ? (context?.source ?? value) : value;
  try {
    return schema.parse(JSON.parse(json, exact));
  } catch {
    throw new ToolFailed('a tool returned data in an unexpected format');
  }
}

/**
 * `call` resolves to a tool's result as text. The methods reject with ToolFailed when a tool fails or its
 * result has another format.
 */
export const createTools = (
  call: (name: string, input: Readonly<Record<string, unknown>>) => Promise<string>,
) => ({
  resources: async () =>
    parse(Resources, await call('describe', {})).resources.map(({ resource }) => resource),
  describe: async (resource: string) => toResource(parse(Described, await call('describe', { resource }))),
  aggregate: async (input: Input) => parse(Stats, await call('aggregate', input)),
  groups: async (input: Input) => parse(Groups, await call('aggregate', input)),
  list: async (input: Input) => parse(Page, await call('query', input)),
});
export type Tools = ReturnType<typeof createTools>;

/** Compiles a pattern: `{one}`, `{many}` and `{fields}` are the names of the resource and its fields. */
export function compile(pattern: string, { name, one, many, phrases }: Resource): RegExp {
  const longestFirst = [...phrases.keys()].sort((a, b) => b.length - a.length);
  const names: Readonly<Record<string, readonly string[]>> = {
    one: [one],
    many: [name.toLowerCase(), many],
    fields: longestFirst,
  };
  const toAlternation = (_all: string, key: string): string =>
    (names[key] ?? []).join('|').replaceAll(/[^\p{L}\d |]/gu, '\\$&');
  return new RegExp(pattern.replaceAll(/\{(one|many|fields)\}/g, toAlternation));
}
