import { describe, expect, it } from 'vitest';
import type { PageRequest } from '../../../src/connectors/connector.ts';
import { field } from '../../sync/fixture.ts';
import {
  createConnectorAt,
  expectErpError,
  firstPage,
  getMetadata,
  rowsResponse,
  signal,
  useWire,
} from './wire.ts';

const wire = useWire();
const invoice = getMetadata('invoice');
const customer = getMetadata('customer');

const readPage = (request: Partial<PageRequest>) =>
  createConnectorAt(wire.url).readPage({ ...firstPage, recordType: customer, fields: [], ...request });
const readByIds = (...ids: string[]) =>
  createConnectorAt(wire.url).readByIds({ recordType: customer, fields: [], ids, signal });

describe('readPage: the query', () => {
  it('selects columns, formats times and dates, and includes labels', async () => {
    await readPage({ recordType: invoice, fields: ['trandate', 'entity', 'status', 'foreigntotal'] });
    expect(wire.seen[0]?.query).toBe(
      'SELECT t.id AS id, TO_CHAR(SYS_EXTRACT_UTC(t.lastmodifieddate), \'YYYY-MM-DD"T"HH24:MI:SS"Z"\') AS lastmodifieddate, ' +
        "TO_CHAR(t.trandate, 'YYYY-MM-DD') AS trandate, t.entity AS entity, BUILTIN.DF(t.entity) AS df_entity, " +
        "t.status AS status, BUILTIN.DF(t.status) AS df_status, t.foreigntotal AS foreigntotal FROM transaction t WHERE t.type = 'CustInvc' ORDER BY t.id ASC",
    );
  });

  it('continues behind the last id, and compares changes in UTC, behind a bound that suits every time zone', async () => {
    await readPage({ afterId: '-7', changedSince: new Date('2026-03-01T00:30:15.999Z'), limit: 5000 });
    expect(wire.seen[0]?.path).toContain('limit=1000&offset=0');
    expect(wire.seen[0]?.query).toContain(
      "WHERE t.lastmodifieddate >= TO_DATE('2026-02-27 12:00:00', 'YYYY-MM-DD HH24:MI:SS') AND " +
        "SYS_EXTRACT_UTC(t.lastmodifieddate) >= TO_TIMESTAMP('2026-03-01 00:30:15', 'YYYY-MM-DD HH24:MI:SS') AND t.id > -7 ORDER BY t.id ASC",
    );
  });

  it.each([
    '2026-03-09T10:30:00Z',
    '2026-03-09T12:00:00Z',
    '2026-03-09T11:59:59Z',
    '2026-03-10T02:30:00Z',
    '1969-12-30T13:00:00Z',
  ])(
    'the bound for %s lies at noon, one to two days earlier: no change of clocks leaves that out',
    async (instant) => {
      await readPage({ changedSince: new Date(instant) });
      const [, bound = ''] = /TO_DATE\('([^']+)'/.exec(wire.seen[0]?.query ?? '') ?? [];
      expect(bound).toMatch(/ 12:00:00$/);
      const hours = (Date.parse(instant) - Date.parse(`${bound.replace(' ', 'T')}Z`)) / 3_600_000;
      expect(hours).toBeGreaterThanOrEqual(24);
      expect(hours).toBeLessThan(48);
    },
  );

  it('queries ids as a list, each once', async () => {
    wire.answer = () => rowsResponse([{ id: '3' }]);
    const page = await readByIds('3', '5', '3');
    expect(wire.seen[0]?.query).toContain('WHERE t.id IN (3, 5) ORDER BY');
    expect(page).toMatchObject({ records: [{ id: '3' }], hasMore: false });
  });

  it('sends no query for no ids', async () => {
    expect(await readByIds()).toEqual({ records: [], rejected: [], lastId: null, hasMore: false });
    expect(wire.seen).toHaveLength(0);
  });

  it.each([['1; DROP TABLE x'], ['1 OR 1=1'], [''], ['1.0'], ['007'], ["'1'"]])(
    'refuses the id %j',
    async (id) => {
      await expectErpError(readPage({ afterId: id }), 'query');
      await expectErpError(readByIds(id), 'query');
      expect(wire.seen).toHaveLength(0);
    },
  );

  it('refuses fields that are unknown, not syncable, or not a column name', async () => {
    const unnameable = { ...field('x) FROM dual --'), custom: true };
    for (const request of [
      { fields: ['nonsense'] },
      { recordType: invoice, fields: ['daysopen'] },
      { recordType: { ...customer, fields: [...customer.fields, unnameable] }, fields: [unnameable.name] },
      { recordType: { ...customer, name: 'vendorBill' } },
    ])
      await expectErpError(readPage(request), 'query', 'FIELD_NOT_SYNCABLE');
    expect(wire.seen).toHaveLength(0);
  });

  it('refuses changedSince where the account has no modification time', async () => {
    const fields = customer.fields.map((one) =>
      one.name === 'lastmodifieddate' ? { ...one, syncable: false, reason: 'hidden' } : one,
    );
    const read = readPage({ recordType: { ...customer, fields }, changedSince: new Date() });
    await expectErpError(read, 'query', 'FIELD_NOT_SYNCABLE');
  });
});

describe('the values of a record', () => {
  const fields = ['entityid', 'isperson', 'currency', 'creditlimit', 'startdate', 'datecreated', 'email'];
  const good = {
    links: [],
    id: '12',
    LastModifiedDate: '2026-01-02T03:04:05Z',
    entityid: 'Ärger & Söhne ☃',
    isperson: 'F',
    currency: '1',
    df_currency: 'Euro',
    creditlimit: '12345678901234567.89',
    startdate: '2024-02-29',
    datecreated: '2024-02-29T23:59:59Z',
  };

  it('are exact text, T and F are true and false, absent ones are null, keys may be in any case', async () => {
    wire.answer = () => rowsResponse([good]);
    expect(await readPage({ fields })).toEqual({
      records: [
        {
          id: '12',
          modifiedAt: '2026-01-02T03:04:05Z',
          lines: null,
          labels: { currency: 'Euro' },
          values: {
            id: '12',
            lastmodifieddate: '2026-01-02T03:04:05Z',
            entityid: 'Ärger & Söhne ☃',
            isperson: 'false',
            currency: '1',
            creditlimit: '12345678901234567.89',
            startdate: '2024-02-29',
            datecreated: '2024-02-29T23:59:59Z',
            email: null,
          },
        },
      ],
      rejected: [],
      lastId: '12',
      hasMore: false,
    });
  });

  it.each([
    ['.5', '0.5'],
    ['-0.10', '-0.10'],
    ['1.0E-4', '0.00010'],
    ['1.5E3', '1500'],
    ['', null],
  ])('the number %j is %j', async (text, value) => {
    wire.answer = () => rowsResponse([{ ...good, creditlimit: text }]);
    expect((await readPage({ fields })).records[0]?.values['creditlimit']).toBe(value);
  });

  it.each([
    ['creditlimit', '1,000.00'],
    ['creditlimit', 'abc'],
    ['creditlimit', 12.5],
    ['creditlimit', '1e99999'],
    ['isperson', 'true'],
    ['isperson', true],
    ['startdate', '2/29/2024'],
    ['startdate', '2023-02-29'],
    ['datecreated', '2024-02-29'],
    ['datecreated', '2024-02-30T00:00:00Z'],
    ['datecreated', '2023-02-29T00:00:00Z'],
    ['datecreated', '2024-04-31T00:00:00Z'],
    ['datecreated', '2024-13-01T00:00:00Z'],
    ['datecreated', '2024-00-10T00:00:00Z'],
    ['datecreated', '2024-01-00T00:00:00Z'],
    ['datecreated', '2024-01-01T24:00:00Z'],
    ['datecreated', '2024-01-01T10:60:00Z'],
    ['lastmodifieddate', '1/2/2026'],
    ['entityid', 'a\0b'],
    ['entityid', '\ud800'],
    ['entityid', { id: 1 }],
    ['df_currency', 'a\0b'],
  ])('%s of %j rejects the record and keeps the others', async (name, value) => {
    wire.answer = () =>
      rowsResponse([
        { id: '11' },
        { ...good, LastModifiedDate: undefined, lastmodifieddate: good.LastModifiedDate, [name]: value },
        { id: '13' },
      ]);
    const page = await readPage({ fields });
    expect(page.records.map(({ id }) => id)).toEqual(['11', '13']);
    expect(page.rejected).toMatchObject([
      {
        id: '12',
        code: 'VALUE_UNREADABLE',
        message: expect.stringContaining(name.replace('df_', '')),
        values: { id: '12' },
      },
    ]);
    const readable = fields.filter((each) => each !== name);
    expect(Object.keys(page.rejected[0]?.values ?? {})).toEqual(expect.arrayContaining(readable));
    expect(page.rejected[0]?.values).not.toHaveProperty(name);
    expect(page.lastId).toBe('13');
  });

  it.each(['abc', '1.5', 12])('an id of %j rejects the record', async (id) => {
    wire.answer = () => rowsResponse([{ id: '11' }, { id }]);
    expect(await readPage({})).toMatchObject({
      records: [{ id: '11' }],
      rejected: [{ id: String(id), code: 'ID_NOT_INTEGER' }],
      lastId: '11',
    });
  });

  it('rejects a page without an id to continue from', async () => {
    wire.answer = () => rowsResponse([{ id: 'abc' }], true);
    await expectErpError(readPage({}), 'answer');
  });

  it('rejects rows that are out of order, repeat the cursor, have no id or were not requested', async () => {
    const cases: [object[], () => Promise<unknown>][] = [
      [[{ id: '2' }, { id: '1' }], () => readPage({})],
      [[{ id: '5' }], () => readPage({ afterId: '5' })],
      [[{ entityid: 'x' }], () => readPage({ fields })],
      [[{ id: '4' }], () => readByIds('3')],
    ];
    for (const [rows, read] of cases) {
      wire.answer = () => rowsResponse(rows);
      await expectErpError(read(), 'answer');
    }
  });

  it('orders ids as numbers, negative ones first', async () => {
    wire.answer = () =>
      rowsResponse([{ id: '-3' }, { id: '0' }, { id: '9' }, { id: '10' }, { id: '900719925474099267' }]);
    expect((await readPage({})).lastId).toBe('900719925474099267');
  });
});
