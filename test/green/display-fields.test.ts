// The readable fields of documents (signs of lines, status without the type) in an existing database: one
// that a version without them filled gets them by itself, callers of its versions notice nothing, and they
// follow the account as the raw fields do.
import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/db/transaction.ts';
import { writeAccountData } from '../chaos/account-data.ts';
import { createScratchFolder } from '../setup/scratch-folder.ts';
import { type Company, type ErpRecord, startCompany } from './company.ts';

let company: Company;
let folder: string;
const field = (name: string, source: string) => ({ name, source });
const raw = [
  field('status', 'status.name'),
  {
    ...field('lines', 'lines'),
    fields: [
      field('line', 'linesequencenumber'),
      field('quantity', 'quantity'),
      field('net', 'netamount'),
      field('amount', 'foreignamount'),
    ],
  },
];
const readable = [
  ...raw.filter(({ name }) => name !== 'lines'),
  field('shownStatus', 'displayStatus'),
  {
    ...field('lines', 'lines'),
    fields: [
      field('line', 'linesequencenumber'),
      field('quantity', 'quantity'),
      field('shownQuantity', 'displayQuantity'),
      field('shownNet', 'displayNetAmount'),
      field('shownAmount', 'displayForeignAmount'),
    ],
  },
];
const types = { invoices: 'invoice', credits: 'creditMemo' } as const;
const endpoints = (fields: readonly object[]) =>
  Object.entries(types).map(([name, recordType]) => ({ name, recordType, fields, maxPageSize: 1000 }));

/** Leaves out of the stored metadata what a version of the service before these fields doesn't know. */
async function forgetReadableFields(): Promise<void> {
  const { organizationId, database } = company;
  const isKnown = ({ name }: { name: string }): boolean =>
    !name.startsWith('display') || name === 'displayname';
  await inTransaction({ ...database.ctx, organizationId }, async (tx) => {
    const stored = await tx('erp_record_types').whereNotNull('description').select('name', 'description');
    for (const { name, description } of stored) {
      const known = (description.fields as { name: string; fields?: { name: string }[] }[])
        .filter(isKnown)
        .map((one) => (one.fields === undefined ? one : { ...one, fields: one.fields.filter(isKnown) }));
      await tx('erp_record_types')
        .where({ name })
        .update({ description: JSON.stringify({ ...description, fields: known }) });
    }
  });
}

const changesFrom = async (resource: string, since: string) =>
  (await company.read(`/v1/${resource}/changes?limit=1000${since === '' ? '' : `&since=${since}`}`)).body;
async function latestToken(resource: string): Promise<string> {
  for (let since = ''; ; ) {
    const { next, hasMore } = await changesFrom(resource, since);
    since = next;
    if (!hasMore) return since;
  }
}

const documents = async (type: string): Promise<ErpRecord[]> => await company.transactions(type);
type Line = Readonly<
  Record<'line' | 'quantity' | 'shownQuantity' | 'shownNet' | 'shownAmount', number | null>
>;
const listLines = ({ lines = [] }: ErpRecord) =>
  lines
    .map(({ fields }) => fields)
    .filter((line) => ['mainline', 'taxline', 'iscogs'].every((flag) => line[flag] !== 'T'));
/** By the account's own texts. Adding zero turns -0 into 0. */
const shown = (text: string | undefined, sign: 1 | -1): number | null =>
  text === undefined ? null : Number(text) * sign + 0;
const statuses: Readonly<Record<string, string>> = {
  'CustInvc A': 'Open',
  'CustInvc B': 'Paid In Full',
  'CustCred A': 'Open',
  'CustCred B': 'Fully Applied',
};

/** Ids whose readable fields are other than the account's. */
async function wrong(resource: string, type: string, sign: 1 | -1): Promise<string[]> {
  const served = new Map((await company.readAll(`v2/${resource}`)).map((record) => [record.id, record]));
  return (await documents(type)).flatMap((record) => {
    const { shownStatus, lines = [] } = served.get(record.id) ?? {};
    const here = lines.map((line: Line) => [line.line, line.shownQuantity, line.shownNet, line.shownAmount]);
    const there = listLines(record).map((line) => [
      Number(line['linesequencenumber']),
      shown(line['quantity'], sign),
      shown(line['netamount'], sign),
      shown(line['netamount'], sign), // every exchange rate is 1
    ]);
    const isRight =
      shownStatus === statuses[`${type} ${record.fields['status']}`] &&
      JSON.stringify(here) === JSON.stringify(there);
    return isRight ? [] : [record.id];
  });
}

beforeAll(async () => {
  folder = await createScratchFolder('display-fields-');
  await writeAccountData(folder, { large: false });
  company = await startCompany({ folder });
  await forgetReadableFields();
  for (const type of Object.values(types)) await company.run(type);
  await company.publish(endpoints(raw));
});
afterEach(() => company.control('POST', '/reset'));
afterAll(async () => {
  await company.stop();
  await rm(folder, { recursive: true });
});

describe('a database that a version without these fields filled', () => {
  it('is filled by one full run after the next reading of the metadata, and no caller of v1 gets a change', async () => {
    const before = await company.readAll('v1/invoices');
    const token = await latestToken('invoices');
    await company.expectSuccess('invoice', 'incremental', {}, { mode: 'incremental' });
    await company.refresh();
    for (const type of Object.values(types))
      await company.expectSuccess(type, 'incremental', { inserted: 0, deleted: 0 }, { mode: 'full' });
    await company.expectSuccess('invoice', 'incremental', { updated: 0 }, { mode: 'incremental' });
    expect(await company.readAll('v1/invoices')).toEqual(before);
    expect(await changesFrom('invoices', token)).toMatchObject({ data: [], hasMore: false });
  });

  it('then serves every line and status the way the document shows it, in a new version', async () => {
    expect(await company.publish(endpoints(readable))).toBe('v2');
    expect(await wrong('invoices', 'CustInvc', -1)).toEqual([]);
    expect(await wrong('credits', 'CustCred', 1)).toEqual([]);
    const [invoice] = await company.readAll('v2/invoices');
    expect(invoice.lines[0].quantity).toBeLessThan(0);
    expect(invoice.lines[0].shownQuantity).toBe(-invoice.lines[0].quantity);
    expect(invoice.status).toBe(`Invoice : ${invoice.shownStatus}`);
  });
});

describe('they follow the account', () => {
  it('a status and a line that change without a modification time: the readable fields with the raw ones', async () => {
    const [open] = (await documents('CustInvc')).filter(({ fields }) => fields['status'] === 'A');
    const id = open?.id ?? '';
    await company.control('PATCH', `/records/transaction/${id}`, { fields: { status: 'B' }, touch: 'none' });
    await company.expectSuccess('invoice', 'incremental', { updated: 1 });
    expect((await company.read(`/v2/invoices/${id}`)).body.data).toMatchObject({
      status: 'Invoice : Paid In Full',
      shownStatus: 'Paid In Full',
    });
    const [line] = (await company.control('GET', `/records/transaction/${id}`)).lines;
    await company.control('PATCH', `/records/transaction/${id}`, {
      lines: [{ line: line.line, fields: { quantity: '-7.50' } }],
      touch: 'lines',
    });
    await company.expectSuccess('invoice', 'incremental', { updated: 1 });
    expect(await wrong('invoices', 'CustInvc', -1)).toEqual([]);
  });

  it('a status that the role can no longer read: both are named, and both heal', async () => {
    await company.control('PUT', '/hidden', { columns: { transaction: ['status'] } });
    await company.refresh();
    await company.expectPartial('invoice', 'incremental', 'FIELDS_UNREADABLE');
    const stale = (await company.read('/v2/invoices?pageSize=1')).headers['x-data-stale-fields'];
    expect(stale).toContain('status');
    expect(stale).toContain('shownStatus');
    await company.control('PUT', '/hidden', {});
    await company.expectSuccess('invoice', 'incremental');
    expect(await wrong('invoices', 'CustInvc', -1)).toEqual([]);
  });
});

describe('they alone, without the raw ones', () => {
  let id: string;
  const readStatus = async () => (await company.read(`/v3/orders/${id}`)).body.data.status;
  beforeAll(async () => {
    const [invoice] = await documents('CustInvc');
    const order = { like: invoice?.id, fields: { type: 'SalesOrd', status: 'B' } };
    ({ id } = await company.control('POST', '/records/transaction', order));
    await company.refresh();
    await company.config('salesOrder', { fields: ['tranid', 'displayStatus'] });
    await company.expectSuccess('salesOrder', 'incremental');
    const lines = {
      ...field('lines', 'lines'),
      fields: [field('line', 'linesequencenumber'), field('quantity', 'displayQuantity')],
    };
    const published = [
      { name: 'orders', recordType: 'salesOrder', fields: [field('status', 'displayStatus')] },
      { name: 'invoices', recordType: 'invoice', fields: [lines], maxPageSize: 1000 },
    ];
    expect(await company.publish(published)).toBe('v3');
  });

  it('follow a change without a modification time', async () => {
    expect(await readStatus()).toBe('Pending Fulfillment');
    await company.control('PATCH', `/records/transaction/${id}`, { fields: { status: 'A' }, touch: 'none' });
    await company.expectSuccess('salesOrder', 'incremental', { updated: 1 });
    expect(await readStatus()).toBe('Pending Approval');
  });

  it('are filtered, sorted and shown by views', async () => {
    const filters = [{ field: 'displayStatus', operator: 'eq', value: 'Pending Approval' }];
    const sort = [{ field: 'displayStatus', direction: 'asc' }];
    const view = { name: 'x', recordType: 'salesOrder', columns: ['tranid', 'displayStatus'], filters, sort };
    const made = await company.api('post', '/views', view);
    expect(made.status, made.text).toBe(201);
    const { body } = await company.api('get', `/views/${made.body.id}/records`);
    expect(body).toMatchObject({ data: [{ id, displayStatus: 'Pending Approval' }], problems: [] });
  });

  it('are named as stale while the role hides what they come from, in the header too, and heal', async () => {
    const configured = { salesOrder: ['orders', 'status'], invoice: ['invoices', 'lines'] } as const;
    const before = await company.readAll('v3/invoices');
    await company.control('PUT', '/hidden', {
      columns: { transaction: ['status'], transactionline: ['quantity'] },
    });
    for (const [type, [resource, stale]] of Object.entries(configured)) {
      expect(await company.run(type, 'full'), type).toMatchObject({
        status: 'partial',
        error: { code: 'FIELDS_UNREADABLE' },
      });
      const { headers } = await company.read(`/v3/${resource}?pageSize=1`);
      expect(headers['x-data-stale-fields']).toMatch(new RegExp(`^${stale}; since=`));
    }
    expect([await readStatus(), await company.readAll('v3/invoices')]).toEqual(['Pending Approval', before]);
    await company.control('PUT', '/hidden', {});
    for (const [type, [resource]] of Object.entries(configured)) {
      expect(await company.run(type), type).toMatchObject({ status: 'succeeded' });
      expect(
        (await company.read(`/v3/${resource}?pageSize=1`)).headers['x-data-stale-fields'],
      ).toBeUndefined();
    }
    expect(await wrong('invoices', 'CustInvc', -1)).toEqual([]);
  });

  it('can be accepted as missing', async () => {
    await company.control('PUT', '/hidden', { columns: { transaction: ['status'] } });
    await company.expectPartial('salesOrder', 'full', 'FIELDS_UNREADABLE');
    const config = await company.config('salesOrder');
    const accepted = await company.api('post', `/sync-configs/${config}/accept-missing-fields`, {
      fields: ['displayStatus'],
    });
    expect(accepted.status, accepted.text).toBe(202);
    await company.expectSuccess('salesOrder', 'full');
  });
});
