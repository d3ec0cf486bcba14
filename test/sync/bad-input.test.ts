// Invalid records that an ERP may send: each is rejected with its reason, the run is partial, and the rest is
// available. First over HTTP, through the connector; then from a connector that does not validate.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Connector } from '../../src/connectors/connector.ts';
import type { SourceRecord } from '../../src/connectors/source-records.ts';
import {
  createConnectorAt,
  getMetadata,
  type Seen,
  startWire,
  type Wire,
} from '../connectors/netsuite/wire.ts';
import { storeAccount } from '../setup/erp-account.ts';
import { datedFields, field, memoryErp, type SyncFixture, syncFixture } from './fixture.ts';
import { useSync } from './site.ts';

const site = useSync({ pageSize: 10, retryBaseMs: 2, retryMaxMs: 4 });

describe('over the wire', () => {
  let wire: Wire;
  /** The rows of the account as JSON text, with the id by which they are ordered. */
  let rows: Map<number, string[]>;
  const maxResponseBytes = 100_000;
  const good = (id: number, more: object = {}): string =>
    JSON.stringify({
      links: [],
      id: String(id),
      lastmodifieddate: '2026-01-02T03:04:05Z',
      entityid: `C${id}`,
      creditlimit: '1.50',
      ...more,
    });

  /** Another day for each run, so that each incremental one scans. */
  let days = 0;
  const nextDay = (): string => {
    days += 1;
    return new Date(Date.UTC(2026, 4, days)).toISOString().slice(0, 10);
  };

  /** The id in the row, if the row can be parsed. */
  function idText(id: number, text: string): string {
    try {
      const own: unknown = (JSON.parse(text) as { id: unknown }).id;
      return JSON.stringify(typeof own === 'string' ? own : String(id));
    } catch {
      return `"${id}"`;
    }
  }

  function select({ query, path }: Seen): { items: string[]; hasMore: boolean } {
    const limit = Number(/limit=(\d+)/.exec(path)?.[1]);
    const after = Number(/t\.id > (-?\d+)/.exec(query)?.[1] ?? Number.NEGATIVE_INFINITY);
    const listed = /IN \(([^)]*)\)/.exec(query)?.[1]?.split(', ').map(Number);
    const found = [...rows]
      .filter(([id]) => id > after && (listed?.includes(id) ?? true))
      .toSorted(([a], [b]) => a - b);
    const isIdsAlone = query.startsWith('SELECT t.id AS id FROM');
    const isIdsWithTimes =
      query.split(' FROM ')[0]?.match(/ AS /g)?.length === 2 && query.includes(' AS lastmodifieddate FROM ');
    const modified = (text: string): string => /"lastmodifieddate":"([^"]*)"/.exec(text)?.[1] ?? '';
    const listing = (id: number, text: string) =>
      `{"id":${idText(id, text)}${isIdsWithTimes ? `,"lastmodifieddate":"${modified(text)}"` : ''}}`;
    const items = found.flatMap(([id, texts]) =>
      texts.map((text) => (isIdsAlone || isIdsWithTimes ? listing(id, text) : text)),
    );
    return { items: items.slice(0, limit), hasMore: items.length > limit };
  }

  beforeEach(async () => {
    rows = new Map(Array.from({ length: 25 }, (_unused, n) => [n + 1, [good(n + 1)]]));
    wire = await startWire();
    wire.answer = (seen, response) => {
      if (seen.path.endsWith('serverTime')) return { serverTime: '2026-05-01T12:00:00.000Z' };
      if (seen.query.includes(' AS today ')) return { items: [{ today: nextDay() }], hasMore: false };
      if (!seen.query.includes(' FROM customer ')) return { items: [], hasMore: false };
      if (seen.query.includes('COUNT(*)')) {
        const count = String([...rows.values()].flat().length);
        return { items: [{ n: count, records: count }], hasMore: false };
      }
      const { items, hasMore } = select(seen);
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`{"items":[${items.join()}],"hasMore":${hasMore}}`);
      return undefined;
    };
  });
  afterEach(() => wire.stop());

  async function customers(): Promise<SyncFixture> {
    const erp = Object.assign(memoryErp(), {
      connector: createConnectorAt(wire.url, { erp: { maxResponseBytes } }),
    });
    const fields = ['entityid', 'creditlimit', 'isperson', 'startdate', 'currency', 'lastmodifieddate'];
    const fixture = await syncFixture(site.ctx, erp, { recordType: 'customer', fields });
    await storeAccount(fixture.tenant, { described: [getMetadata('customer')], listed: [], account: null });
    return fixture;
  }

  const broken = (id: number) => good(id).replace(`"C${id}"`, `"C\u0001${id}"`); // an unescaped control character
  /** What a row of the account has, why it is rejected, and under which id if not its own. */
  type Invalid = [string, object | ((id: number) => string[]), string, RegExp, string?];
  const breakingTheAnswer: Invalid[] = [
    ['malformed JSON', (id) => [broken(id)], 'RECORD_UNREADABLE', /malformed JSON/],
    ['a value too long for an answer', { entityid: 'x'.repeat(200_000) }, 'RECORD_UNREADABLE', /too large/],
  ];
  const invalidValues: Invalid[] = [
    [
      'a number too long',
      { creditlimit: '9'.repeat(500) },
      'VALUE_UNREADABLE',
      /creditlimit is not a number/,
    ],
    ['a number instead of text', { creditlimit: 5 }, 'VALUE_UNREADABLE', /creditlimit is a JSON number/],
    ['an object instead of text', { entityid: { a: 1 } }, 'VALUE_UNREADABLE', /entityid is a JSON object/],
    ['a word for a truth', { isperson: 'yes' }, 'VALUE_UNREADABLE', /isperson is neither/],
    ['a date that is none', { startdate: '2026-02-30' }, 'VALUE_UNREADABLE', /startdate is not a date/],
    ['a day in year 0', { startdate: '0000-12-01' }, 'VALUE_UNREADABLE', /startdate is not a date/],
    [
      'a modification time in year 0',
      { lastmodifieddate: '0000-12-01T10:00:00Z' },
      'VALUE_UNREADABLE',
      /lastmodifieddate is not a time/,
    ],
    ['NUL', { entityid: 'a\0b' }, 'VALUE_UNREADABLE', /entityid contains a character/],
    ['a lone surrogate', { entityid: 'a\ud800' }, 'VALUE_UNREADABLE', /entityid contains a character/],
    [
      'a lone surrogate in a label',
      { currency: '1', df_currency: '\udc00' },
      'VALUE_UNREADABLE',
      /label of currency/,
    ],
    ['NaN', { creditlimit: 'NaN' }, 'VALUE_UNREADABLE', /creditlimit is not a number/],
    ['1e400', { creditlimit: '1e400' }, 'VALUE_UNREADABLE', /creditlimit is not a number/],
    [
      '1e400 without quotes',
      (id) => [good(id).replace('"1.50"', '1e400')],
      'VALUE_UNREADABLE',
      /creditlimit is a JSON number/,
    ],
    ['duplicate ids', (id) => [good(id), good(id, { entityid: 'x' })], 'DUPLICATE_ID', /more than one row/],
    ['an id of twenty digits', { id: '1'.repeat(20) }, 'ID_NOT_INTEGER', /not an integer/, '1'.repeat(20)],
    ['an id that changes type', (id) => [good(id, { id })], 'ID_NOT_INTEGER', /not an integer/],
    ['an id that is no number any more', { id: 'C-14' }, 'ID_NOT_INTEGER', /not an integer/, 'C-14'],
    ['an id that cannot be stored', { id: 'a\0\ud800' }, 'ID_NOT_INTEGER', /not an integer/, 'a\ufffd\ufffd'],
  ];

  it.each([
    ['makes an answer unreadable', breakingTheAnswer],
    ['has an invalid value or id', invalidValues],
  ])(
    'each record that %s is rejected with its reason, the run is partial, the rest is served',
    async (_what, invalid) => {
      const all = Array.from({ length: invalid.length * 10 }, (_unused, n) => n + 1);
      rows = new Map(all.map((id) => [id, [good(id)]]));
      const expected: Record<string, object> = {};
      const wrong = new Set<number>();
      for (const [index, [name, more, code, message, storedAs]] of invalid.entries()) {
        const id = index * 10 + 4;
        wrong.add(id);
        rows.set(id, typeof more === 'function' ? more(id) : [good(id, more)]);
        expected[storedAs ?? id] = { name, code, message: expect.stringMatching(message) };
      }
      const found = async (fixture: SyncFixture) =>
        Object.fromEntries(
          (await fixture.rejections()).map(({ id, code, message }) => {
            const at = expected[id];
            return [id, { name: at !== undefined && 'name' in at ? at.name : 'unknown', code, message }];
          }),
        );
      const rejected = invalid.length;
      const fixture = await customers();
      const inserted = all.length - rejected;
      await fixture.expectPartial('full', 'RECORDS_REJECTED', { inserted, rejected }, { attempt: 1 });
      expect(await found(fixture)).toEqual(expected);
      expect(await fixture.ids()).toEqual(all.filter((id) => !wrong.has(id)).map(String));
      // Every later run rejects them again, including the incremental one with its scan.
      rows.set(3, [good(3, { entityid: 'changed', lastmodifieddate: '2026-05-01T11:00:00Z' })]);
      const counts = { updated: 1, deleted: 0, rejected };
      await fixture.expectPartial('incremental', 'RECORDS_REJECTED', counts, { mode: 'incremental' });
      expect(await found(fixture)).toEqual(expected);
      // The rejection ends when the record is corrected.
      for (const id of wrong) rows.set(id, [good(id)]);
      await fixture.expectSuccess('full', { inserted: rejected, rejected: 0 });
      expect(await fixture.ids()).toHaveLength(all.length);
    },
  );

  it('`__proto__` in a response is a name like any other', async () => {
    rows.set(14, [
      good(14).replace(
        '{',
        '{"__proto__":{"entityid":"stolen","polluted":true},"constructor":"x","ToString":"y",',
      ),
    ]);
    const fixture = await customers();
    await fixture.expectSuccess('full', { inserted: 25 });
    expect((await fixture.rows())[13]).toMatchObject({ f_entityid: 'C14' });
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  it('waits for an account that returns only broken JSON, and rejects nothing', async () => {
    const { answer } = wire;
    wire.answer = (seen, response) =>
      seen.query.includes('ORDER BY')
        ? void response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[')
        : answer(seen, response);
    const fixture = await customers();
    await fixture.expectFailure('full', 'ANSWER_MALFORMED', { attempt: 5 });
    expect(await fixture.rejections()).toEqual([]);
  });
});

describe('from a connector that does not validate', () => {
  const fields = [
    field('name'),
    field('total', 'number'),
    field('n', 'integer'),
    field('ok', 'boolean'),
    field('day', 'date'),
    field('at', 'time'),
    field('entity', 'reference'),
    field('constructor'),
    field('lines', 'lines', [
      field('qty', 'number'),
      field('count', 'integer'),
      field('at', 'time'),
      field('memo'),
    ]),
  ];
  const line = (more: object) => ({ lines: [{ qty: '1' }, more] }) as unknown as Partial<SourceRecord>;

  const invalid: [string, object, Partial<SourceRecord>, RegExp][] = [
    ['NUL', { name: 'a\0b' }, {}, /^name contains/],
    ['a lone surrogate', { name: 'a\ud83d' }, {}, /^name contains/],
    ['a lone surrogate in a label', {}, { labels: { entity: '\udc00' } }, /^the label of entity contains/],
    ['NaN', { total: 'NaN' }, {}, /^total is not a number/],
    ['Infinity', { total: '-Infinity' }, {}, /^total is not a number/],
    ['1e400', { total: '1e400' }, {}, /^total is not a number/],
    ['a number too long', { total: '1'.repeat(401) }, {}, /^total is not a number/],
    ['an integer too long', { n: '1234567890123456789' }, {}, /^n is not an integer/],
    ['a number instead of text', { total: 5 }, {}, /^total is of type number/],
    ['an object instead of text', { name: { a: 1 } }, {}, /^name is of type object/],
    ['a word for a truth', { ok: 'yes' }, {}, /^ok is neither/],
    ['a word for a day', { day: 'tomorrow' }, {}, /^day is not a date/],
    ['a word for a time', { at: 'now' }, {}, /^at is not a time/],
    ['a day that is none', { day: '2026-02-30' }, {}, /^day is not a date/],
    ['a day in year 0', { day: '0000-12-01' }, {}, /^day is not a date/],
    ['a time in year 0', { at: '0000-12-01T10:00:00Z' }, {}, /^at is not a time/],
    [
      'a modification time in year 0',
      {},
      { modifiedAt: '0000-12-01T10:00:00Z' },
      /^The modification time is not/,
    ],
    [
      'a time in year 0 in a line',
      {},
      line({ at: '0000-12-01T10:00:00Z' }),
      /^lines line 2: at is not a time/,
    ],
    ['NaN in a line', {}, line({ qty: 'NaN' }), /^lines line 2: qty is not a number/],
    ['JSON in a number of a line', {}, line({ qty: '1},{"qty":2' }), /^lines line 2: qty is not a number/],
    ['letters in an integer of a line', {}, line({ count: 'abc' }), /^lines line 2: count is not an integer/],
    ['NUL in a line', {}, line({ memo: 'a\0b' }), /^lines line 2: memo contains/],
  ];

  it('each record that is invalid is rejected with its reason, the run is partial, the rest is served', async () => {
    const [count, rejected] = [invalid.length * 10, invalid.length];
    const fixture = await site.withRecords(count, {}, fields);
    const wrong = invalid.map(([name, values, more, message], index) => {
      const id = String(index * 10 + 7);
      fixture.erp.put(id, values as Record<string, string>, more);
      return { id, name, code: expect.stringMatching(/^VALUE_/), message: expect.stringMatching(message) };
    });
    const inserted = count - rejected;
    await fixture.expectPartial('full', 'RECORDS_REJECTED', { inserted, rejected }, { attempt: 1 });
    const found = (await fixture.rejections()).toSorted((a, b) => Number(a.id) - Number(b.id));
    expect(found.map((one, index) => ({ ...one, name: wrong[index]?.name }))).toEqual(wrong);
    const served = await fixture.ids();
    expect(served).toHaveLength(inserted);
    expect(wrong.filter(({ id }) => served.includes(id))).toEqual([]);
  });

  it('a field named `constructor` has only its own values', async () => {
    const fixture = await syncFixture(site.ctx, memoryErp(fields));
    fixture.erp.put(1);
    fixture.erp.put(2, { constructor: 'a builder' });
    await fixture.expectSuccess('full');
    expect((await fixture.rows()).map((row) => row['f_constructor'])).toEqual([null, 'a builder']);
  });

  it('a modification time, and ids of lists and deletions, that cannot be stored: rejected by an incremental run, the rest served', async () => {
    const fixture = await syncFixture(site.ctx, memoryErp(datedFields));
    const { erp } = fixture;
    erp.fill(12);
    await fixture.expectSuccess('full');
    erp.put(3, { name: 'changed' });
    erp.put(7, { name: 'changed' });
    const { connector } = erp;
    const yearZero = { modifiedAt: '0000-12-01T10:00:00Z' };
    const bend = <T extends { readonly id: string }>(record: T): T =>
      record.id === '7' ? { ...record, ...yearZero } : record;
    const bent: Connector = {
      ...connector,
      readPage: async (request) => {
        const page = await connector.readPage(request);
        return { ...page, records: page.records.map(bend) };
      },
      listIds: async (request) => {
        const { listed, hasMore } = await connector.listIds(request);
        return { listed: listed.map(bend), hasMore };
      },
    };
    Object.assign(erp, { connector: bent });
    const unstorable = ['a\0', '\ud800', '9'.repeat(30), 'x'.repeat(5_000)];
    erp.deleted = new Map(unstorable.map((id) => [id, '2100-01-01T00:00:00Z']));
    erp.today = '2100-01-01';
    await fixture.expectPartial(
      'incremental',
      'RECORDS_REJECTED',
      { updated: 1, deleted: 0, rejected: 1 },
      { attempt: 1 },
    );
    expect(await fixture.rejections()).toMatchObject([{ id: '7', code: 'VALUE_UNREADABLE' }]);
    expect((await fixture.rows())[6]).toMatchObject({ f_name: 'name 7' });
    Object.assign(erp, { connector });
    erp.put(7, { name: 'right again' });
    await fixture.expectSuccess('incremental');
  });

  it('duplicate ids on one page: all records with that id are rejected', async () => {
    const fixture = await syncFixture(site.ctx, memoryErp());
    fixture.erp.fill(12);
    await fixture.sync();
    fixture.erp.bendRecords((record) =>
      record.id === '7' ? [record, { ...record, values: { name: 'another' } }] : record,
    );
    await fixture.expectPartial('full', 'RECORDS_REJECTED', { rejected: 1, deleted: 0 });
    expect(await fixture.rejections()).toMatchObject([{ id: '7', code: 'DUPLICATE_ID' }]);
    expect((await fixture.rows())[6]).toMatchObject({ f_name: 'name 7' });
  });

  it.each<[string, unknown, string]>([
    ['a number', 7, '7'],
    ['a word', 'seven', 'seven'],
    ['another way of writing it', '007', '007'],
    ['what cannot be stored', `\0\ud800${'x'.repeat(5_000)}`, `\ufffd\ufffd${'x'.repeat(198)}`],
  ])('an id that changes type: %s', async (_name, id, storableId) => {
    const fixture = await syncFixture(site.ctx, memoryErp());
    fixture.erp.fill(12);
    fixture.erp.bendRecords((record) => (record.id === '7' ? { ...record, id: id as string } : record));
    await fixture.expectPartial('full', 'RECORDS_REJECTED', { inserted: 11, rejected: 1 });
    expect(await fixture.rejections()).toMatchObject([{ id: storableId, code: 'ID_UNREADABLE' }]);
  });
});
