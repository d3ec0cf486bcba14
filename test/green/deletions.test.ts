// F and G: what reads as deletion and isn't. Records that are hidden from the integration role, that a page
// passed over, or that other records still name stay, and an administrator can look at what is held back
// before deciding.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ErpRecord, useCompany } from './company.ts';

const modes = ['incremental', 'full'] as const;
const field = (name: string, source: string) => ({ name, source, description: name });
const createEndpoint = (name: string, recordType: string, fields: object[]) => ({
  name,
  recordType,
  description: name,
  fields,
  filters: [],
  sorts: [],
  maxPageSize: 1000,
});
const endpoints = [
  createEndpoint('vendors', 'vendor', [field('name', 'companyname')]),
  createEndpoint('contacts', 'contact', [field('name', 'entityid')]),
  createEndpoint('customers', 'customer', [field('number', 'entityid'), field('phone', 'phone')]),
];

const company = useCompany();
let vendors: string[];
let customers: ErpRecord[];
/** Customers that no invoice and no credit memo names. */
let unnamed: string[];
/** Customers that invoices name. */
let named: string[];

const createVendor = async (n: number): Promise<string> =>
  (
    await company.control('POST', '/records/vendor', {
      fields: { entityid: `V-${n}`, companyname: `Vendor ${n}` },
    })
  ).id;
const hide = (rows: Readonly<Record<string, readonly string[]>>) =>
  company.control('PUT', '/hidden', { rows });
const readIds = async (resource: string): Promise<string[]> =>
  (await company.readAll(`v1/${resource}`)).map(({ id }) => String(id)).sort((a, b) => Number(a) - Number(b));
const proposals = async (recordType: string, query = '') => {
  const { status, body } = await company.api(
    'get',
    `/sync-configs/${await company.config(recordType)}/deletion-proposals${query}`,
  );
  expect(status).toBe(200);
  return body.data;
};
const proposal = async (recordType: string, id: string, query = '') =>
  (
    await company.api(
      'get',
      `/sync-configs/${await company.config(recordType)}/deletion-proposals/${id}${query}`,
    )
  ).body;
const approve = async (recordType: string, body: object) =>
  company.api('post', `/sync-configs/${await company.config(recordType)}/approve-deletions`, body);
const reject = async (recordType: string, id: string, body: object = {}) =>
  company.api(
    'post',
    `/sync-configs/${await company.config(recordType)}/deletion-proposals/${id}/reject`,
    body,
  );

beforeAll(async () => {
  vendors = [];
  for (let n = 1; n <= 20; n += 1) vendors.push(await createVendor(n));
  for (let n = 1; n <= 60; n += 1)
    await company.control('POST', '/records/contact', { fields: { entityid: `Contact ${n}` } });
  for (const type of ['vendor', 'contact', 'customer', 'invoice', 'creditMemo'])
    expect((await company.run(type)).status).toBe('succeeded');
  await company.publish(endpoints);
  customers = await company.truth('customer');
  const names = new Set((await company.truth('transaction')).map(({ fields }) => fields['entity']));
  named = customers.map(({ id }) => id).filter((id) => names.has(id));
  unnamed = customers.map(({ id }) => id).filter((id) => !names.has(id));
});
beforeEach(async () => {
  await company.control('POST', '/reset');
});

/** Shows everything again and syncs, so that nothing is held when the next test starts. */
async function settle(recordType: string): Promise<void> {
  await company.control('POST', '/reset');
  await company.expectSuccess(recordType, 'incremental');
}

describe.each(modes)('records that a role no longer sees (%s run)', (mode) => {
  it('all vendors hidden: the empty answer is held, the run is partial, and they stay served', async () => {
    const before = await readIds('vendors');
    await hide({ vendor: before });
    await company.expectPartial('vendor', mode, 'DELETIONS_HELD', { deleted: 0 });
    expect(await readIds('vendors')).toEqual(before);
    await settle('vendor');
    expect(await readIds('vendors')).toEqual(before);
  });

  it('20 of 60 contacts hidden: more than a tenth is held', async () => {
    const before = await readIds('contacts');
    expect(before).toHaveLength(60);
    await hide({ contact: before.slice(0, 20) });
    await company.expectPartial('contact', mode, 'DELETIONS_HELD', { deleted: 0 });
    expect(await readIds('contacts')).toEqual(before);
    await settle('contact');
  });

  it('the only record of a table hidden: held', async () => {
    const { id } = await company.control('POST', '/records/employee', {
      fields: { entityid: 'E-1', lastname: 'Jones' },
    });
    await company.expectSuccess('employee', mode);
    await hide({ employee: [id] });
    await company.expectPartial('employee', mode, 'DELETIONS_HELD', { deleted: 0 });
    await settle('employee');
    await company.control('DELETE', `/records/employee/${id}`);
    await company.expectSuccess('employee', mode, { deleted: 1 });
  });

  it('a few that nothing names are deleted without approval', async () => {
    const { id } = await company.control('POST', '/records/customer', { like: unnamed[0] });
    await company.expectSuccess('customer', mode, { inserted: 1 });
    await company.control('DELETE', `/records/customer/${id}?listed=false`);
    await company.expectSuccess('customer', mode, { deleted: 1 });
    expect(await readIds('customers')).not.toContain(id);
  });
});

describe.each(modes)('a record that others still name (%s run)', (mode) => {
  it('is held however few there are; the proposal says by what, and it goes once nothing names it', async () => {
    const { id } = await company.control('POST', '/records/customer', { like: unnamed[0] });
    const invoice = (await company.truth('transaction')).find(
      ({ fields }) => fields['type'] === 'CustInvc' && fields['entity'] === named[0],
    );
    if (invoice === undefined) throw new Error('no invoice');
    const nameCustomer = (entity: string | undefined) =>
      company.control('PATCH', `/records/transaction/${invoice.id}`, { fields: { entity } });
    await nameCustomer(id);
    await company.expectSuccess('customer', 'incremental');
    await company.expectSuccess('invoice', 'incremental');

    await company.control('DELETE', `/records/customer/${id}?listed=false`);
    const held = await company.expectPartial('customer', mode, 'DELETIONS_HELD', { deleted: 0 });
    expect(await readIds('customers')).toContain(id);
    const detail = await proposal('customer', held.error.proposalId);
    expect(detail).toMatchObject({
      status: 'open',
      count: 1,
      evidence: { runId: held.id, mode, referenced: 1 },
    });
    expect(detail.records).toMatchObject([
      { id, referencedBy: [{ recordType: 'invoice', field: 'entity', count: 1 }] },
    ]);
    await company.expectPartial(
      'customer',
      mode,
      'DELETIONS_HELD',
      {},
      { error: { proposalId: held.error.proposalId } },
    );

    await nameCustomer(named[0]);
    await company.expectSuccess('invoice', 'incremental', { updated: 1 });
    await company.expectSuccess('customer', mode, { deleted: 1 });
    expect(await readIds('customers')).not.toContain(id);
    expect(await proposals('customer', '?status=open')).toEqual([]);
  });

  it('by a line: an item that invoices sell is held', async () => {
    await company.expectSuccess('item', mode);
    const sold =
      (await company.truth('transaction')).find(({ fields }) => fields['type'] === 'CustInvc')?.lines?.[0]
        ?.fields['item'] ?? '';
    await hide({ item: [sold] });
    const held = await company.expectPartial('item', mode, 'DELETIONS_HELD', { deleted: 0 });
    const [record] = (await proposal('item', held.error.proposalId)).records;
    expect(record.id).toBe(sold);
    expect(record.referencedBy).toContainEqual({
      recordType: 'invoice',
      field: 'lines.item',
      count: expect.any(Number),
    });
    await settle('item');
  });
});

describe('a full run whose pages pass over a living record while another is deleted, so that the counts agree', () => {
  it('requests the absent record by id, updates it and keeps it', async () => {
    const [living = ''] = named;
    const { id: gone } = await company.control('POST', '/records/customer', { like: unnamed[0] });
    await company.expectSuccess('customer', 'incremental', { inserted: 1 });
    await company.control('PATCH', `/records/customer/${living}`, { fields: { phone: '01 23' } });
    await company.control('DELETE', `/records/customer/${gone}?listed=false`);
    await company.control('PUT', '/faults', [
      { on: { table: 'customer', kind: 'rows' }, times: 2, stalePage: true },
      { on: { table: 'customer', kind: 'rows' }, times: 1, dropRows: { where: { id: living } } },
    ]);
    const run = await company.run('customer', 'full');
    expect((await company.control('GET', '/state')).hits).toEqual([2, 1]);
    expect(run).toMatchObject({ status: 'succeeded', counts: { updated: 1, deleted: 0 } });
    const { count, absent } = await company.proof(run);
    expect(count?.facts).toEqual({ expected: customers.length, read: customers.length });
    expect(absent).toMatchObject({ passed: true, facts: { read: 1, absent: 0 } });
    const served = await company.readAll('v1/customers');
    expect(served.find(({ id }) => String(id) === living)).toMatchObject({ phone: '01 23' });
    // The deleted one was read before; the next run finds it.
    await company.expectSuccess('customer', 'full', { deleted: 1 });
    expect(await readIds('customers')).toEqual(
      customers.map(({ id }) => id).sort((a, b) => Number(a) - Number(b)),
    );
  });
});

describe('deletion proposals', () => {
  /** Hides some vendors, and returns the proposal that lists them. */
  async function heldVendors(ids: readonly string[], mode: (typeof modes)[number] = 'incremental') {
    await hide({ vendor: ids });
    const run = await company.run('vendor', mode);
    expect(run.status).toBe('partial');
    return proposal('vendor', run.error.proposalId);
  }

  it('show each record with what identifies it and when the ERP last had it', async () => {
    const before = await company.run('vendor', 'full');
    const found = await heldVendors(vendors.slice(0, 5));
    expect(found).toMatchObject({
      recordType: 'vendor',
      status: 'open',
      revision: 1,
      count: 5,
      closedAt: null,
      evidence: { mode: 'incremental', rows: 20, allowed: 2, feed: 'available', referenced: 0 },
      nextAfter: null,
    });
    const truth = new Map((await company.truth('vendor')).map((record) => [record.id, record.fields]));
    expect(found.records).toHaveLength(5);
    for (const record of found.records)
      expect(record).toMatchObject({
        number: truth.get(record.id)?.['entityid'],
        name: truth.get(record.id)?.['companyname'],
        date: null,
        amount: null,
        referencedBy: [],
      });
    // The full run before saw them, and the run that found them absent came after it.
    const [{ lastSeenAt }] = found.records;
    const startedAt = async (id: string) =>
      Date.parse((await company.api('get', `/sync-runs/${id}`)).body.startedAt);
    expect(Date.parse(lastSeenAt)).toBeGreaterThanOrEqual((await startedAt(before.id)) - 1000);
    expect(Date.parse(lastSeenAt)).toBeLessThanOrEqual(await startedAt(found.evidence.runId));
    const firstTwo = await proposal('vendor', found.id, '?limit=2');
    expect(firstTwo.records).toEqual(found.records.slice(0, 2));
    expect((await proposal('vendor', found.id, `?after=${firstTwo.nextAfter}`)).records).toEqual(
      found.records.slice(2),
    );
    expect((await proposals('vendor'))[0]).toMatchObject({ id: found.id, status: 'open', count: 5 });
    const { body: config } = await company.api('get', `/sync-configs/${await company.config('vendor')}`);
    expect(config.heldDeletions).toMatchObject({ proposalId: found.id, count: 5 });
    // The same ids keep the proposal, its revision and the time at which they were last seen.
    const again = await company.run('vendor', 'full');
    expect(await proposal('vendor', found.id)).toMatchObject({
      status: 'open',
      revision: 1,
      evidence: { runId: again.id, mode: 'full' },
      records: found.records.map(() => expect.objectContaining({ lastSeenAt })),
    });
    await settle('vendor');
    expect(await proposal('vendor', found.id)).toMatchObject({
      status: 'superseded',
      closedAt: expect.any(String),
    });
  });

  it.each(modes)('are approved in part, at the revision that was reviewed (%s run)', async (mode) => {
    const gone: string[] = [];
    for (let n = 101; n <= 106; n += 1) gone.push(await createVendor(n));
    await company.expectSuccess('vendor', 'incremental');
    for (const id of gone) await company.control('DELETE', `/records/vendor/${id}?listed=false`);
    const { error } = await company.run('vendor', mode);
    const [first = '', second = '', ...rest] = gone;
    const decide = (body: object) => approve('vendor', { proposalId: error.proposalId, ...body });
    expect(await decide({ revision: 2 })).toMatchObject({
      status: 422,
      body: { error: { details: [{ path: 'revision', code: 'stale_revision' }] } },
    });
    expect(await decide({ ids: [first, '999999'] })).toMatchObject({
      status: 422,
      body: { error: { details: [{ path: 'ids[1]', code: 'not_in_proposal' }] } },
    });
    expect(await decide({ ids: [first, second], revision: 1 })).toMatchObject({ status: 202 });
    expect(await proposal('vendor', error.proposalId)).toMatchObject({
      status: 'open',
      count: 4,
      revision: 2,
    });
    expect(await decide({ revision: 1 })).toMatchObject({
      status: 422,
      body: { error: { details: [{ code: 'stale_revision' }] } },
    });
    await company.run('vendor', mode);
    const served = await readIds('vendors');
    for (const id of [first, second]) expect(served).not.toContain(id);
    for (const id of rest) expect(served).toContain(id);
    expect((await proposals('vendor', '?status=applied'))[0]).toMatchObject({ count: 2 });
    expect(await proposals('vendor', '?status=open')).toMatchObject([
      { id: error.proposalId, count: 4, revision: 2 },
    ]);
    expect(await decide({ revision: 2 })).toMatchObject({ status: 202 });
    await company.expectSuccess('vendor', mode);
    expect(await readIds('vendors')).toEqual(vendors);
  });

  it('an approved record that exists in the ERP after all stays', async () => {
    const { id } = await heldVendors(vendors.slice(0, 3));
    await company.control('POST', '/reset');
    expect(await approve('vendor', { proposalId: id, revision: 1 })).toMatchObject({ status: 202 });
    await company.expectSuccess('vendor', 'incremental', { deleted: 0 });
    expect(await readIds('vendors')).toEqual(vendors);
  });

  it.each(modes)(
    'are rejected: the records stay, and runs succeed, until the ERP says more (%s run)',
    async (mode) => {
      const [back = '', gone = '', never = ''] = vendors;
      const { id } = await heldVendors([back, gone, never], mode);
      expect(await reject('vendor', id, { revision: 7 })).toMatchObject({
        status: 422,
        body: { error: { details: [{ code: 'stale_revision' }] } },
      });
      expect(await reject('vendor', id, { revision: 1, reason: 'hidden by mistake' })).toMatchObject({
        status: 200,
        body: { status: 'rejected', count: 3 },
      });
      await company.expectSuccess('vendor', mode, { deleted: 0 });
      await company.expectSuccess('vendor', 'full');
      expect(await readIds('vendors')).toEqual(vendors);
      const { body: config } = await company.api('get', `/sync-configs/${await company.config('vendor')}`);
      expect(config.heldDeletions).toBeNull();
      // A further one is deleted without them.
      const other = await createVendor(201);
      await company.expectSuccess('vendor', mode, { inserted: 1 });
      await company.control('DELETE', `/records/vendor/${other}`);
      await company.expectSuccess('vendor', mode, { deleted: 1 });
      // One of them is shown again, without a new modification time: it is compared again, and leaves the
      // list.
      await company.control('PATCH', `/records/vendor/${back}`, {
        fields: { companyname: `Back ${mode}` },
        touch: 'none',
      });
      await hide({ vendor: [gone, never] });
      await company.expectSuccess('vendor', mode, { updated: 1 });
      expect(await proposal('vendor', id)).toMatchObject({ status: 'rejected', count: 2 });
      // One of them is listed as deleted.
      await company.control('DELETE', `/records/vendor/${gone}`);
      await company.expectSuccess('vendor', mode, { deleted: 1 });
      expect(await proposal('vendor', id)).toMatchObject({ status: 'rejected', count: 1 });
      expect(await readIds('vendors')).toEqual(vendors.filter((vendor) => vendor !== gone));
      // A rejection can be taken back.
      await company.control('DELETE', `/records/vendor/${never}?listed=false`);
      expect(await approve('vendor', { proposalId: id })).toMatchObject({ status: 202 });
      await company.run('vendor', mode);
      expect(await readIds('vendors')).toEqual(
        vendors.filter((vendor) => vendor !== gone && vendor !== never),
      );
      await company.control('POST', '/reset');
      for (const restored of [gone, never])
        await company.control('POST', `/records/vendor/${restored}/restore`);
      await company.run('vendor', 'full');
      expect(await readIds('vendors')).toEqual(vendors);
    },
  );

  it('are found by their sync only', async () => {
    const { id } = await heldVendors(vendors.slice(0, 3));
    const other = await company.config('customer');
    expect((await company.api('get', `/sync-configs/${other}/deletion-proposals/${id}`)).status).toBe(404);
    expect(
      (await company.api('post', `/sync-configs/${other}/deletion-proposals/${id}/reject`, {})).status,
    ).toBe(404);
    expect(
      (await company.api('post', `/sync-configs/${other}/approve-deletions`, { proposalId: id })).status,
    ).toBe(404);
    await settle('vendor');
    expect(await reject('vendor', id)).toMatchObject({
      status: 422,
      body: { error: { details: [{ code: 'proposal_superseded' }] } },
    });
  });
});

// Last: from then on, this account's list is known to name deleted customers.
describe.each(modes)('a record that others still name and the ERP lists as deleted (%s run)', (mode) => {
  it('is deleted', async () => {
    const { id } = await company.control('POST', '/records/customer', { like: unnamed[0] });
    const { id: child } = await company.control('POST', '/records/customer', {
      like: unnamed[0],
      fields: { parent: id },
    });
    await company.expectSuccess('customer', 'incremental', { inserted: 2 });
    await hide({ customer: [id] });
    const held = await company.run('customer', mode);
    expect(held.status).toBe('partial');
    expect((await proposal('customer', held.error.proposalId)).records[0].referencedBy).toEqual([
      { recordType: 'customer', field: 'parent', count: 1 },
    ]);
    await company.control('POST', '/reset');
    for (const gone of [child, id]) await company.control('DELETE', `/records/customer/${gone}`);
    await company.expectSuccess('customer', mode, { deleted: 2 });
  });
});
