// Values from the ERP into PostgreSQL and back, through a real COPY.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { describe, expect, it } from 'vitest';
import type { SourceRecord } from '../../src/connectors/source-records.ts';
import type { ColumnType, RecordColumn } from '../../src/warehouse/columns.ts';
import {
  copyCell,
  type EncodedRecord,
  emptyCell,
  encodeRecord,
  rowColumns,
} from '../../src/warehouse/encode.ts';
import { testSettings } from '../setup/database.ts';
import { useDatabase } from '../setup/use-database.ts';
import { column } from './column.ts';

const record = (more: Partial<SourceRecord> = {}): SourceRecord => ({
  id: '1',
  modifiedAt: null,
  values: {},
  labels: {},
  lines: null,
  ...more,
});
function encoded(source: SourceRecord, columns: readonly RecordColumn[]): EncodedRecord {
  const made = encodeRecord(source, columns, testSettings.sync);
  if (made instanceof Promise || !('row' in made)) throw new Error(JSON.stringify(made));
  return made;
}
const hashValues = (values: SourceRecord['values'], columns: readonly RecordColumn[]): string =>
  encoded(record({ values }), columns).hash;
/** By column; only for cells that need no escape. */
function encodeCells(source: SourceRecord, columns: readonly RecordColumn[]): Record<string, string | null> {
  const cells = encoded(source, columns).row.split('\t');
  return Object.fromEntries(
    rowColumns(columns).map((name, index) => [name, cells[index] === '\u0001' ? null : (cells[index] ?? '')]),
  );
}
/** A column of a former type forces encoding cell by cell. */
const former = column('former', 'text', { state: 'replaced' });

it.each<[ColumnType, fitting: string[], misfits: string[]]>([
  ['text', ['1.50', 'any thing'], []],
  ['number', ['1.50', '-3'], ['1e5', '1.', 'two pounds', '']],
  ['integer', ['12', '-3'], ['1.50', '1234567890123456789']],
  ['boolean', ['true', 'false'], ['T', '1']],
  ['date', ['2026-02-28'], ['2026-02-30', '0000-01-01', '2026-2-3', '2026-02-28T10:00:00Z']],
  ['time', ['2026-02-28T10:00:00Z'], ['2026-02-30T10:00:00Z', '2026-02-28T24:00:00Z', '2026-02-28']],
])('a column of a former type: %s stores %j, and null instead of %j', (type, fitting, misfits) => {
  const columns = [column('a', type, { state: 'replaced' }), column('a', 'text', { column: 'f_a_2' })];
  for (const text of [...fitting, ...misfits]) {
    const stored = encodeCells(record({ values: { a: text } }), columns)['f_a'];
    expect([text, stored]).toEqual([text, fitting.includes(text) ? text : null]);
    expect(hashValues({ a: text }, columns)).toBe(hashValues({ a: text }, columns.slice(1))); // it adds nothing to the content
  }
  expect(encodeCells(record({ values: { a: null } }), columns)).toEqual({ f_a: null, f_a_2: null });
});

describe('encodeRecord', () => {
  it('the hash depends neither on the order of columns nor on empty ones', () => {
    const values = { a: '1', b: '2', c: null };
    const hash = hashValues(values, [column('a'), column('b')]);
    expect(hash).toHaveLength(32);
    expect(hashValues(values, [column('b'), column('a')])).toBe(hash);
    expect(hashValues(values, [column('a'), column('c'), column('b'), column('never')])).toBe(hash);
  });

  it('the hash stays as stored: another one would rewrite every record', () => {
    const columns = [column('b', 'number'), column('é'), column('a'), column('none'), former];
    const values = { a: 'say "hi"\n', b: '1.50', é: '日本 😀', none: null, former: '7' };
    const content = 'f_a,f_b,f_é\nsay "hi"\\n\t1.50\t日本 😀';
    expect(hashValues(values, columns)).toBe(createHash('sha256').update(content).digest('hex').slice(0, 32));
  });

  it('is the same on the fast path and cell by cell', () => {
    const lineFields = [
      { name: 'n', type: 'integer' as const },
      { name: 'item', type: 'text' as const },
      { name: 'on', type: 'date' as const },
      { name: 'at', type: 'time' as const },
      { name: 'ok', type: 'boolean' as const },
      { name: 'qty', type: 'number' as const },
    ];
    const columns = [
      column('z', 'number'),
      column('n', 'integer'),
      column('a'),
      column('d', 'date'),
      column('t', 'time'),
      column('y', 'boolean'),
      column('e', 'text', { part: 'label', column: 'l_e' }),
      column('lines', 'lines', { part: 'lines', lineFields }),
    ];
    const line = {
      n: '-7',
      item: "it's ünï",
      on: '2026-01-01',
      at: '2026-01-01T10:00:00Z',
      ok: 'false',
      qty: '-0.50',
    };
    const values = {
      z: '-1.50',
      n: '007',
      a: '日本, "so"',
      d: '2026-01-01',
      t: '2026-01-01T10:00:00Z',
      y: 'true',
    };
    const full = record({ values, labels: { e: 'Acme' }, lines: [line, {}, { ...line, item: null }] });
    const lineTexts = ['\\', '"', '\n', '\u0001', '😀', '}', ''].map((item) => ({
      ...full,
      lines: [{ ...line, item, n: '-0' }],
    }));
    const texts = ['', '\\', '\\N', 'a\tb', '\u0001', '\u0001\t', '\r\n', '😀', '\u2028'].map((a) => ({
      ...full,
      values: { ...values, a },
    }));
    const gaps = Object.keys(values).map((name) => ({ ...full, values: { ...values, [name]: null } }));
    const made = [full, record(), { ...full, lines: [] }, ...lineTexts, ...texts, ...gaps].map((source) => {
      const once = encoded(source, columns);
      const each = encoded(source, [...columns, former]);
      expect([each.hash, each.row]).toEqual([once.hash, `${once.row}\t\u0001`]);
      return once.hash;
    });
    expect(new Set(made).size).toBe(made.length);
  });

  it.each<[string, SourceRecord['values'] | object]>([
    ['f is of type number instead of text', { f: 5 }],
    ['f is of type object instead of text', { f: ['x'] }],
    ['f contains a character that cannot be stored', { f: 'half \ud800' }],
    ['f contains a character that cannot be stored', { f: 'nul\0' }],
    ['n is not a number in plain digits', { n: '1\t2' }],
    ['n is not a number in plain digits', { n: '\\N' }],
    ['n is not a number in plain digits', { n: '' }],
    ['n is not a number in plain digits', { n: '\u0001' }],
    ['lines line 2: qty is not a number in plain digits', { lines: ['1', '2,"item":"x"'] }],
    ['lines line 1: qty is of type object instead of text', { lines: [{}] }],
  ])('%s', (problem, given) => {
    const columns = [
      column('f'),
      column('n', 'number'),
      column('lines', 'lines', {
        part: 'lines',
        lineFields: ['qty', 'item'].map((name) => ({ name, type: 'number' as const })),
      }),
    ];
    const { lines = [], ...values } = given as { lines?: string[] };
    const source = record({ values, lines: lines.map((qty) => ({ qty })) });
    const problems = { code: 'VALUE_UNREADABLE', message: problem };
    expect(encodeRecord(source, columns, testSettings.sync)).toEqual(problems);
  });

  it('encodes as many columns as a table can have, and long texts', async () => {
    const types: ColumnType[] = ['text', 'number', 'date', 'time', 'boolean', 'integer'];
    const columns = Array.from({ length: 1_590 }, (_, n) => column(`c${n}`, types[n % types.length]));
    const made = await encodeRecord(
      record({ values: { c0: 'x'.repeat(1_000_000), c1589: '5' } }),
      columns,
      testSettings.sync,
    );
    const cells = 'row' in made ? made.row.split('\t') : [];
    const shown = (name: string): string | undefined => cells[rowColumns(columns).indexOf(name)];
    expect(cells).toHaveLength(1_590);
    expect(shown('f_c0')?.length).toBe(1_000_000);
    expect([shown('f_c1'), shown('f_c1589')]).toEqual(['\u0001', '5']);
  });

  it('encodes a long text piece by piece, with the row and the hash that it has as a whole', async () => {
    const text = `${'x'.repeat(131_071)}\u{1f600}${'y\n\t\\\u0001é€'.repeat(50_000)}`;
    const values = { a: text, b: null, c: 'short', d: text };
    const columns = ['a', 'b', 'c', 'd'].map((name) => column(name));
    const cell = copyCell(text);
    const made = await encodeRecord(record({ values }), [...columns, former], testSettings.sync);
    const hash = createHash('sha256')
      .update(`f_a,f_c,f_d\n${cell}\tshort\t${cell}`)
      .digest('hex')
      .slice(0, 32);
    expect('row' in made && made.row === `${cell}\t\u0001\tshort\t${cell}\t\u0001`).toBe(true);
    expect('hash' in made && made.hash).toBe(hash);
  });

  it('the hash distinguishes values, columns and empty cells', () => {
    const columns = [column('a'), column('b')];
    const hashes = [{ a: '1' }, { b: '1' }, { a: '1', b: '1' }, { a: '1","f_b' }, { a: '' }, { a: null }].map(
      (values) => hashValues(values, columns),
    );
    expect(new Set(hashes).size).toBe(6);
  });

  it('the hash changes with a label or a line', () => {
    const columns = [
      column('entity', 'text', { part: 'label', column: 'l_entity' }),
      column('lines', 'lines', { part: 'lines', lineFields: [{ name: 'qty', type: 'number' }] }),
    ];
    const hash = (label: string, qty: string) =>
      encoded(record({ labels: { entity: label }, lines: [{ qty }] }), columns).hash;
    expect(new Set([hash('A', '1'), hash('B', '1'), hash('A', '2'), hash('A', '1.0')]).size).toBe(4);
  });

  it('lines keep their order and exact digits, and omit empty or unselected fields', () => {
    const lineFields = [
      { name: 'item', type: 'text' as const },
      { name: 'qty', type: 'number' as const },
      { name: 'n', type: 'integer' as const },
      { name: 'ok', type: 'boolean' as const },
      { name: 'on', type: 'date' as const },
    ];
    const { row } = encoded(
      record({
        lines: [
          { item: 'say "hi"\n\\', qty: '0.10000000000000000001', n: '007', ok: 'false', secret: 'x' },
          { item: null, on: '2026-01-01' },
        ],
      }),
      [column('lines', 'lines', { part: 'lines', lineFields })],
    );
    const json =
      '[{"item":"say \\"hi\\"\\n\\\\","qty":0.10000000000000000001,"n":7,"ok":false},{"on":"2026-01-01"}]';
    expect(row).toBe(copyCell(json));
  });

  it('no lines are an empty array; a record type without lines has null', () => {
    const columns = [column('lines', 'lines', { part: 'lines', lineFields: [] })];
    expect([encodeCells(record({ lines: [] }), columns), encodeCells(record(), columns)]).toEqual([
      { f_lines: '[]' },
      { f_lines: null },
    ]);
  });
});

describe('COPY', () => {
  const database = useDatabase();

  async function roundTrip(type: string, cells: readonly (string | null)[]): Promise<(string | null)[]> {
    const client = await database.ctx.db.data.connect();
    try {
      await client.query(
        `create temp table t (n int, v ${type}) on commit drop; begin; create temp table u (n int, v ${type}) on commit drop`,
      );
      await pipeline(
        Readable.from(cells.map((cell, n) => `${n}\t${copyCell(cell)}\n`)),
        client.query(copyFrom(`copy u (n, v) from stdin (null ${emptyCell})`)),
      );
      const { rows } = await client.query<{ v: string | null }>('select v::text as v from u order by n');
      await client.query('rollback');
      return rows.map(({ v }) => v);
    } finally {
      client.release();
    }
  }

  it('stores texts unchanged', async () => {
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
      '\u0001',
      '\u0001\u001f\u007f',
      '\b\f\v',
      '\\x41',
      '\u2028',
      'x'.repeat(100_000),
      null,
    ];
    expect(await roundTrip('text', texts)).toEqual(texts);
  });

  it('keeps every digit of a number', async () => {
    const numbers = [
      '0.1',
      '1.50',
      '-0.00000000000000000001',
      '12345678901234567890.123456789',
      '9'.repeat(60),
      '0',
      null,
    ];
    expect(await roundTrip('numeric', numbers)).toEqual(numbers);
  });
});
