// The pure parts of incremental runs: when two values are equal, which fields a scan requests, and which
// absent records are deleted.
import { describe, expect, it } from 'vitest';
import type { RecordTypeMetadata } from '../../src/connectors/connector.ts';
import {
  canonicalText,
  columnsToCompare,
  differsFromErp,
  fieldsToScan,
} from '../../src/sync/read/differs-from-erp.ts';
import { decideDeletions, maxDeletions } from '../../src/warehouse/deletions.ts';
import { column } from '../warehouse/column.ts';
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
  linesModifiedField: null,
  shownAs: { number: null, name: null, date: null, amount: null },
  fields: [
    ...datedFields,
    { ...field('unpaid', 'number'), volatile: true },
    field('entity', 'reference'),
    field('lines', 'lines', []),
  ],
};

describe('fieldsToScan', () => {
  it('are volatile ones, those with labels, and the modification time', () => {
    expect(fieldsToScan(recordType, ['name', 'total', 'modified', 'unpaid', 'entity', 'lines'])).toEqual([
      'unpaid',
      'entity',
      'modified',
    ]);
    expect(fieldsToScan(recordType, ['name', 'modified', 'unpaid'])).toEqual(['unpaid', 'modified']);
  });

  it('are all header fields when the configuration leaves the modification time out', () => {
    expect(fieldsToScan(recordType, ['name', 'unpaid', 'lines'])).toEqual(['name', 'unpaid']);
  });

  it('are compared with the columns that hold them, labels too, and not with those of former types', () => {
    const columns = [
      column('entity'),
      column('entity', 'text', { column: 'l_entity', part: 'label' }),
      column('unpaid', 'number'),
      column('unpaid', 'text', { column: 'f_unpaid_0', state: 'replaced' }),
    ];
    const compared = columnsToCompare(columns, ['entity', 'unpaid']);
    expect(compared.map(({ column: name }) => name)).toEqual(['f_entity', 'l_entity', 'f_unpaid']);
    const record = {
      id: '1',
      modifiedAt: null,
      values: { entity: '7', unpaid: '1.50' },
      labels: { entity: 'Smith' },
    };
    expect(differsFromErp(record, compared, ['7', 'Smith', '1.5'])).toBe(false);
    expect(differsFromErp(record, compared, ['7', 'Smyth', '1.5'])).toBe(true);
    expect(differsFromErp(record, compared, ['7', 'Smith', null])).toBe(true);
  });
});

describe('decideDeletions', () => {
  const ids = (n: number): string[] => Array.from({ length: n }, (_unused, index) => String(index + 1));

  const none: ReadonlySet<string> = new Set();
  const decide = (
    absent: readonly string[],
    rows: number,
    more: {
      confirmed?: ReadonlySet<string>;
      referenced?: ReadonlySet<string>;
      rejected?: ReadonlySet<string>;
    } = {},
    deletions: 'reconcile' | 'feed' | 'none' = 'reconcile',
    feed: 'available' | 'hidden' = 'available',
  ) => {
    const allowed = maxDeletions(rows, 0.02);
    return decideDeletions(
      { absent, confirmed: none, referenced: none, rejected: none, ...more },
      { rowCount: String(rows), allowed },
      { deletions },
      feed,
    );
  };

  it.each([
    // rows, the most that may go: one, a tenth, twenty, the share
    [2, 1],
    [19, 1],
    [20, 2],
    [60, 6],
    [200, 20],
    [1_000, 20],
    [1_050, 21],
    [10_000, 200],
  ])('of %i records deletes at most %i that are merely absent', (rows, most) => {
    expect(maxDeletions(rows, 0.02)).toBe(most);
    expect(decide(ids(most), rows)).toEqual({ remove: ids(most), stay: [], rejected: [] });
    expect(decide(ids(most + 1), rows)).toEqual({ remove: [], stay: ids(most + 1), rejected: [] });
  });

  it('takes the share exactly, although it is a binary fraction', () =>
    expect(maxDeletions(100, 0.29)).toBe(29));

  it('never empties a table without a confirmation, whatever the share', () => {
    expect(decide(ids(1), 1)).toMatchObject({ remove: [], stay: ['1'] });
    expect(decide(ids(3), 3, { confirmed: new Set(['1', '2']) })).toMatchObject({
      remove: ['1', '2'],
      stay: ['3'],
    });
    expect(decide(ids(3), 3, { confirmed: new Set(ids(3)) })).toMatchObject({ remove: ids(3), stay: [] });
  });

  it('does not count deletions that the ERP lists or that were approved', () => {
    const confirmed = new Set(ids(100));
    expect(decide(ids(120), 200, { confirmed }).stay).toEqual([]);
    expect(decide(ids(121), 200, { confirmed })).toMatchObject({
      remove: ids(100),
      stay: ids(121).slice(100),
    });
  });

  it('keeps what stored records name, and counts it; neither concerns confirmed deletions', () => {
    const referenced = new Set(['1', '2']);
    expect(decide(ids(5), 60, { referenced })).toMatchObject({ remove: ['3', '4', '5'], stay: ['1', '2'] });
    expect(decide(ids(7), 60, { referenced })).toMatchObject({ remove: [], stay: ids(7) });
    expect(decide(ids(2), 60, { referenced, confirmed: new Set(['2']) })).toMatchObject({
      remove: ['2'],
      stay: ['1'],
    });
  });

  it('keeps what was rejected, and does not count it, until it is confirmed', () => {
    const rejected = new Set(ids(10));
    expect(decide(ids(16), 60, { rejected })).toEqual({
      remove: ids(16).slice(10),
      stay: [],
      rejected: ids(10),
    });
    expect(decide(ids(10), 60, { rejected, confirmed: new Set(['3']) })).toMatchObject({
      remove: ['3'],
      stay: [],
    });
  });

  it('with `feed` deletes only what the feed lists, unless it is hidden; with `none` nothing', () => {
    const confirmed = new Set(['2']);
    expect(decide(['1', '2'], 30, { confirmed }, 'feed')).toMatchObject({ remove: ['2'], stay: ['1'] });
    expect(decide(['1', '2'], 30, { confirmed }, 'feed', 'hidden')).toMatchObject({
      remove: ['1', '2'],
      stay: [],
    });
    expect(decide(['1', '2'], 30, { confirmed }, 'none')).toMatchObject({ remove: [], stay: ['1', '2'] });
  });
});
