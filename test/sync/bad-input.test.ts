// Invalid records that an ERP may send: each is rejected with its reason, the run is partial, and the rest is
// available. First over HTTP, through the connector; then from a connector that does not validate.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Connector } from '../../src/connectors/connector.ts';
import type { SourceRecord } from '../../src/connectors/source-records.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { saveAccount } from '../../src/sync/record-types.store.ts';
import {
  createConnectorAt,
  getMetadata,
  type Seen,
  startWire,
  type Wire,
} from '../connectors/netsuite/wire.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { datedFields, endOpenRuns, field, memoryErp, type SyncFixture, syncFixture } from './fixture.ts';

let database: TestDatabase;
let ctx: Ctx;
beforeAll(async () => {
  database = await testDatabase();
  const quick = { pageSize: 10, retryBaseMs: 2, retryMaxMs: 4 };
  ctx = {
    ...database.ctx,
    settings: { ...database.ctx.settings, sync: { ...database.ctx.settings.sync, ...quick } },
  };
});
afterEach(() => endOpenRuns(database));
afterAll(() => database.close());

const rejections = (fixture: SyncFixture) =>
  fixture.query<{ id: string; code: string; message: string }>(
    `select id, code, message from ${fixture.schema}.rejections order by id`,
  );
const servedIds = async (fixture: SyncFixture) => (await fixture.rows()).map(({ id }) => String(id));

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
      if (seen.query.includes('deletedrecord')) return { items: [], hasMore: false };
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
    const fixture = await syncFixture(ctx, erp, { recordType: 'customer', fields });
    await saveAccount(fixture.tenant, { described: [getMetadata('customer')], listed: [], account: null });
    return fixture;
  }

  const broken = good(14).replace('"C14"', '"C\u000114"'); // an unescaped control character
  it.each<[string, string[], { code: string; message: RegExp; id?: string }]>([
    ['malformed JSON', [broken], { code: 'RECORD_UNREADABLE', message: /malformed JSON/ }],
    [
      'a value too long for an answer',
      [good(14, { entityid: 'x'.repeat(200_000) })],
      { code: 'RECORD_UNREADABLE', message: /too large/ },
    ],
    [
      'a number too long',
      [good(14, { creditlimit: '9'.repeat(500) })],
      { code: 'VALUE_UNREADABLE', message: /creditlimit is not a number/ },
    ],
    [
      'a number instead of text',
      [good(14, { creditlimit: 5 })],
      { code: 'VALUE_UNREADABLE', message: /creditlimit is a JSON number/ },
    ],
    [
      'an object instead of text',
      [good(14, { entityid: { a: 1 } })],
      { code: 'VALUE_UNREADABLE', message: /entityid is a JSON object/ },
    ],
    [
      'a word for a truth',
      [good(14, { isperson: 'yes' })],
      { code: 'VALUE_UNREADABLE', message: /isperson is neither/ },
    ],
    [
      'a date that is none',
      [good(14, { startdate: '2026-02-30' })],
      { code: 'VALUE_UNREADABLE', message: /startdate is not a date/ },
    ],
    [
      'a day in year 0',
      [good(14, { startdate: '0000-12-01' })],
      { code: 'VALUE_UNREADABLE', message: /startdate is not a date/ },
    ],
    [
      'a modification time in year 0',
      [good(14, { lastmodifieddate: '0000-12-01T10:00:00Z' })],
      { code: 'VALUE_UNREADABLE', message: /lastmodifieddate is not a time/ },
    ],
    [
      'an id of twenty digits',
      [good(14, { id: '12345678901234567890' })],
      { code: 'ID_NOT_INTEGER', message: /not an integer/, id: '12345678901234567890' },
    ],
    [
      'NUL',
      [good(14, { entityid: 'a\0b' })],
      { code: 'VALUE_UNREADABLE', message: /entityid contains a character/ },
    ],
    [
      'a lone surrogate',
      [good(14, { entityid: 'a\ud800' })],
      { code: 'VALUE_UNREADABLE', message: /entityid contains a character/ },
    ],
    [
      'a lone surrogate in a label',
      [good(14, { currency: '1', df_currency: '\udc00' })],
      { code: 'VALUE_UNREADABLE', message: /label of currency/ },
    ],
    [
      'NaN',
      [good(14, { creditlimit: 'NaN' })],
      { code: 'VALUE_UNREADABLE', message: /creditlimit is not a number/ },
    ],
    [
      '1e400',
      [good(14, { creditlimit: '1e400' })],
      { code: 'VALUE_UNREADABLE', message: /creditlimit is not a number/ },
    ],
    [
      '1e400 without quotes',
      [good(14).replace('"1.50"', '1e400')],
      { code: 'VALUE_UNREADABLE', message: /creditlimit is a JSON number/ },
    ],
    [
      'duplicate ids',
      [good(14), good(14, { entityid: 'another' })],
      { code: 'DUPLICATE_ID', message: /more than one row/ },
    ],
    [
      'an id that changes type',
      [good(14, { id: 14 })],
      { code: 'ID_NOT_INTEGER', message: /not an integer/ },
    ],
    [
      'an id that is no number any more',
      [good(14, { id: 'C-14' })],
      { code: 'ID_NOT_INTEGER', message: /not an integer/, id: 'C-14' },
    ],
    [
      'an id that cannot be stored',
      [good(14, { id: 'a\0\ud800' })],
      { code: 'ID_NOT_INTEGER', message: /not an integer/, id: 'a\ufffd\ufffd' },
    ],
  ])(
    '%s: the record is rejected with its reason, the run is partial, the rest is served',
    async (_name, texts, { code, message, id = '14' }) => {
      rows.set(14, texts);
      const fixture = await customers();
      const first = await fixture.sync();
      expect(first).toMatchObject({
        status: 'partial',
        attempt: 1,
        error: { code: 'RECORDS_REJECTED' },
        counts: { inserted: 24, rejected: 1 },
      });
      const expected = [{ id, code, message: expect.stringMatching(message) }];
      expect(await rejections(fixture)).toEqual(expected);
      expect(await servedIds(fixture)).toEqual([...rows.keys()].filter((key) => key !== 14).map(String));
      // Every later run rejects it again, including the incremental one with its scan.
      rows.set(3, [good(3, { entityid: 'changed', lastmodifieddate: '2026-05-01T11:00:00Z' })]);
      expect(await fixture.sync('incremental')).toMatchObject({
        status: 'partial',
        mode: 'incremental',
        counts: { updated: 1, deleted: 0, rejected: 1 },
      });
      expect(await rejections(fixture)).toEqual(expected);
      // The rejection ends when the record is corrected.
      rows.set(14, [good(14)]);
      expect(await fixture.sync()).toMatchObject({
        status: 'succeeded',
        counts: { inserted: 1, rejected: 0 },
      });
      expect(await servedIds(fixture)).toHaveLength(25);
    },
  );

  it('a record that becomes invalid keeps its last good version and is not treated as deleted', async () => {
    const fixture = await customers();
    await fixture.sync();
    rows.set(14, [
      good(14, { entityid: 'x', lastmodifieddate: '2026-05-01T11:00:00Z' }),
      good(14, { entityid: 'y' }),
    ]);
    expect(await fixture.sync('incremental')).toMatchObject({
      status: 'partial',
      counts: { deleted: 0, rejected: 1 },
    });
    expect((await fixture.rows())[13]).toMatchObject({ id: '14', f_entityid: 'C14' });
  });

  it('`__proto__` in a response is a name like any other', async () => {
    rows.set(14, [
      good(14).replace(
        '{',
        '{"__proto__":{"entityid":"stolen","polluted":true},"constructor":"x","ToString":"y",',
      ),
    ]);
    const fixture = await customers();
    expect(await fixture.sync()).toMatchObject({ status: 'succeeded', counts: { inserted: 25 } });
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
    expect(await fixture.sync()).toMatchObject({
      status: 'failed',
      attempt: 5,
      error: { code: 'ANSWER_MALFORMED' },
    });
    expect(await rejections(fixture)).toEqual([]);
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

  it.each<[string, object, Partial<SourceRecord>, RegExp]>([
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
  ])('%s: rejected, partial, the rest served', async (_name, values, more, message) => {
    const fixture = await syncFixture(ctx, memoryErp(fields));
    for (let id = 1; id <= 12; id += 1) fixture.erp.put(id);
    fixture.erp.put(7, values as Record<string, string>, more);
    expect(await fixture.sync()).toMatchObject({
      status: 'partial',
      attempt: 1,
      counts: { inserted: 11, rejected: 1 },
    });
    expect(await rejections(fixture)).toEqual([
      { id: '7', code: expect.stringMatching(/^VALUE_/), message: expect.stringMatching(message) },
    ]);
    expect(await servedIds(fixture)).not.toContain('7');
  });

  it('a field named `constructor` has only its own values', async () => {
    const fixture = await syncFixture(ctx, memoryErp(fields));
    fixture.erp.put(1);
    fixture.erp.put(2, { constructor: 'a builder' });
    expect(await fixture.sync()).toMatchObject({ status: 'succeeded' });
    expect((await fixture.rows()).map((row) => row['f_constructor'])).toEqual([null, 'a builder']);
  });

  it('a modification time, and ids of lists and deletions, that cannot be stored: rejected by an incremental run, the rest served', async () => {
    const fixture = await syncFixture(ctx, memoryErp(datedFields));
    const { erp } = fixture;
    for (let id = 1; id <= 12; id += 1) erp.put(id);
    expect(await fixture.sync()).toMatchObject({ status: 'succeeded' });
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
    expect(await fixture.sync('incremental')).toMatchObject({
      status: 'partial',
      attempt: 1,
      counts: { updated: 1, deleted: 0, rejected: 1 },
    });
    expect(await rejections(fixture)).toMatchObject([{ id: '7', code: 'VALUE_UNREADABLE' }]);
    expect((await fixture.rows())[6]).toMatchObject({ f_name: 'name 7' });
    Object.assign(erp, { connector });
    erp.put(7, { name: 'right again' });
    expect(await fixture.sync('incremental')).toMatchObject({ status: 'succeeded', error: null });
  });

  it('duplicate ids on one page: all records with that id are rejected', async () => {
    const fixture = await syncFixture(ctx, memoryErp());
    for (let id = 1; id <= 12; id += 1) fixture.erp.put(id);
    await fixture.sync();
    fixture.erp.bendPage = (page) => ({
      ...page,
      records: page.records.flatMap((record) =>
        record.id === '7' ? [record, { ...record, values: { name: 'another' } }] : [record],
      ),
    });
    expect(await fixture.sync()).toMatchObject({ status: 'partial', counts: { rejected: 1, deleted: 0 } });
    expect(await rejections(fixture)).toMatchObject([{ id: '7', code: 'DUPLICATE_ID' }]);
    expect((await fixture.rows())[6]).toMatchObject({ f_name: 'name 7' });
  });

  it.each<[string, unknown, string]>([
    ['a number', 7, '7'],
    ['a word', 'seven', 'seven'],
    ['another way of writing it', '007', '007'],
    ['what cannot be stored', `\0\ud800${'x'.repeat(5_000)}`, `\ufffd\ufffd${'x'.repeat(198)}`],
  ])('an id that changes type: %s', async (_name, id, storableId) => {
    const fixture = await syncFixture(ctx, memoryErp());
    for (let n = 1; n <= 12; n += 1) fixture.erp.put(n);
    fixture.erp.bendPage = (page) => ({
      ...page,
      records: page.records.map((record) => (record.id === '7' ? { ...record, id: id as string } : record)),
    });
    expect(await fixture.sync()).toMatchObject({ status: 'partial', counts: { inserted: 11, rejected: 1 } });
    expect(await rejections(fixture)).toMatchObject([{ id: storableId, code: 'ID_UNREADABLE' }]);
  });
});
