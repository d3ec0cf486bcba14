// Changes, volatile fields and deletions, read from simulated accounts whose users are in distant time zones.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scannedFields } from '../../../src/connectors/connector.ts';
import { signAssertion } from '../../../src/connectors/netsuite/requests/auth.ts';
import { listIds, listSyncable, openAccount, type Row, type SimulatedAccount } from './simulated-account.ts';
import { firstPage, signal } from './wire.ts';

const invoices = 320;

const created = '2026-01-05 10:00:00';
const customer = Array.from({ length: 70 }, (_unused, index): Row => {
  const id = index + 1;
  return [id, `CUST${id}`, 'F', 'F', 1, '', created, created];
});
const ids = Array.from({ length: invoices }, (_unused, index) => 1000 + index);
const tables = {
  customer,
  item: [[500, 'LANTERN', 'Lantern', 'InvtPart', 'F', created, created]],
  transaction: ids.map((id): Row => {
    const header = [id, `INV${id}`, 'CustInvc', '2026-01-05', (id % 70) + 1];
    return [...header, 1, 1, 'T', '25.50', created, created];
  }),
  transactionline: ids.map((id): Row => [id, 1, id, 1, 500, '', -2, '12.75', '-25.50', 'F', 'F', created]),
};

let sites: SimulatedAccount[];
let west: SimulatedAccount;
beforeAll(async () => {
  const open = (timeZone: string, dateFormat: string) => openAccount({ tables, timeZone, dateFormat });
  west = await open('America/Los_Angeles', 'M/D/YYYY');
  sites = [west, await open('Pacific/Kiritimati', 'DD.MM.YYYY')];
  for (const { books } of sites)
    await books.query('alter table ledger.customer alter lastmodifieddate drop not null');
});
afterAll(() => Promise.all(sites.map((site) => site.close())));

/** A user's change in the ERP, through its record service; resolves to the id of a created record. */
async function write({ account, login }: SimulatedAccount, method: string, record: string, body?: object) {
  const service = `${account.url}/services/rest`;
  const tokenUrl = `${service}/auth/oauth2/v1/token`;
  const form = {
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: signAssertion(login, tokenUrl, new Date()),
  };
  const signedIn = await fetch(tokenUrl, { method: 'POST', body: new URLSearchParams(form) });
  const { access_token: token } = (await signedIn.json()) as { access_token: string };
  const answer = await fetch(`${service}/record/v1/${record}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (answer.status !== 204) throw new Error(`${method} ${record}: ${answer.status} ${await answer.text()}`);
  return answer.headers.get('location')?.split('/').at(-1) ?? '';
}

const changedIds = async (site: SimulatedAccount, since: string | null, limit = 1000): Promise<string[]> => {
  const changedSince = since === null ? null : new Date(since);
  return listIds(await site.readAll(site.getType('customer'), { fields: ['entityid'], changedSince, limit }));
};

/**
 * Sets these modification times on the first customers, and an old one on all others; returns the ids in the
 * order of the times.
 */
async function setTimes({ books }: SimulatedAccount, times: readonly (string | null)[]): Promise<string[]> {
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
    const recordType = west.getType('customer');
    const { records } = await west.connector.readByIds({ recordType, fields: [], ids, signal });
    expect(records.map(({ modifiedAt }) => modifiedAt)).toEqual(times);
  });

  it('never finds a record without modification time; a scan does', async () => {
    const [without, changed] = await setTimes(west, [null, '2026-05-05T10:00:00Z']);
    expect(await changedIds(west, '1970-01-01T00:00:00Z')).not.toContain(without);
    expect(await changedIds(west, '2026-05-05T10:00:00Z')).toEqual([changed]);
    const recordType = west.getType('customer');
    const fields = scannedFields(recordType).map(({ name }) => name);
    const { records } = await west.connector.scan({ ...firstPage, recordType, fields, limit: 2 });
    expect(records.map(({ id, modifiedAt }) => [id, modifiedAt])).toEqual([
      [without, null],
      [changed, '2026-05-05T10:00:00Z'],
    ]);
    expect(await changedIds(west, null)).toContain(without);
  });
});

it("scan shows changes that don't move the modification time: an amount, a status, and a label", async () => {
  const recordType = west.getType('invoice');
  const fields = scannedFields(recordType).map(({ name }) => name);
  const { rows } = await west.books.query<{ id: string; entity: string; was: string; name: string }>(
    `select t.id, t.entity, t.foreignamountunpaid as was, c.entityid as name from ledger.transaction t join ledger.customer c on c.id = t.entity
       where t.type = 'CustInvc' and t.foreignamountunpaid > 1 order by t.id limit 1`,
  );
  const [open] = rows;
  if (open === undefined) throw new Error('the data have no open invoice');
  const id = String(open.id);
  const scan = async () => (await west.connector.scan({ recordType, fields, ids: [id], signal })).records[0];
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

describe('deletedSince', () => {
  const deleted = async (site: SimulatedAccount, name: string, since: string) =>
    site.connector.deletedSince?.({ recordType: site.getType(name), since: new Date(since), signal });

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
        const ids = answer?.available === true ? answer.deleted.map(({ id }) => Number(id)) : [];
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

it('every record type of the account can be read with all of its fields, scanned, and checked for deletions', async () => {
  for (const recordType of await west.connector.metadata(signal)) {
    const fields = listSyncable(recordType);
    if (fields.length === 0) continue;
    const page = await west.connector.readPage({ ...firstPage, recordType, fields, limit: 20 });
    const scanned = scannedFields(recordType).map(({ name }) => name);
    const ids = page.records.map(({ id }) => id);
    const again = await west.connector.scan({ recordType, fields: scanned, ids, signal });
    expect([page.rejected, again.rejected]).toEqual([[], []]);
    expect(again.records.map(({ id, labels }) => [id, labels])).toEqual(
      page.records.map(({ id, labels }) => [id, labels]),
    );
    expect(await west.connector.deletedSince?.({ recordType, since: new Date(), signal })).toMatchObject({
      available: true,
    });
  }
});

it("a payment is read with its applications, reduces the invoice's open amount, and is listed when deleted", async () => {
  const { rows } = await west.books.query<{ id: string; entity: string }>(
    "select id, entity from ledger.transaction where type = 'CustInvc' and status = 'A' and foreignamountunpaid > 10 order by id desc limit 1",
  );
  const one = String(rows[0]?.id);
  const recordType = west.getType('customerPayment');
  expect(recordType.fields.find(({ name }) => name === 'lines')).toMatchObject({
    syncable: true,
    label: 'Applications',
  });
  const startedAt = await west.connector.now(signal);
  const open = async () => {
    const page = await west.connector.scan({
      recordType: west.getType('invoice'),
      fields: ['foreignamountunpaid'],
      ids: [one],
      signal,
    });
    return Number(page.records[0]?.values['foreignamountunpaid']);
  };
  const before = await open();
  const id = await write(west, 'POST', 'customerPayment', {
    customer: { id: String(rows[0]?.entity) },
    payment: 4.25,
    apply: { items: [{ doc: { id: one }, apply: true, amount: 4.25 }] },
  });
  const fields = listSyncable(recordType);
  const page = await west.connector.readPage({ ...firstPage, recordType, fields, changedSince: startedAt });
  const payment = page.records.find((record) => record.id === id);
  expect(payment).toMatchObject({
    values: { foreigntotal: '4.25', entity: String(rows[0]?.entity) },
    lines: [{ previousdoc: one, previoustype: 'CustInvc', foreignamount: '4.25' }],
  });
  expect(await open()).toBeCloseTo(before - 4.25, 2);
  await write(west, 'DELETE', `customerPayment/${id}`);
  expect(await open()).toBeCloseTo(before, 2);
  expect(await west.connector.deletedSince?.({ recordType, since: startedAt, signal })).toMatchObject({
    available: true,
    deleted: expect.arrayContaining([expect.objectContaining({ id })]),
  });
  expect(await west.connector.readByIds({ recordType, fields, ids: [id], signal })).toMatchObject({
    records: [],
    rejected: [],
  });
});
