// The connector against the simulated account: everything over real HTTP, with real logins and real SuiteQL.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Connector, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import type { SourceLine, SourceRecord } from '../../../src/connectors/source-records.ts';
import { profile } from '../../setup/account-profile.ts';
import { listSyncable, type Row, type Tables, useAccount } from './simulated-account.ts';
import { expectErpError, firstPage, signal } from './wire.ts';

const invoices = 1_250;
const longInvoice = '10000';
const longInvoiceLines = 1_400;

let connector: Connector;

/** Summer and winter days, so that the account's local time and UTC differ for some. */
const localTime = (index: number): string =>
  index % 2 === 0 ? '2011-07-01 00:30:00' : '2011-01-15 23:59:59';

function createTables(): Tables {
  const customer: Row[] = [
    [-3, 'Ärger & Söhne', 'F', 'F', 1, 'Germany', '2010-12-01 08:26:00', '2011-07-01 00:30:00'],
    [7, '"Smith, Ltd"', 'T', 'F', 1, '', '2010-12-01 08:26:00', '2011-02-10 14:38:00'],
  ];
  const item: Row[] = [
    [1000, '85123A', 'LANTERN', 'InvtPart', 'F', '2010-12-01 08:26:00', '2010-12-01 08:26:00'],
  ];
  const ids = Array.from({ length: invoices }, (_unused, index) => 10_000 + index);
  const header = (id: number, name: string, type: string, day: string, more: Row, at: string): Row => [
    ...[id, name, type, day, ...more, at, at],
  ];
  const invoiceRows = ids.map((id, index) =>
    header(id, `INV${id}`, 'CustInvc', '2011-01-15', [7, 1, 1, 'T', '25.50'], localTime(index)),
  );
  const march = ['2011-03-01', '2011-03-01 10:00:00'] as const;
  const transaction = [
    ...invoiceRows,
    header(20_000, 'CM1', 'CustCred', march[0], [-3, 1, '1.25', 'T', '-10.00'], march[1]),
    header(20_001, 'J1', 'Journal', march[0], ['', 1, 1, 'T', '0.00'], march[1]),
  ];
  let key = 0;
  const line = (
    transaction: number,
    id: number,
    sequence: number,
    more: readonly string[] = ['F', 'F'],
  ): Row => {
    const item = more[0] === 'F' && more[1] === 'F' ? 1000 : '';
    const amounts = [-2, '12.75', '-25.50'];
    const head = [(key += 1), id, transaction, sequence, item, `line ${id}`];
    return [...head, ...amounts, ...more, '2011-01-15 10:00:00'];
  };
  const createLines = (id: number): Row[] => {
    const count = String(id) === longInvoice ? longInvoiceLines : 2;
    const items = Array.from({ length: count }, (_unused, index) => line(id, index + 1, count - index)); // line numbers run backwards
    return [line(id, 0, 0, ['T', 'F']), ...items, line(id, count + 1, count + 1, ['F', 'T'])];
  };
  return { customer, item, transaction, transactionline: ids.flatMap(createLines) };
}

const company = useAccount({ tables: createTables(), timeZone: 'America/Los_Angeles' });
beforeAll(() => {
  ({ connector } = company);
});

const getType = (name: string): RecordTypeMetadata => company.getType(name);

/** Without the shipping that a profile adds to some invoices. */
const filterItems = (lines: SourceRecord['lines']): readonly SourceLine[] =>
  (lines ?? []).filter((line) => line['itemtype'] !== 'ShipItem');

async function readAll(name: string): Promise<readonly SourceRecord[]> {
  const { records, rejected } = await company.readAll(getType(name));
  expect(rejected).toEqual([]);
  return records;
}

describe('a NetSuite account', () => {
  it('can be connected to with keys of both types', async () => {
    expect(await connector.test(signal)).toMatchObject({ ok: true, account: 'TSTDRV1234567', problems: [] });
    expect(await company.openConnector(await company.signUp('rsa-3072')).test(signal)).toMatchObject({
      ok: true,
      problems: [],
    });
  });

  it('returns its own time', async () => {
    const aheadMs = (await connector.now(signal)).getTime() - company.account.businessTime().getTime();
    expect(Math.abs(aheadMs)).toBeLessThan(61_000);
  });

  it('describes its record types, including the columns that it lacks', async () => {
    expect((await connector.metadata(signal)).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['customer', 'item', 'invoice', 'creditMemo', 'salesOrder', 'customerPayment']),
    );
    const invoice = getType('invoice');
    const names = listSyncable(invoice);
    expect(names).toEqual(
      expect.arrayContaining([
        'id',
        'tranid',
        'entity',
        'foreignamountunpaid',
        'status',
        'lines',
        'lastmodifieddate',
      ]),
    );
    expect(invoice.fields.find(({ name }) => name === 'subsidiary')).toMatchObject(
      profile === 'oneworld'
        ? { syncable: true }
        : { syncable: false, reason: expect.stringContaining("Unknown identifier 'subsidiary'") },
    );
  });

  it('returns every customer, the negative id first, with exact values and labels', async () => {
    const customers = await readAll('customer');
    expect(customers.map(({ id }) => id)).toEqual(['-3', '7']);
    expect(customers[0]).toMatchObject({
      modifiedAt: '2011-06-30T23:30:00Z',
      lines: null,
      labels: { currency: profile === 'oneworld' ? 'Euro' : 'GBP' },
      values: {
        entityid: 'Ärger & Söhne',
        isperson: 'false',
        currency: profile === 'oneworld' ? '3' : '1',
        email: profile === undefined ? null : 'orders-3@customer.example',
        datecreated: '2010-12-01T08:26:00Z',
      },
    });
    expect(customers[1]?.values).toMatchObject({
      entityid: 'Smith, Ltd',
      isperson: 'true',
      balancesearch: expect.stringMatching(/^\d+(\.\d+)?$/),
    });
  });

  it('returns every invoice once over several pages, with all lines in line order', async () => {
    const records = await readAll('invoice');
    expect(records).toHaveLength(invoices);
    expect(records.map(({ id }) => Number(id))).toEqual(
      records.map(({ id }) => Number(id)).toSorted((a, b) => a - b),
    );
    for (const { id, lines } of records)
      expect([id, filterItems(lines).length]).toEqual([id, id === longInvoice ? longInvoiceLines : 2]);
    const long = filterItems(records.find(({ id }) => id === longInvoice)?.lines ?? null);
    expect(long.map((line) => Number(line['linesequencenumber']))).toEqual(
      Array.from({ length: longInvoiceLines }, (_unused, index) => index + 1),
    );
    expect(long[0]).toMatchObject({
      id: String(longInvoiceLines),
      item: '1000',
      'item.name': '85123A',
      quantity: '-2',
      rate: '12.75',
      netamount: expect.stringMatching(/^-25\.50?$/),
    });
    const [first] = records;
    expect(first?.values).toMatchObject({
      trandate: '2011-01-15',
      duedate: '2011-02-14',
      posting: 'true',
      entity: '7',
    });
    expect(first?.labels).toMatchObject({
      entity: 'Smith, Ltd',
      currency: profile === 'oneworld' ? 'US Dollar' : 'GBP',
      status: expect.stringContaining('Invoice'),
    });
    expect(await connector.count(getType('invoice'), signal)).toBe(invoices);
    const [afterId = '', , upTo = ''] = records.map(({ id }) => id);
    expect(await connector.count(getType('invoice'), signal, { afterId, upTo })).toBe(2);
    expect(await connector.count(getType('invoice'), signal, { afterId, upTo: null })).toBe(invoices - 1);
    const since = new Date('2000-01-01T00:00:00Z');
    const inRange = { recordType: getType('invoice'), since, signal, range: { afterId, upTo } };
    expect((await connector.countChanged?.(inRange))?.records).toBe(2);
  });

  it('keeps the transaction types apart', async () => {
    const credits = await readAll('creditMemo');
    expect(credits).toMatchObject([
      {
        id: '20000',
        values: { tranid: 'CM1', exchangerate: profile === 'oneworld' ? '1' : '1.25' },
        lines: [],
      },
    ]);
    expect(await connector.count(getType('creditMemo'), signal)).toBe(1);
  });

  it('lists ids without records', async () => {
    const invoice = { ...firstPage, recordType: getType('invoice') };
    const first = await connector.listIds(invoice);
    const second = await connector.listIds({ ...invoice, afterId: first.listed.at(-1)?.id ?? null });
    expect([first, second].map(({ listed, hasMore }) => [listed.length, hasMore])).toEqual([
      [1000, true],
      [invoices - 1000, false],
    ]);
  });

  it('reads by id, and leaves out ids that do not exist or are of another type', async () => {
    const ids = ['10002', '99999', '20000', '10001'];
    const page = await company.readByIds(getType('invoice'), ['tranid', 'lines'], ids);
    expect(page).toMatchObject({
      records: [{ id: '10001', values: { tranid: 'INV10001' } }, { id: '10002' }],
      rejected: [],
      hasMore: false,
    });
  });
});

describe('a NetSuite account that changes', () => {
  it('logs in once more when tokens were revoked', async () => {
    company.account.revokeTokens();
    expect(await connector.count(getType('customer'), signal)).toBe(2);
  });

  it('reports a revoked certificate as a credential failure, in the connection test too', async () => {
    const other = await company.signUp('ec-p256');
    await company.account.revokeCertificate(other.certificateId);
    const count = company.openConnector(other).count(getType('customer'), signal);
    await expectErpError(count, 'credentials', 'CERTIFICATE_UNKNOWN');
    for (const login of [other, { ...company.login, certificateId: 'unknown' }])
      expect(await company.openConnector(login).test(signal)).toMatchObject({
        ok: false,
        problems: [{ code: 'CERTIFICATE_UNKNOWN' }],
      });
  });

  it('reports a hidden table as forbidden, not empty', async () => {
    await company.control('PUT', '/hidden', { tables: ['customer'] });
    const recordType = getType('customer');
    await expectErpError(connector.count(recordType, signal), 'forbidden', 'RECORD_TYPE_HIDDEN');
    await expectErpError(connector.listIds({ ...firstPage, recordType, limit: 10 }), 'forbidden');
    const fresh = await connector.metadata(signal);
    expect(fresh.find(({ name }) => name === 'customer')?.fields.some((field) => field.syncable)).toBe(false);
    expect(fresh.find(({ name }) => name === 'item')?.fields.some((field) => field.syncable)).toBe(true);
  });

  it('fails when lines are hidden instead of returning invoices without lines', async () => {
    await company.control('PUT', '/hidden', { tables: ['transactionline'] });
    const request = { ...firstPage, recordType: getType('invoice'), fields: ['lines'], limit: 10 };
    await expectErpError(connector.readPage(request), 'query', 'FIELD_NOT_SYNCABLE');
  });

  it('names a column that was hidden later, and marks it in the metadata', async () => {
    await company.control('PUT', '/hidden', { columns: { customer: ['defaultcountry'] } });
    const recordType = getType('customer');
    const fields = listSyncable(recordType);
    await expectErpError(
      connector.readPage({ ...firstPage, recordType, fields }),
      'query',
      'COLUMN_UNKNOWN',
      {
        message: expect.stringContaining('defaultcountry'),
      },
    );
    const fresh = (await connector.metadata(signal)).find(({ name }) => name === 'customer');
    expect(fresh?.fields.find(({ name }) => name === 'defaultcountry')).toMatchObject({ syncable: false });
  });
});
