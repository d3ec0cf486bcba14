// Changes, volatile fields and deletions, read from simulated accounts whose users are in distant time zones.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type NetsuiteAccount, startNetsuiteAccount } from 'netsuite-simulator';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Connector, type RecordTypeMetadata, scannedFields } from '../../../src/connectors/connector.ts';
import { signAssertion } from '../../../src/connectors/netsuite/auth.ts';
import { netsuite } from '../../../src/connectors/netsuite/connector.ts';
import { createAccountLimits } from '../../../src/core/account-limits.ts';
import { createCertificate } from '../../../src/core/certificate.ts';
import { createGuardedFetch } from '../../../src/core/guarded-fetch.ts';
import { profile } from '../../setup/account-profile.ts';
import { saveTable } from './data-folder.ts';
import { realClock, settingsWith } from './wire.ts';

const signal = new AbortController().signal;
const invoices = 320;
let dataFolder: string;

async function writeData(): Promise<void> {
  const created = '2026-01-05 10:00:00';
  const customers = Array.from({ length: 70 }, (_unused, index) => index + 1);
  await saveTable(
    dataFolder,
    'customer',
    customers.map((id) => [id, `CUST${id}`, 'F', 'F', 1, '', created, created]),
  );
  await saveTable(dataFolder, 'item', [[500, 'LANTERN', 'Lantern', 'InvtPart', 'F', created, created]]);
  const ids = Array.from({ length: invoices }, (_unused, index) => 1000 + index);
  await saveTable(
    dataFolder,
    'transaction',
    ids.map((id) => [
      id,
      `INV${id}`,
      'CustInvc',
      '2026-01-05',
      (id % 70) + 1,
      1,
      1,
      'T',
      '25.50',
      created,
      created,
    ]),
  );
  await saveTable(
    dataFolder,
    'transactionline',
    ids.map((id) => [id, 1, id, 1, 500, '', -2, '12.75', '-25.50', 'F', 'F', created]),
  );
}

type Site = {
  account: NetsuiteAccount;
  connector: Connector;
  types: ReadonlyMap<string, RecordTypeMetadata>;
  books: Client;
  /** A user's change in the ERP, through its record service; resolves to the id of a created record. */
  write(method: 'POST' | 'PATCH' | 'DELETE', record: string, body?: object): Promise<string>;
  close(): Promise<void>;
};

async function startSite(timeZone: string, dateFormat: string): Promise<Site> {
  const database = `incremental_${process.pid}_${timeZone.replaceAll(/\W/g, '_').toLowerCase()}`;
  const account = await startNetsuiteAccount({
    admin: inject('pg'),
    database,
    dataFolder,
    accountId: 'TSTDRV1234567',
    timeZone,
    dateFormat,
    ...(profile !== undefined && { profile }),
  });
  const { clientId } = await account.createIntegration('test');
  const { certificatePem, privateKeyPem } = createCertificate({
    commonName: 'test',
    days: 30,
    keyType: 'ec-p256',
    now: new Date(),
  });
  const { certificateId } = await account.uploadCertificate(clientId, certificatePem);
  const ctx = {
    fetch: createGuardedFetch({ allowPrivateHosts: true }),
    clock: realClock,
    log: pino({ level: 'silent' }),
    settings: settingsWith(),
    erpLimits: createAccountLimits(),
  };
  const authentication = { method: 'oauth2', clientId, certificateId } as const;
  const connector = netsuite.create(
    ctx,
    { accountId: account.accountId, baseUrl: account.url, authentication },
    { privateKeyPem },
  );
  const types = new Map((await connector.metadata(signal)).map((type) => [type.name, type]));
  const books = new Client({ ...inject('pg'), database });
  await books.connect();
  await books.query('alter table ledger.customer alter lastmodifieddate drop not null');
  const service = `${account.url}/services/rest`;
  const tokenUrl = `${service}/auth/oauth2/v1/token`;
  const assertion = signAssertion({ clientId, certificateId, privateKeyPem }, tokenUrl, new Date());
  const form = {
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion,
  };
  const login = await fetch(tokenUrl, {
    method: 'POST',
    body: new URLSearchParams(form),
    signal: AbortSignal.timeout(60_000),
  });
  const { access_token: token } = (await login.json()) as { access_token: string };
  return {
    account,
    connector,
    types,
    books,
    async write(method, record, body) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const content = body === undefined ? {} : { body: JSON.stringify(body) };
      const answer = await fetch(`${service}/record/v1/${record}`, {
        method,
        headers,
        signal: AbortSignal.timeout(60_000),
        ...content,
      });
      if (answer.status !== 204)
        throw new Error(`${method} ${record}: ${answer.status} ${await answer.text()}`);
      return answer.headers.get('location')?.split('/').at(-1) ?? '';
    },
    async close() {
      await books.end();
      await account.stop();
      const admin = new Client({ ...inject('pg') });
      await admin.connect();
      await admin.query(`drop database if exists ${database} with (force)`);
      await admin.end();
    },
  };
}

let sites: Site[];
let west: Site;

beforeAll(async () => {
  dataFolder = await mkdtemp(path.join(tmpdir(), 'portal-incremental-'));
  await writeData();
  sites = await Promise.all([
    startSite('America/Los_Angeles', 'M/D/YYYY'),
    startSite('Pacific/Kiritimati', 'DD.MM.YYYY'),
  ]);
  const [first] = sites;
  if (first === undefined) throw new Error('no account');
  west = first;
});
afterAll(async () => {
  await Promise.all(sites.map((site) => site.close()));
  await rm(dataFolder, { recursive: true, force: true });
});

function getType({ types }: Site, name: string): RecordTypeMetadata {
  const type = types.get(name);
  if (type === undefined) throw new Error(`the account has no ${name}`);
  return type;
}

async function changedIds(site: Site, since: string | null, limit = 1000): Promise<string[]> {
  const recordType = getType(site, 'customer');
  const ids: string[] = [];
  let afterId: string | null = null;
  for (let hasMore = true; hasMore; ) {
    const changedSince = since === null ? null : new Date(since);
    const page = await site.connector.readPage({
      recordType,
      fields: ['entityid'],
      afterId,
      changedSince,
      limit,
      signal,
    });
    ids.push(...page.records.map(({ id }) => id));
    ({ hasMore, lastId: afterId } = page);
  }
  return ids;
}

/**
 * Sets these modification times on the first customers, and an old one on all others; returns the ids in the
 * order of the times.
 */
async function setTimes({ books }: Site, times: readonly (string | null)[]): Promise<string[]> {
  await books.query("update ledger.customer set lastmodifieddate = '2001-01-01T00:00:00Z'");
  const { rows } = await books.query<{ id: string }>('select id from ledger.customer order by id limit $1', [
    times.length,
  ]);
  await books.query(
    `update ledger.customer set lastmodifieddate = t.at from unnest($1::bigint[], $2::timestamptz[]) t(id, at) where customer.id = t.id`,
    [rows.map(({ id }) => id), times],
  );
  return rows.map(({ id }) => String(id));
}

describe('readPage with changedSince', () => {
  it('includes the boundary, to the second, in every time zone', async () => {
    for (const site of sites) {
      const [before, on, after] = await setTimes(site, [
        '2026-05-05T09:59:59Z',
        '2026-05-05T10:00:00Z',
        '2026-05-05T10:00:01Z',
      ]);
      expect(await changedIds(site, '2026-05-05T10:00:00Z')).toEqual([on, after]);
      expect(await changedIds(site, '2026-05-05T10:00:00.999Z')).toEqual([on, after]);
      expect(await changedIds(site, '2026-05-05T10:00:01Z')).toEqual([after]);
      expect(await changedIds(site, '2026-05-05T09:59:59Z')).toEqual([before, on, after]);
    }
  });

  it('loses nothing around midnight, in either time zone or in UTC', async () => {
    const hours = Array.from({ length: 60 }, (_unused, hour) =>
      new Date(Date.UTC(2026, 4, 4, hour, 30)).toISOString(),
    );
    for (const site of sites) {
      const ids = await setTimes(site, hours);
      for (const hour of [0, 7, 8, 10, 14, 23, 24, 31, 34]) {
        expect(await changedIds(site, hours[hour] ?? null)).toEqual(ids.slice(hour));
      }
    }
  });

  it('returns records of the same second once each, wherever a page ends', async () => {
    for (const site of sites) {
      const ids = await setTimes(
        site,
        Array.from({ length: 7 }, () => '2026-05-05T10:00:00Z'),
      );
      for (const limit of [1, 2, 3, 7])
        expect(await changedIds(site, '2026-05-05T10:00:00Z', limit)).toEqual(ids);
    }
  });

  it.each([
    ['back', '2026-11-01T', ['07:30', '08:00', '08:30', '09:00', '09:30', '10:00', '10:30']],
    ['forward', '2026-03-08T', ['08:30', '09:30', '09:59', '10:00', '10:30', '11:30']],
  ])('distinguishes the instants of the night in which clocks go %s', async (_name, day, clock) => {
    const times = clock.map((time) => `${day}${time}:00Z`);
    const ids = await setTimes(west, times);
    for (const [index, time] of times.entries()) {
      expect(await changedIds(west, time)).toEqual(ids.slice(index));
      const dayLater = new Date(Date.parse(time) + 86_400_000).toISOString(); // the index bound then falls into that night
      expect(await changedIds(west, dayLater)).toEqual([]);
    }
    const recordType = getType(west, 'customer');
    const { records } = await west.connector.readByIds({ recordType, fields: [], ids, signal });
    expect(records.map(({ modifiedAt }) => modifiedAt)).toEqual(times);
  });

  it('never finds a record without modification time; a scan does', async () => {
    const [without, changed] = await setTimes(west, [null, '2026-05-05T10:00:00Z']);
    expect(await changedIds(west, '1970-01-01T00:00:00Z')).not.toContain(without);
    expect(await changedIds(west, '2026-05-05T10:00:00Z')).toEqual([changed]);
    const recordType = getType(west, 'customer');
    const fields = scannedFields(recordType).map(({ name }) => name);
    const { records } = await west.connector.scan({ recordType, fields, afterId: null, limit: 2, signal });
    expect(records.map(({ id, modifiedAt }) => [id, modifiedAt])).toEqual([
      [without, null],
      [changed, '2026-05-05T10:00:00Z'],
    ]);
    expect(await changedIds(west, null)).toContain(without);
  });
});

describe('scan', () => {
  it("shows changes that don't move the modification time: an amount, a status, and a label", async () => {
    const recordType = getType(west, 'invoice');
    const fields = scannedFields(recordType).map(({ name }) => name);
    const { rows } = await west.books.query<{ id: string; entity: string; was: string; name: string }>(
      `select t.id, t.entity, t.foreignamountunpaid as was, c.entityid as name from ledger.transaction t join ledger.customer c on c.id = t.entity
       where t.type = 'CustInvc' and t.foreignamountunpaid > 1 order by t.id limit 1`,
    );
    const [open] = rows;
    if (open === undefined) throw new Error('the data have no open invoice');
    const id = String(open.id);
    const scan = async () =>
      (await west.connector.scan({ recordType, fields, ids: [id], signal })).records[0];
    const before = await scan();
    expect(before).toMatchObject({
      id,
      values: { status: 'A' },
      labels: { entity: expect.stringContaining(open.name) },
    });
    expect(Number(before?.values['foreignamountunpaid'])).toBe(Number(open.was));
    await west.books.query(
      "update ledger.transaction set foreignamountunpaid = 0.01, status = 'B' where id = $1",
      [id],
    );
    await west.books.query("update ledger.customer set entityid = 'Renamed & Co.' where id = $1", [
      open.entity,
    ]);
    const after = await scan();
    expect(after).toMatchObject({
      values: { foreignamountunpaid: '0.01', status: 'B' },
      labels: { entity: expect.stringContaining('Renamed & Co.'), status: expect.stringContaining('Paid') },
    });
    expect(after?.modifiedAt).toBe(before?.modifiedAt);
  });

  it('returns every record in pages, as many as the account counts', async () => {
    const recordType = getType(west, 'invoice');
    const ids: string[] = [];
    let afterId: string | null = null;
    for (let hasMore = true; hasMore; ) {
      const page = await west.connector.scan({
        recordType,
        fields: ['foreignamountunpaid'],
        afterId,
        limit: 150,
        signal,
      });
      expect(page.rejected).toEqual([]);
      ids.push(...page.records.map((record) => record.id));
      ({ hasMore, lastId: afterId } = page);
    }
    expect(ids).toHaveLength(invoices);
    expect(new Set(ids).size).toBe(await west.connector.count(recordType, signal));
  });
});

describe('deletedSince', () => {
  const deleted = async (site: Site, name: string, since: string) =>
    site.connector.deletedSince({ recordType: getType(site, name), since: new Date(since), signal });

  it('lists deleted ids by record type, in every time zone', async () => {
    for (const site of sites) {
      await site.books.query(`insert into ledger.deletedrecord (recordid, type, scriptid, deleteddate) values
        (9001, 'Invoice', 'invoice', '2026-05-05T10:00:00Z'), (9002, 'Credit Memo', 'creditmemo', '2026-05-05T10:00:01Z'),
        (9003, 'Customer', 'customer', '2026-05-05T10:00:02Z'), (9004, 'Invoice', 'invoice', '2026-04-01T10:00:00Z'),
        (9001, 'Customer', 'customer', '2026-05-06T10:00:00Z')`);
      expect(await deleted(site, 'invoice', '2026-05-05T10:00:00Z')).toEqual({
        available: true,
        deleted: [{ id: '9001', deletedAt: '2026-05-05T10:00:00Z' }],
      });
      expect(await deleted(site, 'customer', '2026-05-05T10:00:00Z')).toMatchObject({
        deleted: [{ id: '9001' }, { id: '9003' }],
      });
      expect(await deleted(site, 'item', '2026-05-05T10:00:00Z')).toEqual({ available: true, deleted: [] });
    }
  });

  it('loses nothing where only the date of a deletion is known', async () => {
    for (const site of sites) {
      const zone = site === west ? 'America/Los_Angeles' : 'Pacific/Kiritimati';
      await site.books.query(
        `insert into ledger.deletedrecord (recordid, type, deleteddate)
         select 9100 + hour, 'Invoice', date_trunc('day', timestamptz '2026-06-10T00:00:00Z' + hour * interval '1 hour', $1)
         from generate_series(0, 47) hour`,
        [zone],
      );
      for (const hour of [0, 7, 10, 23, 47]) {
        const answer = await deleted(site, 'invoice', new Date(Date.UTC(2026, 5, 10, hour)).toISOString());
        const ids = answer.available ? answer.deleted.map(({ id }) => Number(id)) : [];
        const due = Array.from({ length: 48 - hour }, (_unused, index) => 9100 + hour + index);
        expect(ids).toEqual(expect.arrayContaining(due));
      }
    }
  });

  it('is unavailable rather than empty where the role may not read the list', async () => {
    west.account.setVisible('deletedrecord', false);
    try {
      expect(await deleted(west, 'invoice', '2026-05-05T10:00:00Z')).toMatchObject({
        available: false,
        reason: expect.stringContaining('deletedrecord'),
        fix: expect.stringContaining('Deleted Records'),
      });
    } finally {
      west.account.setVisible('deletedrecord', true);
    }
  });
});

describe('every record type of the account', () => {
  it('can be read with all of its fields, scanned, and checked for deletions', async () => {
    for (const recordType of west.types.values()) {
      const fields = recordType.fields.filter(({ syncable }) => syncable).map(({ name }) => name);
      if (fields.length === 0) continue;
      const page = await west.connector.readPage({
        recordType,
        fields,
        afterId: null,
        changedSince: null,
        limit: 20,
        signal,
      });
      const scanned = scannedFields(recordType).map(({ name }) => name);
      const ids = page.records.map(({ id }) => id);
      const again = await west.connector.scan({ recordType, fields: scanned, ids, signal });
      expect([page.rejected, again.rejected]).toEqual([[], []]);
      expect(again.records.map(({ id, labels }) => [id, labels])).toEqual(
        page.records.map(({ id, labels }) => [id, labels]),
      );
      expect(await west.connector.deletedSince({ recordType, since: new Date(), signal })).toMatchObject({
        available: true,
      });
    }
  });
});

describe('a payment', () => {
  it("is read with its applications, reduces the invoice's open amount, and is listed when deleted", async () => {
    const { rows } = await west.books.query<{ id: string; entity: string }>(
      "select id, entity from ledger.transaction where type = 'CustInvc' and status = 'A' and foreignamountunpaid > 10 order by id desc limit 1",
    );
    const one = String(rows[0]?.id);
    const recordType = getType(west, 'customerPayment');
    expect(recordType.fields.find(({ name }) => name === 'lines')).toMatchObject({
      syncable: true,
      label: 'Applications',
    });
    const startedAt = await west.connector.now(signal);
    const open = async () => {
      const page = await west.connector.scan({
        recordType: getType(west, 'invoice'),
        fields: ['foreignamountunpaid'],
        ids: [one],
        signal,
      });
      return Number(page.records[0]?.values['foreignamountunpaid']);
    };
    const before = await open();
    const id = await west.write('POST', 'customerPayment', {
      customer: { id: String(rows[0]?.entity) },
      payment: 4.25,
      apply: { items: [{ doc: { id: one }, apply: true, amount: 4.25 }] },
    });
    const fields = recordType.fields.filter(({ syncable }) => syncable).map(({ name }) => name);
    const page = await west.connector.readPage({
      recordType,
      fields,
      afterId: null,
      changedSince: startedAt,
      limit: 1000,
      signal,
    });
    const payment = page.records.find((record) => record.id === id);
    expect(payment).toMatchObject({
      values: { foreigntotal: '4.25', entity: String(rows[0]?.entity) },
      lines: [{ previousdoc: one, previoustype: 'CustInvc', foreignamount: '4.25' }],
    });
    expect(await open()).toBeCloseTo(before - 4.25, 2);
    await west.write('DELETE', `customerPayment/${id}`);
    expect(await open()).toBeCloseTo(before, 2);
    expect(await west.connector.deletedSince({ recordType, since: startedAt, signal })).toMatchObject({
      available: true,
      deleted: expect.arrayContaining([expect.objectContaining({ id })]),
    });
    expect(await west.connector.readByIds({ recordType, fields, ids: [id], signal })).toMatchObject({
      records: [],
      rejected: [],
    });
  });
});
