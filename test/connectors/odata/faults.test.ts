// What services answer that they should not, and what they say when they are busy: each is an error with a
// kind by which the engine decides, and no record is lost or taken from elsewhere.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Connector, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import { odata } from '../../../src/connectors/odata/connector.ts';
import {
  type Answer,
  concurrencyProbe,
  createConnectorCtx,
  expectErpError,
  firstPage,
  json,
  readPages,
  refuses,
  type Seen,
  sends,
  signal,
  useWire,
} from '../netsuite/wire.ts';
import {
  createOdataAt,
  describeOne,
  metadataWith,
  optionsOf,
  readMetadata,
  sendText,
  serving,
  settingsFor,
} from './service.ts';

const wire = useWire();
const types = `<EntityType Name="thing"><Key><PropertyRef Name="key"/></Key>
  <Property Name="key" Type="Edm.Int32"/><Property Name="amount" Type="Edm.Decimal"/>
  <Property Name="at" Type="Edm.DateTimeOffset"/><Property Name="flag" Type="Edm.Boolean"/>
  <Property Name="kind" Type="ns.kind"/><Property Name="LastModifiedDateTime" Type="Edm.DateTimeOffset"/>
  <NavigationProperty Name="thingLines" Type="Collection(ns.line)" ContainsTarget="true"/></EntityType>
  <EntityType Name="line"><Key><PropertyRef Name="no"/></Key><Property Name="no" Type="Edm.Int32"/></EntityType>
  <EnumType Name="kind"><Member Name="In_x0020_Review" Value="1"/></EnumType>`;
const metadata = metadataWith(types, '<EntitySet Name="things" EntityType="ns.thing"/>');

let connector: Connector;
let recordType: RecordTypeMetadata;
const describeThings = async (answer?: Answer): Promise<void> => {
  wire.answer = serving(metadata, answer);
  [recordType] = (await connector.metadata(signal, ['things'])) as [RecordTypeMetadata];
  wire.seen.length = 0;
};
beforeEach(async () => {
  connector = createOdataAt(wire.url);
  await describeThings();
});

const fields = ['amount', 'at', 'flag', 'kind', 'LastModifiedDateTime'];
const read = (more: object = {}) => connector.readPage({ ...firstPage, recordType, fields, ...more });
const row = (key: number, more: object = {}) => ({
  key,
  amount: 1,
  at: null,
  flag: null,
  kind: null,
  LastModifiedDateTime: '2026-01-01T00:00:00Z',
  ...more,
});
const rows = (...value: object[]) => ({ value });
const text =
  (body: string, type = 'application/json'): Answer =>
  (_seen, response) =>
    sendText(response, 200, type, body);

describe('responses with an error', () => {
  it.each([
    [429, { 'retry-after': '7' }, 'throttled', 'TOO_MANY_REQUESTS', 7_000],
    [503, { 'retry-after': '120' }, 'throttled', 'TOO_MANY_REQUESTS', 120_000],
    [503, {}, 'down', 'SERVER_UNAVAILABLE', null],
    [500, {}, 'down', 'SERVER_ERROR', null],
    [403, {}, 'forbidden', 'PERMISSION_MISSING', null],
    [404, {}, 'forbidden', 'ENTITY_SET_UNKNOWN', null],
    [400, {}, 'query', 'QUERY_REFUSED', null],
    [501, {}, 'query', 'QUERY_REFUSED', null],
    [302, { location: 'https://login.example/' }, 'answer', 'ANSWER_UNREADABLE', null],
  ])('of status %i %j are of kind %s', async (status, headers, kind, code, retryAfterMs) => {
    wire.answer = sends(status, { error: { code: 'c', message: 'the reason' } }, headers);
    await expectErpError(read(), kind, code, { retryAfterMs, message: 'the reason' });
  });

  it.each([
    "Could not find a property named 'amount' on type 'ns.thing'.",
    "Property 'amount' is unknown",
    'Property not found',
  ])('say that a column is unknown: %s', async (message) => {
    wire.answer = sends(400, { error: { code: 'c', message } });
    await expectErpError(read(), 'query', 'COLUMN_UNKNOWN');
  });

  it('of no OData service are not trusted', async () => {
    wire.answer = refuses(404, 'x', 'from a proxy');
    await expectErpError(read(), 'answer', 'ANSWER_UNREADABLE');
  });
});

describe('responses that are not trusted', () => {
  it.each([
    ['HTML', text('<html>Sign in</html>', 'text/html'), 'ANSWER_UNREADABLE'],
    ['half of JSON', text('{"value":[{"key":1'), 'ANSWER_UNREADABLE'],
    ['an array', text('[]'), 'ANSWER_UNREADABLE'],
    ['no list', text('{}'), 'ANSWER_INCONSISTENT'],
    ['a list of numbers', text('{"value":[1]}'), 'ANSWER_INCONSISTENT'],
    ['an entity without its key', text('{"value":[{"amount":1}]}'), 'ANSWER_INCONSISTENT'],
    ['keys in another order', text('{"value":[{"key":2},{"key":1}]}'), 'ANSWER_INCONSISTENT'],
  ])('%s', async (_what, answer, code) => {
    wire.answer = answer;
    await expectErpError(read(), 'answer', code);
  });

  it('records that were not requested', async () => {
    wire.answer = () => rows(row(1), row(2));
    await expectErpError(
      connector.readByIds({ recordType, fields, ids: ['1'], signal }),
      'answer',
      'ANSWER_INCONSISTENT',
    );
  });

  it('counts that are no number', async () => {
    wire.answer = text('{"value":[],"@odata.count":"twelve"}');
    await expectErpError(connector.count(recordType, signal), 'answer', 'ANSWER_INCONSISTENT');
  });

  it('HTML in the place of a count or of the service, which a test of the connection reports', async () => {
    wire.answer = text('<!DOCTYPE html><html>Sign in</html>', 'text/html');
    await expectErpError(connector.count(recordType, signal), 'answer', 'ANSWER_UNREADABLE');
    expect(await connector.test(signal)).toMatchObject({
      ok: false,
      problems: [{ code: 'ANSWER_UNREADABLE' }],
    });
  });

  it('a response without a time', async () => {
    wire.answer = (_seen, response) => {
      response.sendDate = false;
      json(response, 200, { value: [] });
    };
    await expectErpError(connector.now(signal), 'answer', 'ANSWER_INCONSISTENT');
  });
});

describe('values', () => {
  const readOne = async (more: string) => {
    const others = JSON.stringify(row(1, { amount: null })).slice(1, -1);
    wire.answer = text(`{"value":[{${others},${more}}]}`);
    const { records, rejected } = await read();
    return { ...records[0]?.values, ...records[0]?.labels, problem: rejected[0]?.message };
  };

  it.each([
    ['"amount":12345678901234567890.10', { amount: '12345678901234567890.10' }],
    ['"amount":"0.100000000000000000001"', { amount: '0.100000000000000000001' }],
    ['"amount":-1.5e-3', { amount: '-0.0015' }],
    ['"at":"2026-01-31T23:59:59.123456789012+02:00"', { at: '2026-01-31T21:59:59Z' }],
    ['"at":"2026-02-28T22:30:00-05:30"', { at: '2026-03-01T04:00:00Z' }],
    ['"at":"2026-02-28T22:30Z"', { at: '2026-02-28T22:30:00Z' }],
    ['"flag":true', { flag: 'true' }],
    ['"kind":"In_x0020_Review"', { kind: 'In Review' }],
    ['"amount":null', { amount: null }],
  ])('%s are exact', async (json_, expected) => {
    expect(await readOne(json_)).toMatchObject(expected);
  });

  it.each([
    ['"amount":"NaN"', 'amount is not a valid number'],
    ['"amount":true', 'amount is not a valid number'],
    ['"amount":{"value":1}', 'amount is not a valid number'],
    ['"at":"2026-02-30T00:00:00Z"', 'at is not a valid time'],
    ['"at":"/Date(1)/"', 'at is not a valid time'],
    ['"flag":"yes"', 'flag is not a valid boolean'],
    ['"kind":"a\\u0000b"', 'kind is not a valid list'],
  ])('%s reject the record', async (json_, problem) => {
    expect(await readOne(json_)).toMatchObject({ problem });
  });
});

describe('a foreign key', () => {
  it('names no record when it is the empty GUID', async () => {
    const id = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
    let customerId = '00000000-0000-0000-0000-000000000000';
    wire.answer = serving(readMetadata('business-central'), ({ path }) =>
      decodeURIComponent(path).includes('id gt')
        ? rows()
        : rows({ id, customerId, lastModifiedDateTime: null, salesInvoiceLines: [] }),
    );
    const invoice = await describeOne(connector, 'salesInvoices');
    const readCustomer = async () =>
      (await read({ recordType: invoice, fields: ['customerId'] })).records[0]?.values['customerId'];
    expect(await readCustomer()).toBeNull();
    customerId = id;
    expect(await readCustomer()).toBe(id);
  });
});

describe('links', () => {
  it.each([
    'https://evil.example/things',
    '//evil.example/things',
    'http://127.0.0.1:1/api/things',
    'http://[',
  ])('to %s are refused', async (link) => {
    wire.answer = () => ({ value: [], '@odata.nextLink': link });
    await expectErpError(read(), 'answer', 'LINK_REFUSED');
    expect(wire.seen).toHaveLength(1);
  });

  it('of lines are followed, and refused where they lead elsewhere', async () => {
    const withLines = { ...row(1), thingLines: [{ no: 1 }] };
    let link = 'things(1)/thingLines?$skiptoken=1';
    wire.answer = ({ path }) =>
      path.includes('skiptoken')
        ? rows({ no: 2 }, { no: 3 })
        : rows({ ...withLines, 'thingLines@odata.nextLink': link });
    const { records } = await read({ fields: [...fields, 'lines'] });
    expect(records[0]?.lines).toEqual([{ no: '1' }, { no: '2' }, { no: '3' }]);
    link = 'https://evil.example/';
    await expectErpError(read({ fields: [...fields, 'lines'] }), 'answer', 'LINK_REFUSED');
  });

  it('of lines that lack a line, repeat one or never end reject the record, or end the run', async () => {
    const withLines = (thingLines: object[], more: object = {}) => rows({ ...row(1), thingLines, ...more });
    const readLines = () => read({ fields: [...fields, 'lines'] });
    wire.answer = () => withLines([{ no: 1 }], { 'thingLines@odata.count': 2 });
    const rejected = [{ id: '1', code: 'LINES_MISMATCH' }];
    expect(await readLines()).toMatchObject({ records: [], rejected });
    wire.answer = () => withLines([{ no: 1 }, { no: 1 }]);
    expect(await readLines()).toMatchObject({ records: [], rejected });
    let n = 0;
    const many = () => Array.from({ length: 20_000 }, () => ({ no: (n += 1) }));
    wire.answer = ({ path }) => {
      const next = `things(1)/thingLines?${n}`;
      return path.includes('thingLines?')
        ? { value: many(), '@odata.nextLink': next }
        : withLines([], { 'thingLines@odata.nextLink': next });
    };
    await expectErpError(readLines(), 'answer', 'PAGE_REPEATS');
  });

  it('that lead in a circle, or to no record for long, are an error', async () => {
    wire.answer = () => ({ value: [], '@odata.nextLink': 'things?a' });
    await expectErpError(read(), 'answer', 'PAGE_REPEATS');
    let n = 0;
    wire.answer = () => ({ value: [], '@odata.nextLink': `things?${(n += 1)}` });
    await expectErpError(read(), 'answer', 'PAGE_REPEATS');
    expect(n).toBeLessThan(50);
  });

  it('behind an empty page are followed', async () => {
    wire.answer = ({ path }) =>
      path.endsWith('token') ? rows(row(5)) : { value: [], '@odata.nextLink': 'things?token' };
    expect(await read()).toMatchObject({ records: [{ id: '5' }], lastId: '5', hasMore: false });
  });

  it('count as more records, without being followed', async () => {
    wire.answer = () => ({ ...rows(row(5)), '@odata.nextLink': 'things?token' });
    expect(await read()).toMatchObject({ lastId: '5', hasMore: true });
    expect(wire.seen).toHaveLength(1);
  });
});

describe('an entity that lacks a property', () => {
  it('is rejected: services leave out what the user may no longer read', async () => {
    const { amount: _unread, ...others } = row(1);
    wire.answer = () => rows({ ...others, 'amount@Core.Permissions': 'None' });
    const rejected = [{ id: '1', message: 'amount is missing' }];
    expect(await read()).toMatchObject({ records: [], rejected });
  });
});

describe('an error within a response', () => {
  it('ends the read, though the status says that all is well', async () => {
    wire.answer = () => ({ value: [], error: { code: 'c', message: 'the database is gone' } });
    const message = expect.stringContaining('the database is gone');
    await expectErpError(
      connector.readByIds({ recordType, fields, ids: ['1'], signal }),
      'answer',
      'ANSWER_INCONSISTENT',
      { message },
    );
  });
});

describe('records by id whose pages never end', () => {
  it('are an error', async () => {
    let n = 0;
    wire.answer = () => ({ ...rows(row(1)), '@odata.nextLink': `things?${(n += 1)}` });
    await expectErpError(
      connector.readByIds({ recordType, fields, ids: ['1', '2'], signal }),
      'answer',
      'PAGE_REPEATS',
    );
  });
});

describe('a service that ignores the filter by key', () => {
  it('is noticed by the record after which the page begins', async () => {
    wire.answer = () => rows(row(1), row(2), row(3));
    await expectErpError(read({ afterId: '3' }), 'answer', 'PAGE_REPEATS');
  });
});

describe('a service that does not order by key', () => {
  const all = Array.from({ length: 10 }, (_, n) => row(((n * 7) % 10) + 1, { thingLines: [] }));
  const refusal = { error: { code: 'c', message: 'not sortable' } };
  const byLink: Answer = ({ path }, response) => {
    const { $orderby, $skiptoken: start = '0' } = optionsOf({ path } as never);
    if ($orderby !== undefined) return json(response, 400, refusal);
    const from = Number(start);
    const next = from + 3 < all.length ? { '@odata.nextLink': `things?$skiptoken=${from + 3}` } : {};
    return { value: all.slice(from, from + 3), ...next };
  };
  beforeEach(() => describeThings(byLink));
  const readAll = (limit: number) => readPages((last) => read({ afterId: last?.lastId ?? null, limit }));

  it.each([1, 2, 3, 4, 10, 50])('is read by its own links in pages of %i', async (limit) => {
    const pages = await readAll(limit);
    expect(pages.flatMap(({ records }) => records.map(({ id }) => Number(id)))).toEqual(
      all.map(({ key }) => key),
    );
    expect(pages.every(({ records }) => records.length <= limit)).toBe(true);
    expect(wire.seen).toHaveLength(4);
  });

  it('is read on by another process from the record where the last page ended', async () => {
    const { lastId } = await read({ limit: 5 });
    connector = createOdataAt(wire.url);
    const page = await read({ limit: 50, afterId: lastId });
    expect(page.records.map(({ id }) => Number(id))).toEqual(all.slice(5).map(({ key }) => key));
  });

  it('is read on without a new start, however many reads were left off before', async () => {
    for (let day = 1; day <= 20; day += 1)
      await read({ limit: 2, changedSince: new Date(Date.UTC(2026, 0, day)) });
    wire.seen.length = 0;
    expect((await readAll(2)).flatMap(({ records }) => records)).toHaveLength(10);
    expect(wire.seen).toHaveLength(4);
  });

  it('is read on after the run that began is over', async () => {
    const first = new AbortController();
    const { lastId } = await read({ limit: 2, signal: first.signal });
    first.abort();
    const page = await read({ limit: 50, afterId: lastId });
    expect(page.records).toHaveLength(8);
  });

  it('fails where that record is gone', async () => {
    await expectErpError(read({ afterId: '99' }), 'answer', 'CURSOR_GONE');
  });

  it.each([
    ['the same', () => all.slice(0, 3)],
    ['new ones', (n: number) => [row(1_000 + n)]],
  ])('fails where its pages never end, and have %s', async (_what, rowsOf) => {
    let n = 0;
    wire.answer = ({ path }) =>
      path.includes('count=true')
        ? { value: [], '@odata.count': '10' }
        : { value: rowsOf((n += 1)), '@odata.nextLink': `things?${n}` };
    await expectErpError(read({ limit: 10_000 }), 'answer', 'PAGE_REPEATS');
    expect(n).toBeLessThan(500);
  });
});

describe('requests', () => {
  it('ask for exact numbers, minimal metadata and a protocol version, and are encoded', async () => {
    await read({ afterId: '7', changedSince: new Date('2026-01-01T00:00:00Z') });
    expect(wire.seen[0]?.headers).toMatchObject({
      accept: 'application/json;odata.metadata=minimal;IEEE754Compatible=true',
      'odata-maxversion': '4.0',
    });
    expect(wire.seen[0]?.path).not.toMatch(/[ ']/);
    expect(wire.seen[0] && optionsOf(wire.seen[0])).toEqual({
      $select: 'key,amount,at,flag,kind,LastModifiedDateTime',
      $filter: '(LastModifiedDateTime ge 2026-01-01T00:00:00.000Z) and (key gt 7)',
      $orderby: 'key',
      $top: '1000',
    });
  });

  it('name company and tenant where the settings say', async () => {
    const place = { tenant: { in: 'query', name: 'tenant', value: 'a b' } } as const;
    connector = createOdataAt(wire.url, {
      ...place,
      company: { in: 'path', segment: "Company('My%20Co')" },
    });
    await read();
    await connector.discover?.(signal).catch(() => undefined);
    expect(wire.seen.map(({ path }) => path.replace(/\?\$.*&/, '?'))).toEqual([
      "/api/Company('My%20Co')/things?tenant=a%20b",
      '/api/$metadata?tenant=a%20b',
    ]);
  });

  it('ask Dynamics 365 for all companies, and for one by a filter where the records have one', async () => {
    const parts = ['dataAreaId', 'no'];
    const properties = parts.map((name) => `<Property Name="${name}" Type="Edm.String"/>`).join('');
    const key = `<Key>${parts.map((name) => `<PropertyRef Name="${name}"/>`).join('')}</Key>`;
    const ofCompany = `<EntityType Name="order">${key}${properties}</EntityType>`;
    const sets =
      '<EntitySet Name="orders" EntityType="ns.order"/><EntitySet Name="things" EntityType="ns.thing"/>';
    const company = { in: 'query', name: 'dataAreaId', value: "o'b" } as const;
    const optionsFor = async (name: string, more: object) => {
      wire.answer = serving(metadataWith(types + ofCompany, sets));
      connector = createOdataAt(wire.url, { dialect: 'dynamics365', ...more });
      const described = await describeOne(connector, name);
      wire.seen.length = 0;
      await read({ recordType: described, fields: [] });
      const { $filter, 'cross-company': cross } = optionsOf(wire.seen[0] as Seen);
      return [cross, $filter];
    };
    expect(await optionsFor('orders', {})).toEqual(['true', undefined]);
    expect(await optionsFor('orders', { company })).toEqual(['true', "dataAreaId eq 'o''b'"]);
    expect(await optionsFor('things', { company })).toEqual(['true', undefined]);
  });

  it('keep the parameters of the connection behind links that lack them', async () => {
    const tenant = { in: 'query', name: 'sap-client', value: '200' } as const;
    connector = createOdataAt(wire.url, { tenant });
    wire.answer = ({ path }) =>
      path.includes('skiptoken') ? rows(row(2)) : { value: [], '@odata.nextLink': 'things?$skiptoken=2' };
    await read();
    expect(wire.seen.map((seen) => optionsOf(seen)['sap-client'])).toEqual(['200', '200']);
  });

  it('leave out the list of properties where their address would be too long', async () => {
    const names = Array.from({ length: 400 }, (_, n) => `aPropertyWithALongName${n}`);
    const wide = `<EntityType Name="wide"><Key><PropertyRef Name="key"/></Key><Property Name="key" Type="Edm.Int32"/>
      ${names.map((name) => `<Property Name="${name}" Type="Edm.String"/>`).join('')}</EntityType>`;
    const nulls = Object.fromEntries(names.map((name) => [name, null]));
    wire.answer = serving(metadataWith(wide, '<EntitySet Name="wides" EntityType="ns.wide"/>'), () =>
      rows({ key: 1, ...nulls }),
    );
    const described = await describeOne(connector, 'wides');
    wire.seen.length = 0;
    expect((await read({ recordType: described, fields: names })).records).toHaveLength(1);
    expect(wire.seen[0]?.path.length).toBeLessThan(1_000);
  });

  it('have at most as many records as the settings say', async () => {
    connector = createOdataAt(wire.url, { pageSize: 20 });
    await read();
    expect(wire.seen[0] && optionsOf(wire.seen[0])['$top']).toBe('20');
  });

  it('of all connections to a service share its limit', async () => {
    const probe = concurrencyProbe(2, { value: [] });
    wire.answer = probe.answer;
    const ctx = createConnectorCtx({ erp: { allowedHosts: ['127.0.0.1'], concurrency: 2 } });
    const two = [1, 2].map(() => odata.create(ctx, settingsFor(wire.url), { password: 'secret' }));
    await Promise.all([...two, ...two, ...two].map((each) => each.now(signal)));
    expect(probe.maxConcurrent()).toBe(2);
  });

  it('end with the reason of the signal', async () => {
    const controller = new AbortController();
    wire.answer = () => {
      controller.abort(new Error('enough'));
      return new Promise(() => undefined);
    };
    await expect(read({ signal: controller.signal })).rejects.toThrow('enough');
  });

  it.each([
    ['a field that is not offered', ['amount', 'secret'], {}],
    ['a filter by subsidiaries', fields, { filter: { subsidiaries: ['1'] } }],
  ])('are not sent for %s', async (_what, wanted, filter) => {
    const work = read({ fields: wanted, recordType: { ...recordType, ...filter } });
    await expectErpError(work, 'query', 'FIELD_NOT_SYNCABLE');
    expect(wire.seen).toEqual([]);
  });
});

describe('keys that differ in case', () => {
  it('are those of other records, also where the service finds these', async () => {
    wire.answer = serving(
      metadataWith(
        '<EntityType Name="thing"><Key><PropertyRef Name="key"/></Key><Property Name="key" Type="Edm.String"/></EntityType>',
        '<EntitySet Name="things" EntityType="ns.thing"/>',
      ),
    );
    const [thing] = await connector.metadata(signal, ['things']);
    if (thing === undefined) throw new Error('not described');
    wire.answer = () => rows({ key: 'INV-1' }, { key: 'INV-2' });
    const readIds = async (ids: readonly string[]) =>
      (await connector.readByIds({ recordType: thing, fields: [], ids, signal })).records.map(({ id }) => id);
    expect(await readIds(['inv-1', 'INV-2'])).toEqual(['INV-2']);
    expect(await readIds(['INV-1', 'inv-1', 'INV-2 '])).toEqual(['INV-1']);
    await expectErpError(readIds(['INV-1']), 'answer', 'ANSWER_INCONSISTENT');
  });
});

describe('keys in filters', () => {
  const keyed = (type: string) =>
    metadataWith(
      `<EntityType Name="thing"><Key><PropertyRef Name="key"/></Key><Property Name="key" Type="${type}"/></EntityType>
       <EnumType Name="kind"><Member Name="Open"/></EnumType>`,
      '<EntitySet Name="things" EntityType="ns.thing"/>',
    );
  const requestOf = async (type: string, id: string) => {
    wire.answer = serving(keyed(type));
    const [thing] = await connector.metadata(signal, ['things']);
    if (thing === undefined) throw new Error('not described');
    wire.seen.length = 0;
    await connector.readByIds({ recordType: thing, fields: [], ids: [id], signal });
    return wire.seen[0] && optionsOf(wire.seen[0])['$filter'];
  };

  it.each([
    ['Edm.String', "O'Brien", "key eq 'O''Brien'"],
    ['Edm.String', "' or 1 eq 1 or '", "key eq ''' or 1 eq 1 or '''"],
    ['Edm.String', '100%&$top=1#?+', "key eq '100%&$top=1#?+'"],
    ['Edm.Guid', '3f2504e0-4f89-41d3-9a0c-0305e82c3301', 'key eq 3f2504e0-4f89-41d3-9a0c-0305e82c3301'],
    ['Edm.Int64', '-9007199254740993', 'key eq -9007199254740993'],
    ['Edm.Decimal', '1.50', 'key eq 1.50'],
    ['Edm.Date', '2026-02-28', 'key eq 2026-02-28'],
    ['Edm.DateTimeOffset', '2026-02-28T10:00:00.1234567Z', 'key eq 2026-02-28T10:00:00.1234567Z'],
    ['ns.kind', 'Open', "key eq ns.kind'Open'"],
  ])('of type %s: %s', async (type, id, filter) => {
    expect(await requestOf(type, id)).toBe(filter);
  });

  it.each([
    ['Edm.Guid', '1 or true'],
    ['Edm.Int32', '1 or true'],
    ['Edm.Decimal', '1e5'],
    ['Edm.Date', '2026-02-30'],
    ['Edm.DateTimeOffset', 'now()'],
    ['Edm.Boolean', 'maybe'],
    ['ns.kind', "Open' or true or key eq ns.kind'Open"],
  ])('of type %s are never %s, which no record can have', async (type, id) => {
    expect(await requestOf(type, id)).toBeUndefined();
  });
});

describe('the day', () => {
  it('is that of the account’s time zone', async () => {
    wire.answer = (_seen, response) => {
      response.setHeader('date', 'Sat, 31 Jan 2026 23:30:00 GMT');
      json(response, 200, { value: [] });
    };
    expect(await createOdataAt(wire.url).today(signal)).toBe('2026-01-31');
    expect(await createOdataAt(wire.url, { timeZone: 'Europe/Vienna' }).today(signal)).toBe('2026-02-01');
    expect(await createOdataAt(wire.url).now(signal)).toEqual(new Date('2026-01-31T23:30:00Z'));
  });
});
