// C: changes that leave no trace in the ERP, neither in a modification time nor in a field that is compared
// daily. The rolling full read finds them within its period, and a proof never claims more than what was
// compared.
import { Client } from 'pg';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { demoEndpoints } from '../../demo/schema.ts';
import { differingIds, type Run, useCompany } from './company.ts';
import { passDays, setClock } from './invoices.ts';

const demoCustomers = demoEndpoints.find(({ name }) => name === 'customers');
const phone = { name: 'phone', source: 'phone', description: 'Phone' };
const customers = { ...demoCustomers, fields: [...(demoCustomers?.fields ?? []), phone] };
const vendors = {
  ...{ name: 'vendors', recordType: 'vendor', description: 'Vendors' },
  fields: [{ name: 'number', source: 'entityid', description: 'Number' }, phone],
  ...{ filters: [], sorts: ['number'], defaultSort: { field: 'number', order: 'asc' }, maxPageSize: 1000 },
};

// Three pages of customers.
const company = useCompany({ sync: { pageSize: 500 } });
beforeAll(async () => {
  await setClock(company, '2011-09-05T09:00:00Z');
  await company.control('POST', '/records/vendor', { fields: { entityid: 'V1' } });
  for (const type of ['customer', 'vendor'])
    await company.expectSuccess(type, 'incremental', {}, { mode: 'full' });
  expect(await company.publish([customers, vendors])).toBe('v1');
});

const resources = { customer: 'v1/customers', vendor: 'v1/vendors' } as const;
type Type = keyof typeof resources;

/** Ids of records that are served with another phone than the ERP has, or that only one side has. */
async function wrong(type: Type): Promise<string[]> {
  const served = new Map<string, unknown>(
    (await company.readAll(resources[type])).map((record) => [String(record.id), record.phone]),
  );
  const truth = new Map((await company.truth(type)).map(({ id, fields }) => [id, fields['phone'] ?? null]));
  return differingIds(served, truth);
}
const edit = (type: Type, id: string, value: string) =>
  company.control('PATCH', `/records/${type}/${id}`, { fields: { phone: value }, touch: 'none' });
const fullRead = async (type: Type) =>
  (await company.api('get', `/sync-configs/${await company.config(type)}`)).body.fullRead;
/** The last one: a pass reads it at its end. */
const lastCustomer = async () => (await company.truth('customer')).at(-1)?.id ?? '';

/** Runs once a day until nothing served is wrong, for at most eight days. */
async function runUntilRight(type: Type): Promise<Run[]> {
  const runs: Run[] = [];
  for (let days = 1; days <= 8; days += 1) {
    await passDays(company, 1);
    const run = await company.expectSuccess(type, 'incremental', {}, { mode: 'incremental' });
    runs.push(run);
    if ((await wrong(type)).length === 0) return runs;
  }
  throw new Error(`still wrong after eight days: ${await wrong(type)}`);
}

describe('a header field that changes without a modification time', () => {
  it('is served within the period of the rolling read', async () => {
    await edit('customer', await lastCustomer(), '555-0100');
    const runs = await runUntilRight('customer');
    expect(runs.length).toBeLessThanOrEqual(7);
    const proofs = await Promise.all(runs.map((run) => company.proof(run)));
    expect(proofs[0]?.['scan']?.message).toMatch(
      /were compared, .*\. All other fields of records whose modification time did not move were last read in full between 2011-09-05T09:00:\d\dZ and 2011-09-06T09:00:/,
    );
    const slices = proofs.flatMap(({ rolling }) => rolling ?? []);
    expect(slices).toHaveLength(3);
    expect(slices[0]?.message).toMatch(
      /^Records up to id \d+ were read in full: 500 in this run, 500 of \d+ in the pass that began at 2011-09-09T/,
    );
    expect(slices[1]?.message).toMatch(
      /^Records after id \d+ up to id \d+ were read in full: 500 in this run, 1000 of \d+ in the pass that began at /,
    );
    expect(slices[2]?.message).toMatch(
      /^Records after id \d+ to the last one were read in full: \d+ in this run, which ends the pass that began at /,
    );
    expect(slices.reduce((sum, { facts }) => sum + facts.records, 0)).toBe(
      (await company.truth('customer')).length,
    );
    const view = await fullRead('customer');
    expect(view).toMatchObject({ periodDays: 7, expectedDays: null, passStartedAt: null, records: 0 });
    expect(view.completeSince).toBe(slices[0]?.facts.passStartedAt.replace(/\.\d+Z$/, 'Z'));
  });

  it('is served by a full run', async () => {
    await edit('customer', await lastCustomer(), '555-0101');
    await company.expectSuccess('customer', 'full', { updated: 1 });
    expect(await wrong('customer')).toEqual([]);
  });
});

describe('a record without a modification time', () => {
  it('is served when it is new, and its changes within the period', async () => {
    await company.run('vendor', 'full');
    // The account's tables require one; real accounts have records without.
    const books = new Client({ ...inject('pg'), database: company.erp.database });
    await books.connect();
    await books
      .query('alter table ledger.vendor alter column lastmodifieddate drop not null')
      .finally(() => books.end());
    const { id, fields } = await company.control('POST', '/records/vendor', {
      fields: { entityid: 'V2', phone: '555-0102', lastmodifieddate: null },
    });
    expect(fields.lastmodifieddate).toBeUndefined();
    await company.expectSuccess('vendor', 'incremental', { inserted: 1 });
    expect(await wrong('vendor')).toEqual([]);
    await edit('vendor', id, '555-0103');
    expect((await runUntilRight('vendor')).length).toBeLessThanOrEqual(7);
  });
});

describe('an idle incremental run', () => {
  // In addition to 8 and 7: the calendar day, and for documents changes of lines and those that were closed
  // recently.
  it.each([
    ['customer', 8 + 2],
    ['creditMemo', 7 + 3],
  ])('of type %s sends few more requests than it did, and counts them', async (type, most) => {
    await company.run(type, 'full');
    await company.run(type);
    const sent = async (): Promise<number> =>
      Object.values((await company.control('GET', '/state')).requests as Record<string, number>).reduce(
        (sum, count) => sum + count,
        0,
      );
    const before = await sent();
    const run = await company.run(type);
    const total = (await sent()) - before;
    expect(run).toMatchObject({ status: 'succeeded', mode: 'incremental', counts: { fetched: 0 } });
    expect(total).toBeLessThanOrEqual(most);
    expect((await company.api('get', `/sync-runs/${run.id}`)).body.requests).toBe(total);
  });
});
