// All record types of an account with subsidiaries: the list is read at once, and the fields of each when
// they are needed.
import { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest';
import { type Answer, listProblems, refusal } from '../../setup/api.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const known = ['customer', 'item', 'invoice', 'creditMemo', 'salesOrder', 'customerPayment', 'vendor'];
known.push('employee', 'contact');
const undescribed = { table: null, fieldCount: null, syncableFieldCount: null, described: false };

const org = useOrganization({
  erp: { profile: 'oneworld' },
  each: true,
  alter: (ctx) => ({
    ...ctx,
    fetch: (url, request) => {
      if (!url.includes('/token')) requests += 1;
      return ctx.fetch(url, request);
    },
  }),
});
let account: Pool;
let certificateId: string;
/** Requests to the account, other than those that sign in. */
let requests: number;

beforeAll(async () => {
  account = new Pool({ ...inject('pg'), database: org.erp.database, max: 1 });
});
afterAll(() => account.end());
beforeEach(async () => {
  ({ certificateId } = await org.erp.connect(org.api));
  expect((await org.api('post', '/netsuite/metadata/refresh')).status).toBe(200);
  requests = 0;
});

type Head = {
  records?: number | null;
  name: string;
  family: string;
  custom: boolean;
  syncConfigId: string | null;
  described: boolean;
  syncable: boolean | null;
  reason: string | null;
};
async function list(query = ''): Promise<Head[]> {
  const heads: Head[] = [];
  for (let page = 1; ; page += 1) {
    const { status, body } = await org.api('get', `/netsuite/metadata?pageSize=100&page=${page}${query}`);
    expect(status).toBe(200);
    heads.push(...body.data);
    if (page >= body.pagination.totalPages) return heads;
  }
}
const readNames = async (query: string): Promise<string[]> => (await list(query)).map(({ name }) => name);
const findHead = async (name: string) => (await list(`&q=${name}`)).find((head) => head.name === name);
const describeType = async (name: string): Promise<Answer['body']> =>
  (await org.api('get', `/netsuite/metadata/${name}`)).body;
const findField = ({ fields }: Answer['body'], name: string) =>
  fields.find((field: Answer['body']) => field.name === name);
const createSync = (recordType: string, fields?: readonly string[]) =>
  org.api('post', '/sync-configs', { name: `Sync of ${recordType}`, recordType, fields });
/** Until the end of the test. */
const hide = (table: string): void => {
  org.erp.account.setVisible(table, false);
  onTestFinished(() => org.erp.account.setVisible(table, true));
};
/** Until the faults are cleared, at the latest at the end of the test. */
const interrupt = (): void => {
  org.erp.account.injectFault({ path: /./, times: 1_000, status: 503, body: 'maintenance' });
  onTestFinished(() => org.erp.account.clearFaults());
};

describe('GET /netsuite/metadata', () => {
  it('lists the whole account, what is known by name first, without a request to it', async () => {
    const heads = await list();
    expect(heads.slice(0, known.length).map(({ name }) => name)).toEqual(known);
    for (const head of heads.slice(0, known.length))
      expect(head).toMatchObject({ described: true, syncable: true, reason: null });
    const names = new Set(heads.map(({ name }) => name.toLowerCase()));
    expect(names.size).toBe(heads.length);
    const others = ['purchaseorder', 'vendorbill', 'journalentry', 'estimate', 'subsidiary'];
    for (const name of [...others, 'transactionaccountingline']) expect([...names]).toContain(name);
    expect(heads.find(({ name }) => name === 'purchaseOrder')).toMatchObject({
      ...{ ...undescribed, family: 'transaction', syncable: null },
    });
    expect(requests).toBe(0);
  });

  it('says what the account as a whole has', async () => {
    const { body } = await org.api('get', '/netsuite/metadata?pageSize=1');
    const baseCurrency = expect.stringMatching(/^[A-Z]{3}$/);
    expect(body).toMatchObject({
      account: { hasSubsidiaries: true, hasCurrencies: true, baseCurrency },
      refreshedAt: expect.any(String),
      lastError: null,
      pagination: { page: 1, pageSize: 1 },
    });
  });

  it('is searched and filtered', async () => {
    const all = await list();
    const expected = (fits: (head: Head) => boolean) => all.filter(fits).map(({ name }) => name);
    expect(await readNames('&custom=true')).toEqual(expected(({ custom }) => custom));
    expect(await readNames('&custom=true')).not.toEqual([]);
    const transactions = expected(({ family }) => family === 'transaction');
    expect(await readNames('&family=transaction')).toEqual(transactions);
    expect(await readNames('&syncable=unknown')).toEqual(expected(({ syncable }) => syncable === null));
    expect(await readNames('&syncable=true')).toEqual(known);
    expect(await readNames('&syncable=false')).toEqual(expected(({ syncable }) => syncable === false));
    expect(await readNames('&q=PURCHASE&family=transaction&custom=false')).toContain('purchaseOrder');
    expect(await readNames('&names=vendorBill,purchaseOrder,unknown')).toEqual(
      expected(({ name }) => ['vendorBill', 'purchaseOrder'].includes(name)),
    );
    for (const query of ['names=', 'names=a,,b', 'syncable=maybe', 'custom=1', 'family=cars', 'counts=yes'])
      expect((await org.api('get', `/netsuite/metadata?${query}`)).status).toBe(400);
  });

  it('counts records on request, whether the record types are described or not', async () => {
    const { rows } = await account.query<{ name: string; n: string }>(
      `select recordtype as name, count(*) as n from suiteql.transaction group by 1
       union all select 'customer', count(*) from suiteql.customer union all select 'department', count(*) from suiteql.department
       union all select 'transactionaccountingline', count(*) from suiteql.transactionaccountingline`,
    );
    const heads = await list('&counts=true');
    const counted = new Map(heads.map(({ name, records }) => [name.toLowerCase(), records]));
    expect(counted.size).toBeGreaterThan(60);
    for (const { name, n } of rows) expect([name, counted.get(name)]).toEqual([name, Number(n)]);
    expect(counted.get('inventoryitem')).toBeNull();
    expect((await org.api('get', '/netsuite/metadata?q=invoice')).body.data[0]).not.toHaveProperty('records');
  });

  it('names the sync of a record type to callers who may read syncs', async () => {
    const { body: sync } = await createSync('customer');
    expect((await findHead('customer'))?.syncConfigId).toBe(sync.id);
    expect((await findHead('item'))?.syncConfigId).toBeNull();
    expect((await describeType('customer')).syncConfigId).toBe(sync.id);
    const other = await org.session((await org.joinBare(['netsuite:read'])).id);
    expect((await other('get', '/netsuite/metadata?names=customer')).body.data[0].syncConfigId).toBeNull();
    expect((await other('get', '/netsuite/metadata/customer')).body.syncConfigId).toBeNull();
  });

  it('counts null where the ERP cannot', async () => {
    hide('employee');
    expect(await list('&counts=true&q=employee&syncable=true')).toMatchObject([
      { name: 'employee', records: null },
    ]);
  });
});

describe('GET /netsuite/metadata/{recordType}', () => {
  it('describes a record type when it is retrieved for the first time, and not again', async () => {
    const { status, body } = await org.api('get', '/netsuite/metadata/purchaseOrder');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...{ name: 'purchaseOrder', family: 'transaction', custom: false, table: 'transaction' },
      ...{ syncable: true, reason: null, described: true },
      reading: { curated: false, changes: 'modified', notes: expect.any(Array) },
      fieldCount: body.fields.length,
      shownAs: { number: 'tranid', date: 'trandate' },
    });
    const quantity = expect.objectContaining({ name: 'quantity' });
    for (const [name, expected] of Object.entries({
      id: { type: 'integer', syncable: true },
      entity: { type: 'reference', syncable: true },
      subsidiary: { type: 'reference', target: 'subsidiary' },
      lines: { type: 'lines', fields: expect.arrayContaining([quantity]) },
    }))
      expect(findField(body, name)).toMatchObject(expected);
    expect(requests).toBeGreaterThan(0);
    requests = 0;
    expect(await describeType('purchaseOrder')).toEqual(body);
    const { syncableFieldCount } = body;
    expect(await findHead('purchaseOrder')).toMatchObject({
      ...{ described: true, syncable: true, syncableFieldCount },
    });
    expect(requests).toBe(0);
  });

  it('describes it again after a refresh, and keeps what is stored while the ERP is unavailable', async () => {
    const before = await describeType('department');
    expect(before).toMatchObject({ syncable: true, reading: { curated: false } });
    await org.api('post', '/netsuite/metadata/refresh');
    org.erp.account.setColumnVisible('department', 'name', false);
    onTestFinished(() => org.erp.account.setColumnVisible('department', 'name', true));
    interrupt();
    expect(await describeType('department')).toEqual(before);
    org.erp.account.clearFaults();
    const name = findField(await describeType('department'), 'name');
    expect(name === undefined || (!name.syncable && name.reason !== null)).toBe(true);
  });

  it('gives the reason for a record type that the role cannot read', async () => {
    hide('department');
    const { status, body } = await org.api('get', '/netsuite/metadata/department');
    const reason = expect.stringMatching(/role|permission/i);
    expect([status, body.syncable, body.reason]).toEqual([200, false, reason]);
    expect(await readNames('&syncable=false')).toContain('department');
    const refused = await createSync('department');
    expect(await refusal(refused)).toEqual([422, 'unsyncable_record_type']);
    expect(refused.body.error.details[0].message).toContain(body.reason);
  });

  it('404 for a name that the list does not have, without a request', async () => {
    for (const name of ['unicorn', 'PURCHASEORDER', 'purchaseorder'])
      expect((await org.api('get', `/netsuite/metadata/${name}`)).status).toBe(404);
    expect(requests).toBe(0);
  });

  it('503 while the ERP is unavailable and 422 when it refuses the credentials, for one that was never described', async () => {
    const read = () => org.api('get', '/netsuite/metadata/location');
    interrupt();
    expect(await read()).toMatchObject({ status: 503, headers: { 'retry-after': '30' } });
    org.erp.account.clearFaults();
    await org.erp.account.revokeCertificate(certificateId);
    org.erp.account.revokeTokens();
    expect(await refusal(read())).toEqual([422, 'CERTIFICATE_UNKNOWN']);
    expect((await org.api('get', '/netsuite/metadata/invoice')).status).toBe(200);
    expect((await org.api('delete', '/netsuite/connection')).status).toBe(204);
    expect(await refusal(read())).toEqual([404, 'no_connection']);
  });
});

describe('POST /sync-configs', () => {
  it('describes the record type when that was not done yet', async () => {
    const fields = ['tranid', 'entity'];
    expect(await createSync('vendorBill', fields)).toMatchObject({ status: 201, body: { fields } });
    expect(await findHead('vendorBill')).toMatchObject({ described: true });
    const bad = await createSync('returnAuthorization', ['tranid', 'wings']);
    expect([bad.status, ...listProblems(bad)]).toEqual([422, 'fields[1] unsyncable_field']);
  });

  it('422 for a name that the account does not list, with the closest one', async () => {
    const refused = await createSync('purchaseOder');
    expect([refused.status, ...listProblems(refused)]).toEqual([422, 'recordType unknown_record_type']);
    expect(refused.body.error.details[0].message).toContain('"purchaseOrder"');
    expect(requests).toBe(0);
  });
});
