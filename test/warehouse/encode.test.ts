// Values on their way from the ERP into PostgreSQL and out again, through a real COPY.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SourceRecord } from '../../src/connectors/connector.ts';
import type { ColumnType, RecordColumn } from '../../src/warehouse/columns.ts';
import { copyCell, encodeRecord } from '../../src/warehouse/encode.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';

const column = (field: string, type: ColumnType = 'text', more: Partial<RecordColumn> = {}): RecordColumn => ({
  column: `f_${field}`,
  field,
  part: 'value',
  type,
  state: 'live',
  lineFields: null,
  ...more,
});
const record = (more: Partial<SourceRecord> = {}): SourceRecord => ({
  id: '1',
  modifiedAt: null,
  values: {},
  labels: {},
  lines: null,
  ...more,
});
const hashOf = (values: SourceRecord['values'], columns: readonly RecordColumn[]): string =>
  encodeRecord(record({ values }), columns).hash.toString('hex');

describe('a column of a former type', () => {
  it.each<[ColumnType, Record<string, string | null>]>([
    ['text', { '1.50': '1.50', 'any thing': 'any thing' }],
    ['number', { '1.50': '1.50', '-3': '-3', '1e5': null, '1.': null, 'two pounds': null, '': null }],
    ['integer', { '12': '12', '-3': '-3', '1.50': null, '1234567890123456789': null }],
    ['boolean', { true: 'true', false: 'false', T: null, '1': null }],
    ['date', { '2026-02-28': '2026-02-28', '2026-02-30': null, '0000-01-01': null, '2026-2-3': null, '2026-02-28T10:00:00Z': null }],
    [
      'time',
      { '2026-02-28T10:00:00Z': '2026-02-28T10:00:00Z', '2026-02-30T10:00:00Z': null, '2026-02-28T24:00:00Z': null, '2026-02-28': null },
    ],
  ])('%s takes what has its form, and nothing else', (type, cases) => {
    const columns = [column('a', type, { state: 'replaced' }), column('a', 'text', { column: 'f_a_2' })];
    for (const [text, expected] of Object.entries(cases)) {
      const { cells, hash } = encodeRecord(record({ values: { a: text } }), columns);
      expect([text, cells[0]]).toEqual([text, expected]);
      expect(hash.toString('hex')).toBe(hashOf({ a: text }, columns.slice(1))); // it adds nothing to the content
    }
    expect(encodeRecord(record({ values: { a: null } }), columns).cells).toEqual([null, null]);
  });
});

describe('encodeRecord', () => {
  it('the hash does not depend on the order of columns, nor on empty ones', () => {
    const values = { a: '1', b: '2', c: null };
    const hash = hashOf(values, [column('a'), column('b')]);
    expect(hash).toHaveLength(32);
    expect(hashOf(values, [column('b'), column('a')])).toBe(hash);
    expect(hashOf(values, [column('a'), column('c'), column('b'), column('never')])).toBe(hash);
  });

  it('the hash is the one of every version of this service: another one would rewrite every record', () => {
    const columns = [column('b'), column('é'), column('a'), column('none'), column('old', 'text', { state: 'replaced' })];
    const { hash } = encodeRecord(record({ values: { a: 'say "hi"\n', b: '1.50', é: '日本 \ud800', none: null, old: '7' } }), columns);
    const content = JSON.stringify([
      ['f_a', 'say "hi"\n'],
      ['f_b', '1.50'],
      ['f_é', '日本 \ud800'],
    ]);
    expect(hash).toEqual(createHash('sha256').update(content).digest().subarray(0, 16));
  });

  it('the hash tells values, columns and emptiness apart', () => {
    const columns = [column('a'), column('b')];
    const hashes = [{ a: '1' }, { b: '1' }, { a: '1', b: '1' }, { a: '1","f_b' }, { a: '' }, { a: null }].map((values) =>
      hashOf(values, columns),
    );
    expect(new Set(hashes).size).toBe(6);
  });

  it('the hash sees a label and a line that changed', () => {
    const columns = [
      column('entity', 'text', { part: 'label', column: 'l_entity' }),
      column('lines', 'lines', { part: 'lines', lineFields: [{ name: 'qty', type: 'number' }] }),
    ];
    const hash = (label: string, qty: string) =>
      encodeRecord(record({ labels: { entity: label }, lines: [{ qty }] }), columns).hash.toString('hex');
    expect(new Set([hash('A', '1'), hash('B', '1'), hash('A', '2'), hash('A', '1.0')]).size).toBe(4);
  });

  it('lines keep their order and exact digits, and leave out what is empty or not named', () => {
    const lineFields = [
      { name: 'item', type: 'text' as const },
      { name: 'qty', type: 'number' as const },
      { name: 'n', type: 'integer' as const },
      { name: 'ok', type: 'boolean' as const },
      { name: 'on', type: 'date' as const },
    ];
    const { cells } = encodeRecord(
      record({
        lines: [
          { item: 'say "hi"\n\\', qty: '0.10000000000000000001', n: '007', ok: 'false', secret: 'x' },
          { item: null, on: '2026-01-01' },
        ],
      }),
      [column('lines', 'lines', { part: 'lines', lineFields })],
    );
    expect(cells).toEqual(['[{"item":"say \\"hi\\"\\n\\\\","qty":0.10000000000000000001,"n":7,"ok":false},{"on":"2026-01-01"}]']);
  });

  it('no lines are an empty list; a record type without lines has none', () => {
    const columns = [column('lines', 'lines', { part: 'lines', lineFields: [] })];
    expect([encodeRecord(record({ lines: [] }), columns).cells, encodeRecord(record(), columns).cells]).toEqual([['[]'], [null]]);
  });
});

describe('COPY', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.close());

  async function roundTrip(type: string, cells: readonly (string | null)[]): Promise<(string | null)[]> {
    const client = await database.ctx.db.data.connect();
    try {
      await client.query(
        `create temp table t (n int, v ${type}) on commit drop; begin; create temp table u (n int, v ${type}) on commit drop`,
      );
      await pipeline(
        Readable.from(cells.map((cell, n) => `${n}\t${copyCell(cell)}\n`)),
        client.query(copyFrom('copy u (n, v) from stdin')),
      );
      const { rows } = await client.query<{ v: string | null }>('select v::text as v from u order by n');
      await client.query('rollback');
      return rows.map(({ v }) => v);
    } finally {
      client.release();
    }
  }

  it('texts arrive as they are', async () => {
    const texts = [
      '',
      ' ',
      'plain',
      'tab\there',
      'line\nfeed',
      'carriage\r\nreturn',
      'back\\slash',
      '\\N',
      '\\.',
      '\\',
      '\\\\',
      '"quoted"',
      "it's",
      'comma,semicolon;',
      'ünïcödé ŁÓDŹ',
      '日本語',
      '😀 e\u0301',
      '\u0001\u001f\u007f',
      '\b\f\v',
      '\\x41',
      '\u2028',
      'x'.repeat(100_000),
      null,
    ];
    expect(await roundTrip('text', texts)).toEqual(texts);
  });

  it('numbers keep every digit', async () => {
    const numbers = ['0.1', '1.50', '-0.00000000000000000001', '12345678901234567890.123456789', '9'.repeat(60), '0', null];
    expect(await roundTrip('numeric', numbers)).toEqual(numbers);
  });
});
