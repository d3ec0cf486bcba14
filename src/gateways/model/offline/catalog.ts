// A resource of the version, with the words that people use for it and its fields. The words come only from public names, so that no field
// is recognized by a word that the version doesn't contain.
import { bothNumbers, wordsOf } from './text.ts';
import type { DescribedResource } from './tools.ts';

/** `kind` is the type, but `number` for whole numbers, and `day` for dates and times. */
export type Field = DescribedResource['fields'][number] & { readonly kind: string };
/** `one` and `many` are its name in singular and plural, such as `credit memo` and `credit memos`. */
export type Resource = ReturnType<typeof resourceOf>;

const kinds: Readonly<Record<string, string>> = { integer: 'number', date: 'day', time: 'day' };
const identityNames = ['number', 'code', 'sku', 'reference', 'key', 'name', 'title'];

/** `dueDate` is also called `due`, `isInactive` `inactive`, and `customerName` and `customerId` are both `customer`. */
const shorten = (words: string): string => words.replace(/^(?:is|has) | (?:date|at|on|name|id|number|code)$/, '');

/** The fields that each phrase may mean. */
function phrasesOf(fields: readonly Field[]): ReadonlyMap<string, readonly Field[]> {
  const phrases = (wordsFor: (name: string) => string) => {
    const all = fields.flatMap((field) => Object.values(bothNumbers(wordsFor(field.name))).map((phrase) => ({ phrase, field })));
    return [...Map.groupBy(all, ({ phrase }) => phrase)].map(([phrase, found]) => [phrase, found.map(({ field }) => field)] as const);
  };
  // A field's own name wins over a shortened name of another field.
  return new Map([...phrases((name) => shorten(wordsOf(name))), ...phrases(wordsOf)]);
}

export function resourceOf({ resource: name, description, fields: described, defaultSort }: DescribedResource) {
  const isWholeId = (field: DescribedResource['fields'][number]): boolean =>
    field.name === 'id' && field.description.includes('whole number');
  const fields = described.map(
    (field): Field => ({ ...field, kind: isWholeId(field) ? 'number' : (kinds[field.type ?? ''] ?? field.type ?? '') }),
  );
  const choose = (list: readonly Field[], ...names: readonly string[]): Field | undefined =>
    names.flatMap((wanted) => list.filter((field) => field.name === wanted))[0] ?? (list.length === 1 ? list[0] : undefined);
  const days = fields.filter(({ kind }) => kind === 'day');
  const day = choose(days, 'date', defaultSort.field);
  const decimals = fields.filter(({ type }) => type === 'number');
  return {
    ...{ name, description, fields, ...bothNumbers(wordsOf(name)), phrases: phrasesOf(fields.filter((field) => field.name !== 'id')) },
    /** The fields by which people refer to a record, the most common first. */
    identity: identityNames.flatMap((wanted) => fields.filter((field) => field.name === wanted && field.kind === 'text')),
    /** The fields of a record's date and amount; undefined if that isn't clear. The time of the last change is not its date. */
    main: { day: /modif|chang|updat/i.test(day?.name ?? '') ? undefined : day, number: choose(decimals, 'total', 'amount') },
  };
}

/** Compiles a pattern in which `{one}`, `{many}` and `{fields}` are the names of the resource and its fields. */
export function compile(pattern: string, { name, one, many, phrases }: Resource): RegExp {
  const longestFirst = [...phrases.keys()].sort((a, b) => b.length - a.length);
  const names: Readonly<Record<string, readonly string[]>> = { one: [one], many: [name.toLowerCase(), many], fields: longestFirst };
  const anyOf = (_all: string, key: string): string => (names[key] ?? []).join('|').replaceAll(/[^\p{L}\d |]/gu, '\\$&');
  return new RegExp(pattern.replaceAll(/\{(one|many|fields)\}/g, anyOf));
}
