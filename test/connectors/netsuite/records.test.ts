import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PageRequest } from '../../../src/connectors/connector.ts';
import { metadataOf, openAt, rowsAnswer, startWire, type Wire } from './wire.ts';

let wire: Wire;
const signal = new AbortController().signal;
const invoice = metadataOf('invoice');
const customer = metadataOf('customer');

beforeEach(async () => {
  wire = await startWire();
});
afterEach(() => wire.stop());

const readPage = (request: Partial<PageRequest>) =>
  openAt(wire.url).readPage({ recordType: customer, fields: [], afterId: null, changedSince: null, limit: 1000, signal, ...request });

describe('the query of a page', () => {
  it('names columns, formats times and dates, and brings labels', async () => {
    await readPage({ recordType: invoice, fields: ['trandate', 'entity', 'status', 'foreigntotal'] });
    expect(wire.seen[0]?.query).toBe(
      'SELECT t.id AS id, TO_CHAR(SYS_EXTRACT_UTC(t.lastmodifieddate), \'YYYY-MM-DD"T"HH24:MI:SS"Z"\') AS lastmodifieddate, ' +
        "TO_CHAR(t.trandate, 'YYYY-MM-DD') AS trandate, t.entity AS entity, BUILTIN.DF(t.entity) AS df_entity, " +
        "t.status AS status, BUILTIN.DF(t.status) AS df_status, t.foreigntotal AS foreigntotal FROM transaction t WHERE t.type = 'CustInvc' ORDER BY t.id ASC",
    );
  });

  it('goes on behind the last id, and looks for changes in UTC with a prefilter a day earlier', async () => {
    await readPage({ afterId: '-7', changedSince: new Date('2026-03-01T00:30:15.999Z'), limit: 5000 });
    expect(wire.seen[0]?.path).toContain('limit=1000&offset=0');
    expect(wire.seen[0]?.query).toContain(
      "WHERE t.lastmodifieddate >= TO_DATE('2026-02-28 00:30:15', 'YYYY-MM-DD HH24:MI:SS') AND " +
        "SYS_EXTRACT_UTC(t.lastmodifieddate) >= TO_TIMESTAMP('2026-03-01 00:30:15', 'YYYY-MM-DD HH24:MI:SS') AND t.id > -7 ORDER BY t.id ASC",
    );
  });

  it('asks for ids by a list, once each', async () => {
    wire.answer = () => rowsAnswer([{ id: '3' }]);
    const page = await openAt(wire.url).readByIds({ recordType: customer, fields: [], ids: ['3', '5', '3'], signal });
    expect(wire.seen[0]?.query).toContain('WHERE t.id IN (3, 5) ORDER BY');
    expect(page).toMatchObject({ records: [{ id: '3' }], hasMore: false });
  });

  it('asks nothing for no ids', async () => {
    const page = await openAt(wire.url).readByIds({ recordType: customer, fields: [], ids: [], signal });
    expect(page).toEqual({ records: [], rejected: [], lastId: null, hasMore: false });
    expect(wire.seen).toHaveLength(0);
  });

  it.each([['1; DROP TABLE x'], ['1 OR 1=1'], [''], ['1.0'], ['007'], ["'1'"]])('refuses the id %j', async (id) => {
    await expect(readPage({ afterId: id })).rejects.toMatchObject({ kind: 'query' });
    await expect(openAt(wire.url).readByIds({ recordType: customer, fields: [], ids: [id], signal })).rejects.toMatchObject({
      kind: 'query',
    });
    expect(wire.seen).toHaveLength(0);
  });

  it('refuses fields that are unknown, not syncable, or no column name', async () => {
    await expect(readPage({ fields: ['nonsense'] })).rejects.toMatchObject({ kind: 'query', code: 'FIELD_NOT_SYNCABLE' });
    await expect(readPage({ recordType: invoice, fields: ['daysopen'] })).rejects.toMatchObject({ code: 'FIELD_NOT_SYNCABLE' });
    const field = {
      name: 'x) FROM dual --',
      label: '',
      type: 'text',
      custom: true,
      syncable: true,
      volatile: false,
      reason: null,
    } as const;
    const recordType = { ...customer, fields: [...customer.fields, field] };
    await expect(readPage({ recordType, fields: [field.name] })).rejects.toMatchObject({ code: 'FIELD_NOT_SYNCABLE' });
    await expect(readPage({ recordType: { ...customer, name: 'vendor' } })).rejects.toMatchObject({ code: 'FIELD_NOT_SYNCABLE' });
    expect(wire.seen).toHaveLength(0);
  });

  it('cannot ask for changes where the account does not show when a record was changed', async () => {
    const fields = customer.fields.map((field) =>
      field.name === 'lastmodifieddate' ? { ...field, syncable: false, reason: 'hidden' } : field,
    );
    await expect(readPage({ recordType: { ...customer, fields }, changedSince: new Date() })).rejects.toMatchObject({
      code: 'FIELD_NOT_SYNCABLE',
    });
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

  it('come as exact text, T and F as true and false, absent ones as null, keys in any case', async () => {
    wire.answer = () => rowsAnswer([good]);
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
    wire.answer = () => rowsAnswer([{ ...good, creditlimit: text }]);
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
    ['lastmodifieddate', '1/2/2026'],
    ['entityid', 'a\0b'],
    ['entityid', '\ud800'],
    ['entityid', { id: 1 }],
    ['df_currency', 'a\0b'],
  ])('%s of %j rejects the record and keeps the others', async (name, value) => {
    wire.answer = () =>
      rowsAnswer([
        { id: '11' },
        { ...good, LastModifiedDate: undefined, lastmodifieddate: good.LastModifiedDate, [name]: value },
        { id: '13' },
      ]);
    const page = await readPage({ fields });
    expect(page.records.map(({ id }) => id)).toEqual(['11', '13']);
    expect(page.rejected).toMatchObject([
      { id: '12', code: 'VALUE_UNREADABLE', message: expect.stringContaining(name.replace('df_', '')) },
    ]);
    expect(page.lastId).toBe('13');
  });

  it.each(['abc', '1.5', 12])('an id of %j rejects the record', async (id) => {
    wire.answer = () => rowsAnswer([{ id: '11' }, { id }]);
    expect(await readPage({})).toMatchObject({
      records: [{ id: '11' }],
      rejected: [{ id: String(id), code: 'ID_NOT_INTEGER' }],
      lastId: '11',
    });
  });

  it('a page without any id to go on from is an error', async () => {
    wire.answer = () => rowsAnswer([{ id: 'abc' }], true);
    await expect(readPage({})).rejects.toMatchObject({ kind: 'answer' });
  });

  it('rows that break the order, repeat the cursor, lack an id or were not asked for are errors', async () => {
    wire.answer = () => rowsAnswer([{ id: '2' }, { id: '1' }]);
    await expect(readPage({})).rejects.toMatchObject({ kind: 'answer' });
    wire.answer = () => rowsAnswer([{ id: '5' }]);
    await expect(readPage({ afterId: '5' })).rejects.toMatchObject({ kind: 'answer' });
    wire.answer = () => rowsAnswer([{ entityid: 'x' }]);
    await expect(readPage({ fields })).rejects.toMatchObject({ kind: 'answer' });
    wire.answer = () => rowsAnswer([{ id: '4' }]);
    await expect(openAt(wire.url).readByIds({ recordType: customer, fields: [], ids: ['3'], signal })).rejects.toMatchObject({
      kind: 'answer',
    });
  });

  it('orders ids as numbers, negative ones first', async () => {
    wire.answer = () => rowsAnswer([{ id: '-3' }, { id: '0' }, { id: '9' }, { id: '10' }, { id: '900719925474099267' }]);
    expect((await readPage({})).lastId).toBe('900719925474099267');
  });
});

describe('the lines of a document', () => {
  const at = '2026-01-02T03:04:05Z';
  const header = (id: string, modified = at) => ({ id, lastmodifieddate: modified });
  const line = (parent: string, id: string, more: object = {}) => ({ parent_id: parent, id, parent_modified: at, ...more });
  const isLines = (query: string): boolean => query.includes('FROM transactionline');
  const read = (fields = ['lines']) => readPage({ recordType: invoice, fields });

  it('are read for exactly the ids of the page, in line order, with labels beside references', async () => {
    wire.answer = ({ query }) =>
      isLines(query)
        ? rowsAnswer([
            line('1', '1', { linesequencenumber: '2', item: '7', df_item: 'Widget' }),
            line('1', '2', { linesequencenumber: '1', quantity: '-2', netamount: '-10.50' }),
          ])
        : rowsAnswer([header('1'), header('2')]);
    const page = await read();
    expect(page.records.map(({ id, lines }) => [id, lines?.length])).toEqual([
      ['1', 2],
      ['2', 0],
    ]);
    expect(page.records[0]?.lines?.[0]).toMatchObject({
      id: '2',
      linesequencenumber: '1',
      item: null,
      'item.name': null,
      quantity: '-2',
      netamount: '-10.50',
    });
    expect(page.records[0]?.lines?.[1]).toMatchObject({ id: '1', linesequencenumber: '2', item: '7', 'item.name': 'Widget' });
    expect(Object.keys(page.records[0]?.lines?.[0] ?? {}).slice(0, 6)).toEqual([
      'id',
      'linesequencenumber',
      'uniquekey',
      'item',
      'item.name',
      'itemtype',
    ]);
    const query = wire.seen.find((seen) => isLines(seen.query))?.query;
    expect(query).toContain(
      "FROM transactionline l INNER JOIN transaction t ON t.id = l.transaction WHERE l.transaction IN (1, 2) AND COALESCE(l.mainline, 'F') = 'F'",
    );
    expect(query).toContain('ORDER BY l.transaction ASC, l.id ASC');
  });

  it('are not asked for when the page is empty or lines are not wanted', async () => {
    wire.answer = () => rowsAnswer([]);
    expect((await read()).records).toEqual([]);
    wire.answer = () => rowsAnswer([header('1')]);
    expect((await read(['tranid'])).records[0]?.lines).toBeNull();
    expect(wire.seen.some(({ query }) => isLines(query))).toBe(false);
  });

  it('go on behind the last line, over as many answers as it takes', async () => {
    const all = ['1', '2', '3'].flatMap((parent) =>
      Array.from({ length: 900 }, (_unused, index) => line(parent, String(index + 1), { linesequencenumber: String(index + 1) })),
    );
    wire.answer = ({ query }) => {
      if (!isLines(query)) return rowsAnswer([header('1'), header('2'), header('3')]);
      const [, parent = '-1', id = '-1'] = /l\.transaction = (\d+) AND l\.id > (\d+)/.exec(query) ?? [];
      const rest = all.filter((row) => Number(row.parent_id) > Number(parent) || (row.parent_id === parent && Number(row.id) > Number(id)));
      return rowsAnswer(rest.slice(0, 1000), rest.length > 1000);
    };
    const page = await read();
    expect(page.records.map(({ lines }) => lines?.length)).toEqual([900, 900, 900]);
    expect(page.records.every(({ lines }) => lines?.every((each, index) => each['id'] === String(index + 1)))).toBe(true);
    expect(wire.seen.filter(({ query }) => isLines(query)).map(({ query }) => /IN \(([^)]*)\)/.exec(query)?.[1])).toEqual([
      '1, 2, 3',
      '2, 3',
      '3',
    ]);
  });

  it('are complete for documents without lines and with thousands, wherever an answer ends', async () => {
    const counts = [0, 2_500, 1, 0, 999, 1_000, 1_001, 0, 3, ...Array.from({ length: 300 }, (_unused, index) => (index * 7) % 40)];
    const all = counts.flatMap((count, parent) =>
      Array.from({ length: count }, (_unused, index) => line(String(parent), String(index + 1))),
    );
    wire.answer = ({ query }) => {
      if (!isLines(query)) return rowsAnswer(counts.map((_count, id) => header(String(id))));
      const asked = new Set(/l\.transaction IN \(([^)]*)\)/.exec(query)?.[1]?.split(', '));
      const [, parent = '-1', id = '-1'] = /l\.transaction = (\d+) AND l\.id > (\d+)/.exec(query) ?? [];
      const rest = all.filter(
        (row) =>
          asked.has(row.parent_id) && (Number(row.parent_id) > Number(parent) || (row.parent_id === parent && Number(row.id) > Number(id))),
      );
      return rowsAnswer(rest.slice(0, 1000), rest.length > 1000);
    };
    const page = await read();
    expect(page.records.map(({ lines }) => lines?.length)).toEqual(counts);
    expect(wire.seen.length).toBeLessThan(40);
  });

  it.each([
    ['not asked for', [line('9', '1')]],
    ['out of order', [line('1', '2'), line('1', '1')]],
    ['twice', [line('1', '1'), line('1', '1')]],
    ['of a record before', [line('2', '1'), line('1', '1')]],
    ['without an id', [{ parent_id: '1' }]],
    ['without a record', [{ id: '1' }]],
  ])('a line %s is an error', async (_name, lines) => {
    wire.answer = ({ query }) => (isLines(query) ? rowsAnswer(lines) : rowsAnswer([header('1'), header('2')]));
    await expect(read()).rejects.toMatchObject({ kind: 'answer', code: 'ANSWER_INCONSISTENT' });
  });

  it('one that can not be read rejects its document and no other', async () => {
    wire.answer = ({ query }) =>
      isLines(query) ? rowsAnswer([line('1', '4', { quantity: 'two' }), line('2', '1')]) : rowsAnswer([header('1'), header('2')]);
    const page = await read();
    expect(page.records.map(({ id }) => id)).toEqual(['2']);
    expect(page.rejected).toEqual([{ id: '1', code: 'LINE_UNREADABLE', message: 'line 4: quantity is not a number' }]);
  });

  it('an error on their second page fails the whole page', async () => {
    wire.answer = ({ query }, response) => {
      if (!isLines(query)) return rowsAnswer([header('1')]);
      if (!query.includes('l.id >')) return rowsAnswer([line('1', '1')], true);
      return response.writeHead(503).end() && undefined;
    };
    await expect(read()).rejects.toMatchObject({ kind: 'down' });
  });

  it('a document that was edited between header and lines is read again, both', async () => {
    const later = '2026-01-02T03:04:06Z';
    wire.answer = ({ query }) => {
      if (isLines(query))
        return rowsAnswer([
          line('1', '1', { parent_modified: later, quantity: '5' }),
          ...(query.includes('IN (1, 2)') ? [line('2', '1')] : []),
        ]);
      return query.includes('t.id IN (1)')
        ? rowsAnswer([{ ...header('1', later), foreigntotal: '50' }])
        : rowsAnswer([{ ...header('1'), foreigntotal: '40' }, header('2')]);
    };
    const page = await read(['foreigntotal', 'lines']);
    expect(page.records).toMatchObject([
      { id: '1', modifiedAt: later, values: { foreigntotal: '50' }, lines: [{ quantity: '5' }] },
      { id: '2' },
    ]);
    expect(page.rejected).toEqual([]);
  });

  it('a document that never stands still is rejected, not torn', async () => {
    let edits = 0;
    wire.answer = ({ query }) =>
      isLines(query)
        ? rowsAnswer([line('1', '1', { parent_modified: `2026-01-02T03:05:${String((edits += 1)).padStart(2, '0')}Z` })])
        : rowsAnswer([header('1', `2026-01-02T03:06:${String(edits).padStart(2, '0')}Z`)]);
    const page = await read();
    expect(page).toMatchObject({ records: [], rejected: [{ id: '1', code: 'CHANGED_WHILE_READ' }], lastId: '1' });
    expect(edits).toBe(4);
  });

  it('a document that was deleted between header and lines is left to the next scan', async () => {
    wire.answer = ({ query }) =>
      isLines(query)
        ? rowsAnswer([line('1', '1', { parent_modified: '2026-02-01T00:00:00Z' })])
        : query.includes('t.id IN')
          ? rowsAnswer([])
          : rowsAnswer([header('1')]);
    expect(await read()).toEqual({ records: [], rejected: [], lastId: '1', hasMore: false });
  });
});
