// The pure parts of incremental runs: when two values are equal, which fields a scan requests, and which absent records are deleted.
import { describe, expect, it } from 'vitest';
import type { RecordTypeMetadata } from '../../src/connectors/connector.ts';
import { canonicalText, columnsToCompare, differsFromErp, fieldsToScan } from '../../src/sync/compare.ts';
import type { RecordColumn } from '../../src/warehouse/columns.ts';
import { decideDeletions } from '../../src/warehouse/deletions.ts';
import { datedFields, field } from './fixture.ts';

describe('canonicalText', () => {
  it.each([
    ['1.50', '1.5'],
    ['100', '100'],
    ['100.00', '100'],
    ['0.10', '0.1'],
    ['-0', '0'],
    ['-0.00', '0'],
    ['-1.10', '-1.1'],
    ['007', '7'],
    ['12345678901234567890.1234567890', '12345678901234567890.123456789'],
  ])('the number %s is %s', (text, plain) => expect(canonicalText(text, 'number')).toBe(plain));

  it('leaves text unchanged', () => {
    for (const text of ['1.50', ' x ', '']) expect(canonicalText(text, 'text')).toBe(text);
    expect(canonicalText(null, 'number')).toBeNull();
  });
});

const recordType: RecordTypeMetadata = {
  name: 'thing',
  label: 'Thing',
  table: 'thing',
  source: 'test',
  idType: 'integer',
  openWhen: null,
  modifiedField: 'modified',
  fields: [...datedFields, { ...field('unpaid', 'number'), volatile: true }, field('entity', 'reference'), field('lines', 'lines', [])],
};
const column = (name: string, more: Partial<RecordColumn> = {}): RecordColumn => ({
  column: `f_${name}`,
  field: name,
  part: 'value',
  type: 'text',
  state: 'live',
  lineFields: null,
  ...more,
});

describe('fieldsToScan', () => {
  it('are volatile ones, those with labels, and the modification time', () => {
    expect(fieldsToScan(recordType, ['name', 'total', 'modified', 'unpaid', 'entity', 'lines'])).toEqual(['unpaid', 'entity', 'modified']);
    expect(fieldsToScan(recordType, ['name', 'modified', 'unpaid'])).toEqual(['unpaid', 'modified']);
  });

  it('are all header fields when the configuration leaves the modification time out', () => {
    expect(fieldsToScan(recordType, ['name', 'unpaid', 'lines'])).toEqual(['name', 'unpaid']);
  });

  it('are compared with the columns that hold them, labels too, and not with those of former types', () => {
    const columns = [
      column('entity'),
      column('entity', { column: 'l_entity', part: 'label' }),
      column('unpaid', { type: 'number' }),
      column('unpaid', { column: 'f_unpaid_0', state: 'replaced' }),
    ];
    const compared = columnsToCompare(columns, ['entity', 'unpaid']);
    expect(compared.map(({ column: name }) => name)).toEqual(['f_entity', 'l_entity', 'f_unpaid']);
    const record = { id: '1', modifiedAt: null, values: { entity: '7', unpaid: '1.50' }, labels: { entity: 'Smith' } };
    expect(differsFromErp(record, compared, ['7', 'Smith', '1.5'])).toBe(false);
    expect(differsFromErp(record, compared, ['7', 'Smyth', '1.5'])).toBe(true);
    expect(differsFromErp(record, compared, ['7', 'Smith', null])).toBe(true);
  });
});

describe('decideDeletions', () => {
  const ids = (n: number): string[] => Array.from({ length: n }, (_unused, index) => String(index + 1));
  const rules = { deletions: 'reconcile' as const, maxDeleteShare: 0.02 };

  it('deletes at most twenty merely absent records, or the share of a large table', () => {
    expect(decideDeletions(ids(20), new Set(), '30', rules, 'available')).toEqual({ remove: ids(20), stay: [] });
    expect(decideDeletions(ids(21), new Set(), '30', rules, 'available')).toEqual({ remove: [], stay: ids(21) });
    expect(decideDeletions(ids(200), new Set(), '10000', rules, 'hidden').stay).toEqual([]);
    expect(decideDeletions(ids(201), new Set(), '10000', rules, 'hidden').stay).toHaveLength(201);
  });

  it('does not count deletions that the ERP lists or that were approved', () => {
    const sure = new Set(ids(100));
    expect(decideDeletions(ids(120), sure, '200', rules, 'available').stay).toEqual([]);
    expect(decideDeletions(ids(121), sure, '200', rules, 'available')).toEqual({ remove: ids(100), stay: ids(121).slice(100) });
  });

  it('with `feed` deletes only what the feed lists, unless it is hidden; with `none` nothing', () => {
    const feed = { ...rules, deletions: 'feed' as const };
    expect(decideDeletions(['1', '2'], new Set(['2']), '30', feed, 'available')).toEqual({ remove: ['2'], stay: ['1'] });
    expect(decideDeletions(['1', '2'], new Set(['2']), '30', feed, 'hidden')).toEqual({ remove: ['1', '2'], stay: [] });
    const none = { ...rules, deletions: 'none' as const };
    expect(decideDeletions(['1', '2'], new Set(['2']), '30', none, 'available')).toEqual({ remove: [], stay: ['1', '2'] });
  });
});
