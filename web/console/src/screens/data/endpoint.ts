// What a version declares for one of its resources, in the words of this screen.
import type { Item } from '../../api.ts';

export type Endpoint = Item<'/api-schema'>['endpoints'][number];
/** The types of the fields, once records are read. */
export type Types = ReadonlyMap<string, ValueType>;
export type ValueType =
  | 'text'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'date'
  | 'time'
  | 'integers'
  | 'texts'
  | 'lines';

const words: Readonly<Record<string, string>> = {
  eq: 'is',
  not: 'is not',
  after: 'is after',
  before: 'is before',
  gte: 'is at least',
  lte: 'is at most',
  gt: 'is more than',
  lt: 'is less than',
  contains: 'contains',
  starts_with: 'starts with',
  all: 'has all of',
  null: 'is empty',
};
const listWords: Readonly<Record<string, string>> = { eq: 'has', not: 'has not' };
const dateWords: Readonly<Record<string, string>> = { gte: 'is on or after', lte: 'is on or before' };

export const operatorWords = (operator: string, type: ValueType | undefined): string =>
  (type === 'date' || type === 'time'
    ? dateWords[operator]
    : type === 'integers'
      ? listWords[operator]
      : undefined) ??
  words[operator] ??
  operator;

/** The type of a field, as far as it is known: of lines only the operators say something about it. */
export const inferType = (field: string, operators: readonly string[], types: Types): ValueType | undefined =>
  types.get(field) ??
  (operators.includes('after') ? 'date' : operators.includes('gt') ? 'number' : undefined);

const columnsByDefault = 8;
export const defaultColumns = (endpoint: Endpoint): string[] =>
  endpoint.fields
    .filter(({ source }) => source !== 'lines')
    .slice(0, columnsByDefault)
    .map(({ name }) => name);
