// The version's resources and fields with the words that people use for them. The words come only from public names and short
// descriptions, so that no field is recognized by a word that the version doesn't contain.
import type { DescribedField, DescribedResource } from './data.ts';
import { escapeForPattern, plural, singular, wordsOf } from './language.ts';

export type CatalogField = {
  readonly name: string;
  /** The type in the version's description. */
  readonly type: string;
  readonly kind: 'text' | 'number' | 'boolean' | 'day' | 'lines' | 'other';
  /** Named filters of the public interface, such as `date_gte`. */
  readonly filters: ReadonlySet<string>;
  readonly sortable: boolean;
  readonly lineFields: readonly string[];
};

export type CatalogResource = {
  readonly name: string;
  readonly description: string;
  /** Singular and plural, such as `credit memo` and `credit memos`. */
  readonly one: string;
  readonly many: string;
  readonly fields: readonly CatalogField[];
  /** The fields that each phrase may mean, the longest phrases first. Several fields if the phrase is ambiguous. */
  readonly phrases: readonly (readonly [string, readonly CatalogField[]])[];
  readonly defaultSort: string;
  /** Ids are whole numbers, so only whole numbers are looked up as ids. */
  readonly hasWholeIds: boolean;
};

const kinds: Readonly<Record<string, CatalogField['kind']>> = {
  text: 'text',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  date: 'day',
  time: 'day',
  lines: 'lines',
};
const maxLabelWords = 4;

/** `dueDate` is also called `due`, `customerName` and `customerId` also `customer`. */
const ending = / (?:date|at|on|name|id|number|code)$/;

function labelOf({ description }: DescribedField): string | undefined {
  const words = description.toLowerCase().replace(/\.$/, '').trim();
  return /^[\p{L}]+(?: [\p{L}]+)*$/u.test(words) && words.split(' ').length <= maxLabelWords ? words : undefined;
}

function phrasesOf(fields: readonly (readonly [DescribedField, CatalogField])[]): CatalogResource['phrases'] {
  const levels = [new Map<string, CatalogField[]>(), new Map<string, CatalogField[]>(), new Map<string, CatalogField[]>()] as const;
  const add = (level: 0 | 1 | 2, words: string, field: CatalogField): void => {
    for (const phrase of new Set([words, words.replace(/[^ ]+$/, plural), words.replace(/[^ ]+$/, singular)])) {
      const existing = levels[level].get(phrase) ?? [];
      if (!existing.includes(field)) levels[level].set(phrase, [...existing, field]);
    }
  };
  for (const [described, field] of fields) {
    const words = wordsOf(field.name);
    add(0, words, field);
    add(0, field.name.toLowerCase(), field);
    if (ending.test(words)) add(1, words.replace(ending, ''), field);
    const label = labelOf(described);
    if (label !== undefined) add(2, label, field);
  }
  const all = new Map([...levels[2], ...levels[1], ...levels[0]]);
  return [...all].sort(([a], [b]) => b.length - a.length);
}

/** Builds the vocabulary of a described resource. */
export function resourceOf(described: DescribedResource): CatalogResource {
  const fields = described.fields.map((field): readonly [DescribedField, CatalogField] => [
    field,
    {
      name: field.name,
      type: field.type ?? '',
      kind: kinds[field.type ?? ''] ?? 'other',
      filters: new Set(field.filters),
      sortable: field.sortable,
      lineFields: (field.fields ?? []).map(({ name }) => name),
    },
  ]);
  const words = wordsOf(described.resource);
  const own = fields.map(([, field]) => field);
  return {
    name: described.resource,
    description: described.description,
    one: words.replace(/[^ ]+$/, singular),
    many: words,
    fields: own,
    phrases: phrasesOf(fields.filter(([, { name }]) => name !== 'id')),
    defaultSort: described.defaultSort.field,
    hasWholeIds: described.fields.some(({ name, description }) => name === 'id' && description.includes('whole number')),
  };
}

const mention = (words: string): RegExp => new RegExp(`(?<= )${escapeForPattern(words)}(?= )`, 'g');

/** Replaces the resource's name by `<r>` (singular) or `<R>` (plural, or when both are the same). */
export function markResource(text: string, { name, one, many }: Pick<CatalogResource, 'name' | 'one' | 'many'>): string {
  const several = [name, many, plural(one)].reduce((marked, words) => marked.replaceAll(mention(words), '<R>'), text);
  return several.replaceAll(mention(one), '<r>');
}

export const mentions = (text: string, words: string): boolean => markResource(text, namesOf(words)) !== text;
export const namesOf = (name: string): Pick<CatalogResource, 'name' | 'one' | 'many'> => {
  const many = wordsOf(name);
  return { name, one: many.replace(/[^ ]+$/, singular), many };
};

/** Replaces field names by `<f0>`, `<f1>`, …; `named` has the fields that each may mean. */
export function markFields(
  text: string,
  { phrases }: CatalogResource,
): { readonly text: string; readonly named: readonly (readonly CatalogField[])[] } {
  const named: (readonly CatalogField[])[] = [];
  let marked = text;
  for (const [words, fields] of phrases)
    marked = marked.replaceAll(mention(words), () => {
      named.push(fields);
      return `<f${named.length - 1}>`;
    });
  return { text: marked, named };
}

/** The date field by which records are dated; undefined if it isn't clear which. The date of the last change never is. */
export function mainDay({ fields, defaultSort }: CatalogResource): CatalogField | undefined {
  const days = fields.filter(({ kind }) => kind === 'day');
  const own = ({ name }: CatalogField): boolean => !/modif|chang|updat/i.test(name);
  const main = days.find(({ name }) => name === 'date') ?? days.find(({ name }) => name === defaultSort) ?? onlyOne(days);
  return main !== undefined && own(main) ? main : undefined;
}

/** The field with a record's amount; undefined if it isn't clear which. */
export function mainAmount({ fields }: CatalogResource): CatalogField | undefined {
  const numbers = fields.filter(({ kind }) => kind === 'number');
  return (
    numbers.find(({ name }) => name === 'total') ??
    numbers.find(({ name }) => name === 'amount') ??
    onlyOne(numbers.filter(({ type }) => type === 'number'))
  );
}

const onlyOne = <T>(list: readonly T[]): T | undefined => (list.length === 1 ? list[0] : undefined);

const identity = ['number', 'code', 'sku', 'reference', 'key', 'name', 'title'];

/** The fields by which people refer to a record, the most common first. */
export const identityFields = ({ fields }: CatalogResource): readonly CatalogField[] =>
  identity.flatMap((name) => fields.filter((field) => field.name === name && field.kind === 'text'));
