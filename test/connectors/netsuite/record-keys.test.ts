// Ids of several columns: they are unique, can be taken apart again, and have the order of the key.
import { describe, expect, it } from 'vitest';
import { addIds, keyPart, keyProblem, splitId } from '../../../src/connectors/netsuite/types/record-keys.ts';
import { StoredDefinition } from '../../../src/connectors/netsuite/types/stored-definition.ts';
import { compareIds, isIdText } from '../../../src/connectors/netsuite/types/values.ts';

const key = [
  { column: 'transaction', digits: 11 },
  { column: 'transactionline', digits: 5 },
  { column: 'accountingbook', digits: 2 },
];
const toRow = (parts: readonly unknown[]) =>
  Object.fromEntries(parts.map((part, index) => [keyPart(index), part]));
const computeId = (parts: readonly unknown[]): unknown =>
  addIds({ table: 'transactionaccountingline', key }, { rows: [toRow(parts)], hasMore: false, characters: 1 })
    .rows[0]?.['id'];

describe('an id of several columns', () => {
  it.each([
    [['12', '3', '1'], '120000301'],
    [['0', '0', '0'], '0'],
    [['0', '0', '7'], '7'],
    [['-3', '0', '1'], '-29999999'],
    [['-1', '99999', '99'], '-1'],
    [['99999999999', '99999', '99'], '999999999999999999'],
  ])('of %j is %s', (parts, id) => {
    expect(computeId(parts)).toBe(id);
    expect(splitId(key, id)).toEqual(parts);
    expect(isIdText(id)).toBe(true);
  });

  it.each([
    [['12', '100000', '1'], /transactionline has more than 5 digits: 100000/],
    [['12', '3', '100'], /accountingbook has more than 2 digits: 100/],
    [['100000000000', '3', '1'], /transaction has more than 11 digits/],
    [['12', '-3', '1'], /transactionline is negative: -3/],
    [['12', undefined, '1'], /transactionline is not an integer/],
    [['12', '3.5', '1'], /transactionline is not an integer/],
    [['12', '3', 1], /accountingbook is not an integer/],
  ])('of %j is none', (parts, problem) => {
    expect(isIdText(String(computeId(parts)))).toBe(false);
    expect(keyProblem(key, toRow(parts))).toMatch(problem);
  });

  it('has the order of the key', () => {
    const values = [
      ['-2', '0', '0'],
      ['-2', '0', '1'],
      ['-2', '4', '0'],
      ['-1', '99999', '99'],
      ['0', '0', '0'],
      ['0', '1', '0'],
      ['9', '12', '3'],
      ['10', '0', '0'],
    ].map(computeId);
    expect(values.toSorted((one, other) => compareIds(String(one), String(other)))).toEqual(values);
  });

  it('leaves rows without an id at the end of a page to the next page', () => {
    const rows = [
      ['1', '1', '1'],
      ['1', '100000', '1'],
      ['2', '1', '1'],
      ['2', '100000', '1'],
    ].map(toRow);
    const ids = (hasMore: boolean) =>
      addIds({ table: 'transactionaccountingline', key }, { rows, hasMore, characters: 1 }).rows.map(
        ({ id }) => id,
      );
    expect(ids(true)).toEqual(['10000101', '1/100000/1', '20000101']);
    expect(ids(false)).toHaveLength(4);
    expect(() =>
      addIds(
        { table: 'transactionaccountingline', key },
        { rows: rows.slice(1, 2), hasMore: true, characters: 1 },
      ),
    ).toThrow(/to continue from/);
  });
});

describe('a stored definition', () => {
  const whole = {
    ...{
      table: 'vendorcategory',
      filter: null,
      key: [{ column: 'id', digits: 18 }],
      modified: null,
      parent: null,
    },
    ...{ renamed: {}, lines: null, deletedAs: [] },
  };
  const lines = {
    label: 'Lines',
    table: 'transactionline',
    parent: 'transaction',
    key: 'id',
    sums: ['quantity'],
    modified: null,
  };
  const parent = { table: 'transaction', key: 'id', column: 'transaction' };
  const fromParent = { column: 'lastmodifieddate', from: 'parent' };

  it('comes back from JSON as it was', () => {
    for (const definition of [
      whole,
      { ...whole, lines },
      { ...whole, key, parent, modified: fromParent },
      { ...whole, table: '(SELECT 1)' },
    ])
      expect(StoredDefinition.parse(JSON.parse(JSON.stringify(definition)))).toEqual(definition);
  });

  it.each([
    ['SQL instead of a table', { table: 'transaction t, customer' }],
    ['a table in upper case', { table: 'Transaction' }],
    ['SQL in a filter', { filter: { column: 'recordtype', value: "x' OR 'y' = 'y" } }],
    ['SQL in a key', { key: [{ column: 'id DESC', digits: 1 }] }],
    ['no key', { key: [] }],
    ['too many digits', { key: [...key, { column: 'line', digits: 1 }] }],
    ['a parent’s time without a parent', { modified: fromParent }],
    ['lines of a key of several columns', { key, lines }],
    ['lines with a parent’s time', { parent, modified: fromParent, lines }],
    ['a field with a column’s name', { renamed: { name: 'id' } }],
  ])('can’t have %s', (_what, part) => {
    expect(StoredDefinition.safeParse({ ...whole, ...part }).success).toBe(false);
  });
});
