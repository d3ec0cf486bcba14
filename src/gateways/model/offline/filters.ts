// Conditions by the filters of the version, and what words such as unpaid and overdue mean in them.
import type { Field, Resource } from './tools.ts';

/**
 * `parameters`: by the names of the filters in the public interface. `also`: a second field. `text`: the
 * condition in words, for the answer.
 */
export type Filter = Readonly<{
  field: Field;
  also?: Field;
  parameters: Readonly<Record<string, string | readonly string[]>>;
  text: string;
}>;

/** A filter with values by what follows the field's name; none if the version doesn't have it. */
export function filterBy(field: Field, values: Filter['parameters'], words: string): readonly Filter[] {
  const parameters = Object.fromEntries(
    Object.entries(values).map(([suffix, value]) => [field.name + suffix, value]),
  );
  const hasAll = Object.keys(parameters).every((name) => field.filters.includes(name));
  return hasAll ? [{ field, parameters, text: `${field.name} ${words}` }] : [];
}

export function equals(field: Field, values: readonly string[], isNot = false): readonly Filter[] {
  if (field.kind === 'boolean') return filterBy(field, { '': String(!isNot) }, `is ${!isNot}`);
  const words = `is ${isNot ? 'not ' : ''}${values.map((value) => `"${value}"`).join(' or ')}`;
  return filterBy(field, { [isNot ? '_not' : '']: values.length === 1 ? values.join('') : values }, words);
}

/** The records with a value, by the field or the id of what it names; none if the version can't tell. */
export const hasValue = (field: Field, { fields }: Resource): readonly Filter[] =>
  [field, ...fields.filter(({ name }) => name === field.name.replace(/Name$/, 'Id'))]
    .flatMap((one) => filterBy(one, { _null: 'false' }, 'is not empty'))
    .slice(0, 1);

/** Overdue: a part is still to be paid, and the due date was more than `days` days before today. */
export function overdue({ debt: { amount, day } }: Resource, today: string, days: number): readonly Filter[] {
  const last = new Date(today);
  last.setUTCDate(last.getUTCDate() - days);
  // Other years don't have four digits.
  if (amount === undefined || day === undefined || !(last.getUTCFullYear() >= 1900)) return [];
  const date = last.toISOString().slice(0, 10);
  const [late] = filterBy(day, { _before: date }, `before ${date}`);
  const [owed] = filterBy(amount, { _gt: '0' }, 'over 0');
  if (late === undefined || owed === undefined) return [];
  return [
    {
      ...late,
      also: amount,
      text: `${late.text} and ${owed.text}`,
      parameters: { ...late.parameters, ...owed.parameters },
    },
  ];
}

/** The name of a boolean field such as `paid`. */
export function readFlag(word: string, isNot: boolean, { phrases }: Resource): readonly Filter[] {
  const is = (name: string, no: boolean) =>
    (phrases.get(name) ?? []).flatMap((field) => (field.kind === 'boolean' ? equals(field, [], no) : []));
  return [...is(word, isNot), ...(word === 'unpaid' ? is('paid', !isNot) : [])];
}

/**
 * What a word about payment means by the amount that is still due; none for other words, and if the version
 * has no such amount.
 */
export function readPayment(
  word: string,
  isNot: boolean,
  resource: Resource,
  today: string,
): readonly Filter[] {
  const { amount } = resource.debt;
  if (/^(?:overdue|past due|late)$/.test(word)) return isNot ? [] : overdue(resource, today, 0);
  if (amount === undefined || !/^(?:unpaid|outstanding|owing|paid)$/.test(word)) return [];
  if ((word === 'paid') === isNot) return filterBy(amount, { _gt: '0' }, 'over 0');
  return [...filterBy(amount, { _lte: '0' }, 'at most 0'), ...filterBy(amount, { '': '0' }, 'is 0')].slice(
    0,
    1,
  );
}
