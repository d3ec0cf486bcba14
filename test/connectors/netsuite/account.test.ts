// The connector against the simulated account: everything over real HTTP, with real logins and real SuiteQL.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type NetsuiteAccount, startNetsuiteAccount } from 'netsuite-simulator';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Connector, RecordPage, RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import { netsuite } from '../../../src/connectors/netsuite/connector.ts';
import type { SourceLine, SourceRecord } from '../../../src/connectors/source-records.ts';
import { createAccountLimits } from '../../../src/core/account-limits.ts';
import { createCertificate } from '../../../src/core/certificate.ts';
import { createGuardedFetch } from '../../../src/core/guarded-fetch.ts';
import { profile } from '../../setup/account-profile.ts';
import { saveTable } from './data-folder.ts';
import { realClock, settingsWith } from './wire.ts';

const database = `connector_account_${process.pid}`;
const signal = new AbortController().signal;
const invoices = 1_250;
const longInvoice = '10000';
const longInvoiceLines = 1_400;

let folder: string;
let account: NetsuiteAccount;
let clientId: string;
let types: ReadonlyMap<string, RecordTypeMetadata>;

const save = (name: Parameters<typeof saveTable>[1], rows: Parameters<typeof saveTable>[2]): Promise<void> =>
  saveTable(folder, name, rows);

/** Summer and winter days, so that the account's local time and UTC differ for some. */
const localTime = (index: number): string =>
  index % 2 === 0 ? '2011-07-01 00:30:00' : '2011-01-15 23:59:59';

async function writeData(): Promise<void> {
  await save('customer', [
    [-3, 'Ärger & Söhne', 'F', 'F', 1, 'Germany', '2010-12-01 08:26:00', '2011-07-01 00:30:00'],
    [7, '"Smith, Ltd"', 'T', 'F', 1, '', '2010-12-01 08:26:00', '2011-02-10 14:38:00'],
  ]);
  await save('item', [
    [1000, '85123A', 'LANTERN', 'InvtPart', 'F', '2010-12-01 08:26:00', '2010-12-01 08:26:00'],
  ]);
  const ids = Array.from({ length: invoices }, (_unused, index) => 10_000 + index);
  const invoiceRows = ids.map((id, index) => [
    id,
    `INV${id}`,
    'CustInvc',
    '2011-01-15',
    7,
    1,
    1,
    'T',
    '25.50',
    localTime(index),
    localTime(index),
  ]);
  const credit = [
    20_000,
    'CM1',
    'CustCred',
    '2011-03-01',
    -3,
    1,
    '1.25',
    'T',
    '-10.00',
    '2011-03-01 10:00:00',
    '2011-03-01 10:00:00',
  ];
  const journal = [
    20_001,
    'J1',
    'Journal',
    '2011-03-01',
    '',
    1,
    1,
    'T',
    '0.00',
    '2011-03-01 10:00:00',
    '2011-03-01 10:00:00',
  ];
  await save('transaction', [...invoiceRows, credit, journal]);
  let key = 0;
  const line = (transaction: number, id: number, sequence: number, more: readonly string[] = ['F', 'F']) => [
    (key += 1),
    id,
    transaction,
    sequence,
    more[0] === 'F' && more[1] === 'F' ? 1000 : '',
    `line ${id}`,
    -2,
    '12.75',
    '-25.50',
    ...more,
    '2011-01-15 10:00:00',
  ];
  const createLines = (id: number): (string | number)[][] => {
    const count = String(id) === longInvoice ? longInvoiceLines : 2;
    const items = Array.from({ length: count }, (_unused, index) => line(id, index + 1, count - index)); // line numbers run backwards
    return [line(id, 0, 0, ['T', 'F']), ...items, line(id, count + 1, count + 1, ['F', 'T'])];
  };
  await save('transactionline', ids.flatMap(createLines));
}

async function signUp(
  keyType: 'ec-p256' | 'rsa-3072',
): Promise<{ certificateId: string; privateKeyPem: string }> {
  const { certificatePem, privateKeyPem } = createCertificate({
    commonName: 'test',
    days: 30,
    keyType,
    now: new Date(),
  });
  return { ...(await account.uploadCertificate(clientId, certificatePem)), privateKeyPem };
}

/**
 * The timeout of requests that start while it is set; all others have as long as they need, however busy the
 * machine.
 */
let shortTimeoutMs: number | null = null;

function open(login: { certificateId: string; privateKeyPem: string }): Connector {
  const fetch = createGuardedFetch({ allowPrivateHosts: true });
  const ctx: Parameters<typeof netsuite.create>[0] = {
    fetch: (url, request) => fetch(url, { ...request, timeoutMs: shortTimeoutMs ?? request.timeoutMs }),
    clock: realClock,
    log: pino({ level: 'silent' }),
    settings: settingsWith({ requestTimeoutMs: 10_000 }),
    erpLimits: createAccountLimits(),
  };
  const authentication = { method: 'oauth2', clientId, certificateId: login.certificateId } as const;
  return netsuite.create(
    ctx,
    { accountId: account.accountId, baseUrl: account.url, authentication },
    { privateKeyPem: login.privateKeyPem },
  );
}

let login: { certificateId: string; privateKeyPem: string };
let connector: Connector;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'portal-connector-'));
  await writeData();
  account = await startNetsuiteAccount({
    admin: inject('pg'),
    database,
    dataFolder: folder,
    accountId: 'TSTDRV1234567',
    timeZone: 'America/Los_Angeles',
    ...(profile !== undefined && { profile }),
  });
  ({ clientId } = await account.createIntegration('test'));
  login = await signUp('ec-p256');
  connector = open(login);
  types = new Map((await connector.metadata(signal)).map((type) => [type.name, type]));
});

afterEach(async () => {
  for (const table of ['customer', 'item', 'transaction', 'transactionline']) account.setVisible(table, true);
});

afterAll(async () => {
  await account.stop();
  await rm(folder, { recursive: true, force: true });
  const admin = new Client({ ...inject('pg') });
  await admin.connect();
  await admin.query(`drop database if exists ${database} with (force)`);
  await admin.end();
});

function getType(name: string): RecordTypeMetadata {
  const type = types.get(name);
  if (type === undefined) throw new Error(`the account has no ${name}`);
  return type;
}

/** Without the shipping that a profile adds to some invoices. */
const filterItems = (lines: SourceRecord['lines']): readonly SourceLine[] =>
  (lines ?? []).filter((line) => line['itemtype'] !== 'ShipItem');

const syncable = (type: RecordTypeMetadata): string[] =>
  type.fields.filter((field) => field.syncable).map(({ name }) => name);

async function readAll(name: string, changedSince: Date | null = null): Promise<SourceRecord[]> {
  const recordType = getType(name);
  const records: SourceRecord[] = [];
  let page: RecordPage | null = null;
  do {
    page = await connector.readPage({
      recordType,
      fields: syncable(recordType),
      afterId: page?.lastId ?? null,
      changedSince,
      limit: 1000,
      signal,
    });
    expect(page.rejected).toEqual([]);
    records.push(...page.records);
  } while (page.hasMore);
  return records;
}

describe('a NetSuite account', () => {
  it('can be connected to with keys of both types', async () => {
    expect(await connector.test(signal)).toMatchObject({ ok: true, account: 'TSTDRV1234567', problems: [] });
    expect(await open(await signUp('rsa-3072')).test(signal)).toMatchObject({ ok: true, problems: [] });
  });

  it('returns its own time', async () => {
    expect(Math.abs((await connector.now(signal)).getTime() - account.businessTime().getTime())).toBeLessThan(
      61_000,
    );
  });

  it('describes its record types, including the columns that it lacks', async () => {
    expect([...types.keys()]).toEqual(
      expect.arrayContaining(['customer', 'item', 'invoice', 'creditMemo', 'salesOrder', 'customerPayment']),
    );
    const invoice = getType('invoice');
    const names = syncable(invoice);
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
    expect(
      records.every(
        ({ id, lines }) => filterItems(lines).length === (id === longInvoice ? longInvoiceLines : 2),
      ),
    ).toBe(true);
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
    const first = await connector.listIds({
      recordType: getType('invoice'),
      afterId: null,
      limit: 1000,
      signal,
    });
    const second = await connector.listIds({
      recordType: getType('invoice'),
      afterId: first.listed.at(-1)?.id ?? null,
      limit: 1000,
      signal,
    });
    expect([first.listed.length, first.hasMore, second.listed.length, second.hasMore]).toEqual([
      1000,
      true,
      invoices - 1000,
      false,
    ]);
  });

  it('reads by id, and leaves out ids that do not exist or are of another type', async () => {
    const page = await connector.readByIds({
      recordType: getType('invoice'),
      fields: ['tranid', 'lines'],
      ids: ['10002', '99999', '20000', '10001'],
      signal,
    });
    expect(page).toMatchObject({
      records: [{ id: '10001', values: { tranid: 'INV10001' } }, { id: '10002' }],
      rejected: [],
      hasMore: false,
    });
  });

  it('finds what was changed at or after an instant, in any time zone of the user', async () => {
    expect(await readAll('customer', new Date('2011-06-30T23:30:00Z'))).toMatchObject([{ id: '-3' }]);
    expect(await readAll('customer', new Date('2011-06-30T23:30:01Z'))).toEqual([]);
    expect(await readAll('customer', new Date('2011-02-10T14:38:00Z'))).toHaveLength(2);
    expect(await readAll('invoice', new Date('2011-01-15T23:59:59Z'))).toHaveLength(invoices);
    expect(await readAll('invoice', new Date('2011-01-16T00:00:00Z'))).toHaveLength(invoices / 2);
  });
});

describe('a NetSuite account that changes', () => {
  it('logs in once more when tokens were revoked', async () => {
    account.revokeTokens();
    expect(await connector.count(getType('customer'), signal)).toBe(2);
  });

  it('reports a revoked certificate as a credential failure, in the connection test too', async () => {
    const other = await signUp('ec-p256');
    await account.revokeCertificate(other.certificateId);
    await expect(open(other).count(getType('customer'), signal)).rejects.toMatchObject({
      kind: 'credentials',
      code: 'CERTIFICATE_UNKNOWN',
    });
    expect(await open(other).test(signal)).toMatchObject({
      ok: false,
      problems: [{ code: 'CERTIFICATE_UNKNOWN' }],
    });
    expect(await open({ ...login, certificateId: 'unknown' }).test(signal)).toMatchObject({
      ok: false,
      problems: [{ code: 'CERTIFICATE_UNKNOWN' }],
    });
  });

  it('reports a hidden table as forbidden, not empty', async () => {
    account.setVisible('customer', false);
    const recordType = getType('customer');
    await expect(connector.count(recordType, signal)).rejects.toMatchObject({
      kind: 'forbidden',
      code: 'RECORD_TYPE_HIDDEN',
    });
    await expect(connector.listIds({ recordType, afterId: null, limit: 10, signal })).rejects.toMatchObject({
      kind: 'forbidden',
    });
    const fresh = await connector.metadata(signal);
    expect(fresh.find(({ name }) => name === 'customer')?.fields.some((field) => field.syncable)).toBe(false);
    expect(fresh.find(({ name }) => name === 'item')?.fields.some((field) => field.syncable)).toBe(true);
  });

  it('fails when lines are hidden instead of returning invoices without lines', async () => {
    account.setVisible('transactionline', false);
    const read = connector.readPage({
      recordType: getType('invoice'),
      fields: ['lines'],
      afterId: null,
      changedSince: null,
      limit: 10,
      signal,
    });
    await expect(read).rejects.toMatchObject({ kind: 'query', code: 'FIELD_NOT_SYNCABLE' });
  });

  it('names a column that was hidden later, and marks it in the metadata', async () => {
    account.setColumnVisible('customer', 'defaultcountry', false);
    try {
      const recordType = getType('customer');
      const read = connector.readPage({
        recordType,
        fields: syncable(recordType),
        afterId: null,
        changedSince: null,
        limit: 10,
        signal,
      });
      await expect(read).rejects.toMatchObject({
        kind: 'query',
        code: 'COLUMN_UNKNOWN',
        message: expect.stringContaining('defaultcountry'),
      });
      const fresh = (await connector.metadata(signal)).find(({ name }) => name === 'customer');
      expect(fresh?.fields.find(({ name }) => name === 'defaultcountry')).toMatchObject({ syncable: false });
    } finally {
      account.setColumnVisible('customer', 'defaultcountry', true);
    }
  });

  it.each([
    ['a cut answer', { status: 200, body: '{"items":[{"id":"1"}', cut: true }, 'down'],
    ['a cut connection', { status: 200, cut: true }, 'down'],
    ['maintenance in HTML', { status: 503, body: '<html>Maintenance</html>' }, 'down'],
    ['too many requests', { status: 429, headers: { 'retry-after': '3' } }, 'throttled'],
    ['an answer that comes too late', { status: 200, delayMs: 1_000, body: {} }, 'down'],
    ['HTML with a good status', { status: 200, body: '<html>Hello</html>' }, 'answer'],
  ])('classifies %s, and the next request succeeds', async (_name, fault, kind) => {
    account.injectFault({ path: /suiteql/, times: 1, ...fault });
    shortTimeoutMs = 'delayMs' in fault ? fault.delayMs / 2 : null;
    await expect(connector.count(getType('customer'), signal)).rejects.toMatchObject({ kind });
    shortTimeoutMs = null;
    account.clearFaults(); // in case the request was aborted before it got there
    expect(await connector.count(getType('customer'), signal)).toBe(2);
  });
});
