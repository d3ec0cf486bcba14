// Filter operators: the parameter suffix of each, and the types it applies to; also those of masks.
import type { ColumnType } from '../../warehouse/columns.ts';
import { type Mask, type Operator, operators } from './schema-document.ts';

export type ValueType = Exclude<ColumnType, 'lines'>;

const every: readonly ValueType[] = ['text', 'number', 'integer', 'boolean', 'date', 'time', 'integers'];
const numbers: readonly ValueType[] = ['number', 'integer'];
const dates: readonly ValueType[] = ['date', 'time'];

const allowedTypes: Readonly<Record<Operator, readonly ValueType[]>> = {
  eq: every,
  after: dates,
  before: dates,
  gte: [...dates, ...numbers],
  lte: [...dates, ...numbers],
  gt: numbers,
  lt: numbers,
  contains: ['text'],
  starts_with: ['text'],
  not: every,
  all: ['integers'],
  null: [...every, 'texts'],
};

export const operatorFits = (operator: Operator, type: ColumnType): boolean =>
  type !== 'lines' && allowedTypes[operator].includes(type);

/** The operators for fields of lines, of which one line must match. */
export const lineOperators: readonly Operator[] = ['eq', 'after', 'before', 'gte', 'lte', 'gt', 'lt'];

const maskedTypes: Readonly<Record<Mask, readonly ValueType[]>> = {
  hash: [...every, 'texts'],
  last4: ['text', ...numbers],
  year: dates,
};

export const maskFits = (mask: Mask, type: ColumnType): boolean =>
  type !== 'lines' && maskedTypes[mask].includes(type);

/** The operators for fields of this type, in a fixed order. */
export const listOperators = (type: ColumnType): Operator[] =>
  operators.filter((operator) => operatorFits(operator, type));

export const toSuffix = (operator: Operator): string => (operator === 'eq' ? '' : `_${operator}`);

/** Only these accept a repeated parameter: any of, none of, all of. */
export const takesSeveral = (operator: Operator): boolean =>
  operator === 'eq' || operator === 'not' || operator === 'all';
