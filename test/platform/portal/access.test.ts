// Settings of the portal: what they may name, how they are made ready, and what visitors may see by them.
import { beforeAll, describe, expect, it } from 'vitest';
import type { ReadEngine } from '../../../src/core/ctx.ts';
import {
  accessOfFamily,
  findPerson,
  findPortal,
  listFamily,
  readPortal,
} from '../../../src/platform/portal/visitor-scope.ts';
import { createReadEngine, findLivingMasks } from '../../../src/public/index.ts';
import {
  contactTypes,
  customerTypes,
  describeRecords,
  invoiceTypes,
  loadCompany,
  loadRecords,
  settings,
} from '../../portal/company.ts';
import { publishVersion } from '../../public/fixture.ts';
import { type Api, listProblems, pluck, refusal } from '../../setup/api.ts';
import { until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization();
const customers = [
  { id: 1, name: 'Aster', email: 'Orders@Aster.example', isinactive: false },
  { id: 2, name: 'Birch', email: 'info@birch.example; accounts@BIRCH.example', isinactive: false, parent: 1 },
  { id: 3, name: 'Cedar', email: 'info@bücher.example', isinactive: false, parent: 2 },
  { id: 4, name: 'Dove', email: 'gone@dove.example', isinactive: true },
  { id: 5, name: 'Elm', email: 'xorders@aster.example', isinactive: null },
];
const contacts = [
  { id: 11, email: 'ada@people.example', company: 1, isinactive: false },
  { id: 12, email: 'Ada@People.example', company: 3, isinactive: false },
  { id: 13, email: 'ben@people.example', company: 4, isinactive: true },
  { id: 14, email: 'àda@people.example', company: 2, isinactive: false },
];
const invoices = Array.from({ length: 25 }, (_, index) => ({
  id: 100 + index,
  tranid: `INV-${index}`,
  trandate: '2026-01-15',
  duedate: '2026-02-15',
  total: 10 + index,
  unpaid: index % 2 === 0 ? 5 : 0,
  entity: (index % 5) + 1,
  status: 'open',
}));

let api: Api;
let reads: ReadEngine;
beforeAll(async () => {
  await loadCompany(org.ctx, org.id, { customers, contacts, invoices });
  api = await org.session(org.owner.id);
  reads = createReadEngine(org.ctx);
});

const tenant = () => ({ ...org.ctx, organizationId: org.id, reads });
const put = (change: object = {}) => api('put', '/portal/access', { ...settings, ...change });
async function putReady(change: object = {}): Promise<void> {
  const answer = await put(change);
  expect([answer.status, listProblems(answer)]).toEqual([202, []]);
  await until(async () => {
    const { body } = await api('get', '/portal/access');
    if (body.status === 'failed') throw new Error(JSON.stringify(body.publication));
    return body.status === 'on';
  });
}
async function getPortal() {
  const portal = await findPortal(tenant());
  if (portal === undefined) throw new Error('the portal is off');
  return portal;
}
const customersOf = async (address: string) =>
  [...(await findPerson(tenant(), await getPortal(), address)).customers].sort();

describe('settings of the portal', () => {
  it('are proposed from what is synced, until some are saved', async () => {
    const { body } = await api('get', '/portal/access');
    expect(body).toMatchObject({ revision: 0, enabled: false, status: 'off', problems: [] });
    expect(body.people).toEqual(settings.people);
    expect(await findPortal(tenant())).toBeUndefined();
  });

  it('are proposed without documents that are not posted, and without what is not owed', async () => {
    const other = await org.another();
    await loadCompany(org.ctx, other.id, { customers, contacts, invoices });
    const types = { ...invoiceTypes, posting: 'boolean' } as const;
    for (const name of ['creditMemo', 'customerDeposit', 'cashRefund', 'customerRefund', 'salesOrder']) {
      await loadRecords(org.ctx, other.id, name, types, []);
      await describeRecords(org.ctx, other.id, name, types, { entity: 'customer' });
    }
    const { body } = await other.api('get', '/portal/access');
    const posted = [{ field: 'posting', in: ['true'] }];
    expect(pluck(body.records, 'recordType', 'role', 'conditions')).toEqual([
      ['cashRefund', 'other', []],
      ['creditMemo', 'credit', posted],
      ['customerDeposit', 'other', []],
      ['customerRefund', 'refund', posted],
      ['invoice', 'invoice', []],
      ['salesOrder', 'other', []],
    ]);
    const meaningsOf = (name: string) =>
      Object.keys(body.records.find((one: { recordType: string }) => one.recordType === name).fields).sort();
    expect(meaningsOf('creditMemo')).toEqual(
      [...meaningsOf('customerRefund'), 'dueDate', 'amountDue'].sort(),
    );
  });

  it('are refused when enabled with names that are not synced, or with fields that mean something else', async () => {
    const answer = await put({
      people: [
        { recordType: 'customer', emailField: 'isinactive', customerField: 'id' },
        { recordType: 'supplier', emailField: 'email' },
      ],
      records: [
        { ...settings.records[0], customerField: 'nobody', fields: { date: 'tranid' } },
        { ...settings.records[0], conditions: [{ field: 'trandate', in: ['yesterday'] }] },
        { ...settings.records[0], recordType: 'sandbox:invoice' },
      ],
      languages: ['de'],
    });
    expect(answer.status).toBe(422);
    expect(listProblems(answer)).toEqual([
      'people[0].emailField type_does_not_fit',
      'people[1].recordType unknown_record_type',
      'records[1].recordType duplicate',
      'records[2].recordType other_connection',
      'records[0].customerField unknown_source',
      'records[0].fields.date type_does_not_fit',
      'records[1].conditions[0].in[0] invalid_value',
      'records[2].recordType unknown_record_type',
      'defaultLanguage not_offered',
    ]);
    expect(listProblems(await put({ people: [], records: [] }))).toEqual(['people needed', 'records needed']);
    expect((await put({ enabled: false, people: [], records: [] })).status).toBe(202);
    expect((await api('get', '/portal/access')).body).toMatchObject({ revision: 1, status: 'off' });
  });
});

describe('a portal that is ready', () => {
  beforeAll(() => putReady());

  it('knows the customers of an address by every letter, and by nothing else', async () => {
    expect(await customersOf('orders@aster.example')).toEqual(['1']);
    expect(await customersOf('accounts@birch.example')).toEqual(['2']);
    expect(await customersOf('info@xn--bcher-kva.example')).toEqual(['3']);
    expect(await customersOf('ada@people.example')).toEqual(['1', '3']);
    // Inactive, of an inactive contact, without a say whether active, part of another address, look-alikes, nobody.
    for (const address of [
      'gone@dove.example',
      'ben@people.example',
      'xorders@aster.example',
      'rders@aster.example',
      'da@people.example',
      'àda@people.example',
      'nobody@people.example',
    ])
      expect([address, await customersOf(address)]).toEqual([address, []]);
  });

  it('shows the records of the customer, and of customers below it where that is set', async () => {
    const read = async (customer: string, query = {}) => {
      const portal = await getPortal();
      const access = accessOfFamily(portal, await listFamily(tenant(), portal, customer));
      const { records, total } = await readPortal(tenant(), portal, access).list('r-invoice', query);
      return {
        total,
        customers: [
          ...new Set((JSON.parse(records) as { customer: number }[]).map((one) => one.customer)),
        ].sort(),
      };
    };
    expect(await read('1')).toEqual({ total: 5, customers: [1] });
    expect(await read('1', { amountDue_gt: '0' })).toEqual({ total: 3, customers: [1] });
    expect(await read('999')).toEqual({ total: 0, customers: [] });
    await putReady({ includeChildren: true });
    expect(await read('1')).toEqual({ total: 15, customers: [1, 2, 3] });
    expect(await read('2')).toEqual({ total: 10, customers: [2, 3] });
    await putReady({
      records: [{ ...settings.records[0], conditions: [{ field: 'status', in: ['void'] }] }],
    });
    expect(await read('1')).toEqual({ total: 0, customers: [] });
    await putReady();
  });

  it('follows the records of the ERP at once', async () => {
    const moved = contacts.map((contact) => (contact.id === 11 ? { ...contact, company: 2 } : contact));
    await loadRecords(org.ctx, org.id, 'contact', contactTypes, moved);
    expect(await customersOf('ada@people.example')).toEqual(['2', '3']);
    const left = customers.map((one) => (one.id === 1 ? { ...one, isinactive: true } : one));
    await loadRecords(org.ctx, org.id, 'customer', customerTypes, left);
    expect(await customersOf('orders@aster.example')).toEqual([]);
    await loadRecords(org.ctx, org.id, 'customer', customerTypes, customers);
    await loadRecords(org.ctx, org.id, 'contact', contactTypes, contacts);
  });

  it('knows addresses that a version masks for its callers', async () => {
    await publishVersion(org.ctx, org.id, {
      endpoints: [
        {
          name: 'customers',
          recordType: 'customer',
          fields: [
            { name: 'email', source: 'email', mask: 'hash' },
            { name: 'parent', source: 'parent', mask: 'hash' },
          ],
        },
      ],
    });
    await until(async () => (await findLivingMasks(tenant())).has('customer'));
    expect(await customersOf('orders@aster.example')).toEqual(['1']);
    await org.sql((tx) => tx('api_schemas').where({ version: 'v1' }).update({ status: 'retired' }));
    await until(async () => !(await findLivingMasks(tenant())).has('customer'));
  });

  it('adds customers by hand, and shows nothing to a blocked address', async () => {
    const made = await api('post', '/portal/visitors', { email: ' Ada@People.example', customers: ['5'] });
    expect([made.status, made.body.email]).toEqual([201, 'ada@people.example']);
    expect(await customersOf('ada@people.example')).toEqual(['1', '3', '5']);
    expect(await refusal(api('post', '/portal/visitors', { email: 'ada@people.example' }))).toEqual([
      422,
      'taken',
    ]);
    await api('patch', `/portal/visitors/${made.body.id}`, { blocked: true });
    expect(await customersOf('ada@people.example')).toEqual([]);
    expect((await api('get', '/portal/visitors?blocked=true&q=ADA')).body.data).toHaveLength(1);
    expect((await api('delete', `/portal/visitors/${made.body.id}`)).status).toBe(204);
    expect(await customersOf('ada@people.example')).toEqual(['1', '3']);
    expect((await api('post', '/portal/visitors', { email: 'nobody' })).status).toBe(422);
  });

  it('refuses everyone while the ERP does not deliver what decides about access', async () => {
    const setStale = (stale: object | null) =>
      org.ctx.db.data.query(
        `update wh_${org.id.replaceAll('-', '')}.record_state set stale_fields = $1, generation = generation + 1 where record_type = 'contact'`,
        [JSON.stringify(stale)],
      );
    await setStale({ email: '2026-03-01T00:00:00Z' });
    expect((await customersOf('ada@people.example').catch((error) => error)).status).toBe(503);
    await setStale(null);
  });

  it('serves what was ready until changed settings are, and is no version of the public interface', async () => {
    const { document } = await getPortal();
    expect((await put({ signInLifetimeDays: 30 })).body).toMatchObject({ status: 'on' });
    expect(await getPortal()).toMatchObject({ document, settings: { signInLifetimeDays: 30 } });
    expect(await refusal(api('post', '/portal/access/cancel-preparation'))).toEqual([422, 'not_preparing']);
    expect(pluck((await api('get', '/api-schema')).body.data, 'version')).toEqual(['v1']);
    const { rows } = await org.ctx.db.data.query<{ id: string }>(
      "select id from public.api_schemas where version like 'p%'",
    );
    for (const { id } of rows) expect((await api('get', `/api-schema/${id}`)).status).toBe(404);
    expect((await put({ revision: 1 })).status).toBe(422);
    await put({ enabled: false });
    expect(await findPortal(tenant())).toBeUndefined();
  });
});
