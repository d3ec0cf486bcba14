// Totals and changes of lines against the simulated account, compared with the lines that the account really
// has.
import { describe, expect, it } from 'vitest';
import type { LineReader } from '../../../src/connectors/connector.ts';
import { type Row, type Tables, useAccount } from './simulated-account.ts';
import { expectErpError, firstPage, signal } from './wire.ts';

const [first, last] = [10_000, 11_199];

function createTables(): Tables {
  const customer: Row[] = [[7, 'Smith', 'F', 'F', 1, '', '2010-12-01 08:26:00', '2011-02-10 14:38:00']];
  const item: Row[] = [
    [1000, '85123A', 'LANTERN', 'InvtPart', 'F', '2010-12-01 08:26:00', '2010-12-01 08:26:00'],
  ];
  const ids = Array.from({ length: last - first + 1 }, (_unused, index) => first + index);
  const header = (id: number, name: string, type: string, total: string): Row => [
    ...[id, name, type, '2011-01-15', 7, 1, 1, 'T', total],
    ...['2011-01-15 10:00:00', '2011-01-15 10:00:00'],
  ];
  const transaction = [
    ...ids.map((id) => header(id, `INV${id}`, 'CustInvc', '0.30')),
    header(20_000, 'CM1', 'CustCred', '-0.10'),
  ];
  let key = 0;
  const line = (
    transaction: number,
    id: number,
    amount: string,
    flags: readonly string[] = ['F', 'F'],
  ): Row => [
    ...[(key += 1), id, transaction, id, 1000, `line ${id}`, -1, '0.10', amount, ...flags],
    '2011-01-15 10:00:00',
  ];
  // Three lines of 0.10, one of them without a price, a header line and a tax line that are no lines of the
  // document; the last has none.
  const createLines = (id: number) => [
    line(id, 0, '0.30', ['T', 'F']),
    line(id, 1, '-0.10'),
    line(id, 2, '-0.2'),
    line(id, 3, ''),
    line(id, 4, '0.06', ['F', 'T']),
  ];
  const transactionline = [...ids.filter((id) => id !== last).flatMap(createLines), line(20_000, 1, '0.10')];
  return { customer, item, transaction, transactionline };
}

const company = useAccount({ tables: createTables(), timeZone: 'America/Los_Angeles' });

function lineReader(): LineReader {
  if (company.connector.lines === undefined) throw new Error('no reader of lines');
  return company.connector.lines;
}
const totals = (ids: readonly number[], recordType = company.getType('invoice')) =>
  lineReader().totals({ recordType, ids: ids.map(String), signal });
const thousand = Array.from({ length: 1000 }, (_unused, index) => first + index);
const expected = (id: number) => ({
  id: String(id),
  lines: 3,
  sums: { quantity: '-3', foreignamount: '-0.3' },
  modifiedAt: '2011-01-15T10:00:00Z',
});

describe('totals of lines in an account', () => {
  it('are exact, of a thousand records with one request, without header and tax lines', async () => {
    const before = await company.control('GET', '/state');
    expect(await totals(thousand)).toEqual(thousand.map(expected));
    const after = await company.control('GET', '/state');
    expect([after.requests['count'], after.requests['rows']]).toEqual([
      (before.requests['count'] ?? 0) + 1,
      before.requests['rows'],
    ]);
    expect(await totals([last, 99])).toEqual([]);
    expect(await totals([20_000], company.getType('creditMemo'))).toMatchObject([
      { id: '20000', lines: 1, sums: { foreignamount: '0.1' } },
    ]);
  });

  it('still have the lines that a fault leaves out of the rows, and lack those that it leaves out of counts', async () => {
    const read = () => company.readByIds(company.getType('invoice'), ['lines'], [String(first)]);
    await company.control('PUT', '/faults', [
      { on: { table: 'transactionline' }, dropRows: { where: { id: 2 } } },
    ]);
    expect((await read()).records[0]?.lines).toHaveLength(2);
    expect(await totals([first])).toEqual([expected(first)]);
    await company.control('PUT', '/faults', [{ on: { table: 'transactionline' }, hasMore: false }]);
    expect(await totals(thousand)).toHaveLength(1000);
    await company.control('PUT', '/faults', [
      { on: { table: 'transactionline', kind: 'count' }, dropRows: { where: { id: 2 } } },
    ]);
    expect((await read()).records[0]?.lines).toHaveLength(3);
    expect(await totals([first])).toMatchObject([
      { lines: 2, sums: { quantity: '-2', foreignamount: '-0.1' } },
    ]);
  });

  it('and lists of changed lines follow the time of the lines alone', async () => {
    const listChanged = (since: string, afterId: string | null = null, limit = 1000) =>
      lineReader().listChanged({
        ...firstPage,
        recordType: company.getType('invoice'),
        since: new Date(since),
        afterId,
        limit,
      });
    const lines = [{ line: 1, fields: { quantity: '-5' } }];
    await company.control('PATCH', `/records/transaction/${first + 5}`, { lines, touch: 'lines' });
    const [changed] = await totals([first + 5]);
    expect(changed).toMatchObject({ lines: 3, sums: { quantity: '-7' } });
    const at = changed?.modifiedAt ?? '';
    expect(Date.parse(at)).toBeGreaterThan(Date.parse('2011-01-15T10:00:00Z'));
    expect(await listChanged(at)).toEqual({ ids: [String(first + 5)], hasMore: false });
    expect(await listChanged(new Date(Date.parse(at) + 1000).toISOString())).toEqual({
      ids: [],
      hasMore: false,
    });
    const page = await listChanged('2011-01-15T10:00:00Z');
    expect([page.ids.length, page.ids[0], page.hasMore]).toEqual([1000, String(first), true]);
    const rest = await listChanged('2011-01-15T10:00:00Z', page.ids.at(-1) ?? null);
    expect([rest.ids.length, rest.ids.at(-1), rest.hasMore]).toEqual([
      last - first - 1000,
      String(last - 1),
      false,
    ]);
  });

  it('are refused where the role cannot see the lines', async () => {
    await company.control('PUT', '/hidden', { tables: ['transactionline'], columns: {}, rows: {} });
    await expectErpError(totals([first]), 'query', 'FIELD_NOT_SYNCABLE');
    const hidden = (await company.connector.metadata(signal)).find(({ name }) => name === 'invoice');
    expect(hidden?.linesModifiedField).toBeNull();
    expect(hidden?.shownAs).toEqual({
      number: 'tranid',
      name: 'entity',
      date: 'trandate',
      amount: 'foreigntotal',
    });
  });
});

it("the day of an account is that of the users' time zone", async () => {
  await company.control('POST', '/clock', { at: '2011-03-01T07:30:00Z' });
  expect(await company.connector.today(signal)).toBe('2011-02-28');
  expect((await company.connector.now(signal)).toISOString().slice(0, 10)).toBe('2011-03-01');
  await company.control('POST', '/clock', { timeZone: 'Asia/Tokyo' });
  expect(await company.connector.today(signal)).toBe('2011-03-01');
});
