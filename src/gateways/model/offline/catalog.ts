// The version's resources and fields with the words that people use for them. Words come from public names and short descriptions
// alone, so that nothing is understood that the version doesn't say.
import type { DescribedField, DescribedResource } from './data.ts';
import { escapeForPattern, plural, singular, wordsOf } from './language.ts';

export type Field = {
  readonly name: string;
  /** As the version gives it. */
  readonly type: string;
  readonly kind: 'text' | 'number' | 'boolean' | 'day' | 'lines' | 'other';
  /** Named filters of the public interface, such as `date_gte`. */
  readonly filters: ReadonlySet<string>;
  readonly sortable: boolean;
  readonly lineFields: readonly string[];
};

export type Resource = {
  readonly name: string;
  readonly description: string;
  /** As in `credit memo` and `credit memos`. */
  readonly one: string;
  readonly many: string;
  readonly fields: readonly Field[];
  /** Fields by the words for them, the longest words first. Several fields where the words don't tell which. */
  readonly phrases: readonly (readonly [string, readonly Field[]])[];
  readonly defaultSort: string;
  /** Ids are whole numbers, so that nothing else is looked for among them. */
  readonly hasWholeIds: boolean;
};

const kinds: Readonly<Record<string, Field['kind']>> = {
  text: 'text',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  date: 'day',
  time: 'day',
  lines: 'lines',
};
const mostLabelWords = 4;

/** `dueDate` is also called `due`, `customerName` and `customerId` also `customer`. */
const ending = / (?:date|at|on|name|id|number|code)$/;

function labelOf({ description }: DescribedField): string | undefined {
  const words = description.toLowerCase().replace(/\.$/, '').trim();
  return /^[\p{L}]+(?: [\p{L}]+)*$/u.test(words) && words.split(' ').length <= mostLabelWords ? words : undefined;
}

function phrasesOf(fields: readonly (readonly [DescribedField, Field])[]): Resource['phrases'] {
  const levels = [new Map<string, Field[]>(), new Map<string, Field[]>(), new Map<string, Field[]>()] as const;
  const add = (level: 0 | 1 | 2, words: string, field: Field): void => {
    for (const phrase of new Set([words, words.replace(/[^ ]+$/, plural), words.replace(/[^ ]+$/, singular)])) {
      const held = levels[level].get(phrase) ?? [];
      if (!held.includes(field)) levels[level].set(phrase, [...held, field]);
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

export function resourceOf(described: DescribedResource): Resource {
  const fields = described.fields.map((field): readonly [DescribedField, Field] => [
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

/** `<r>` for one, `<R>` for several; a name that is the same for both counts as several. */
export function markResource(text: string, { name, one, many }: Pick<Resource, 'name' | 'one' | 'many'>): string {
  const several = [name, many, plural(one)].reduce((marked, words) => marked.replaceAll(mention(words), '<R>'), text);
  return several.replaceAll(mention(one), '<r>');
}

export const mentions = (text: string, words: string): boolean => markResource(text, namesOf(words)) !== text;
export const namesOf = (name: string): Pick<Resource, 'name' | 'one' | 'many'> => {
  const many = wordsOf(name);
  return { name, one: many.replace(/[^ ]+$/, singular), many };
};

/** `<f0>` for the first field that is named, and which fields each may be. */
export function markFields(text: string, { phrases }: Resource): { readonly text: string; readonly named: readonly (readonly Field[])[] } {
  const named: (readonly Field[])[] = [];
  let marked = text;
  for (const [words, fields] of phrases)
    marked = marked.replaceAll(mention(words), () => {
      named.push(fields);
      return `<f${named.length - 1}>`;
    });
  return { text: marked, named };
}

/** The day that a record is dated by; undefined where the version leaves open which. When it was last changed is none. */
export function mainDay({ fields, defaultSort }: Resource): Field | undefined {
  const days = fields.filter(({ kind }) => kind === 'day');
  const own = ({ name }: Field): boolean => !/modif|chang|updat/i.test(name);
  const main = days.find(({ name }) => name === 'date') ?? days.find(({ name }) => name === defaultSort) ?? only(days);
  return main !== undefined && own(main) ? main : undefined;
}

/** What a record is worth; undefined where the version leaves open which. */
export function mainAmount({ fields }: Resource): Field | undefined {
  const numbers = fields.filter(({ kind }) => kind === 'number');
  return (
    numbers.find(({ name }) => name === 'total') ??
    numbers.find(({ name }) => name === 'amount') ??
    only(numbers.filter(({ type }) => type === 'number'))
  );
}

const only = <T>(list: readonly T[]): T | undefined => (list.length === 1 ? list[0] : undefined);

const identity = ['number', 'code', 'sku', 'reference', 'key', 'name', 'title'];

/** What people call a record by, the most usual first. */
export const identityFields = ({ fields }: Resource): readonly Field[] =>
  identity.flatMap((name) => fields.filter((field) => field.name === name && field.kind === 'text'));
