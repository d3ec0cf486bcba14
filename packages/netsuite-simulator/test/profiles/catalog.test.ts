// The metadata catalog, the record service and queries agree and disagree as in real accounts.
import { beforeAll, describe, expect, it } from 'vitest';
import { PROFILE_TYPES } from '../../src/records/profile-types.ts';
import { UNAVAILABLE_TYPES } from '../../src/tables/all-tables.ts';
import { CUSTOM_LISTS, CUSTOM_RECORD_TYPES } from '../../src/tables/custom-records.ts';
import { CATALOG, toErrorDetail, useCaller } from '../test-account.ts';

describe.each(['single', 'oneworld'] as const)('%s', (profile) => {
  const caller = useCaller({ profile });
  let names: string[];
  beforeAll(async () => {
    names = (await caller.read(CATALOG)).items.map(({ name }) => name ?? '');
  });

  it('lists at least 40 standard and 8 custom record types, each once', () => {
    const custom = names.filter((name) => name.startsWith('customrecord_'));
    const lists = names.filter((name) => name.startsWith('customlist_'));
    expect([custom.length, lists.length]).toEqual([CUSTOM_RECORD_TYPES.length, CUSTOM_LISTS.length]);
    expect(names.length - custom.length - lists.length - UNAVAILABLE_TYPES.length).toBeGreaterThanOrEqual(40);
    expect(new Set(names).size).toBe(names.length);
    expect(names.includes('subsidiary')).toBe(profile === 'oneworld');
  });

  it('serves lists and records of every available type, with nothing but what the catalog describes', async () => {
    const empty: string[] = []; // what the shop doesn't do
    for (const name of names.filter((each) => !UNAVAILABLE_TYPES.includes(each))) {
      const list = await caller.get(`record/v1/${name}?limit=2`);
      expect(list.status, name).toBe(200);
      const described = await caller.readProperties(name);
      for (const { id } of list.body.items) {
        const { status, body } = await caller.get(`record/v1/${name}/${id}?expandSubResources=true`);
        expect([status, body['id']], name).toEqual([200, id]);
        expect(
          Object.keys(body).filter((key) => !(key in described)),
          name,
        ).toEqual([]);
      }
      if (list.body.items.length === 0) empty.push(name);
      const swagger = await caller.get(`${CATALOG}/${name}`, { accept: 'application/swagger+json' });
      expect(Object.keys(swagger.body['paths'] as object), name).toEqual([`/${name}`, `/${name}/{id}`]);
    }
    expect(empty.sort()).toEqual([
      'assemblyItem',
      'cashRefund',
      'cashSale',
      'check',
      'depositApplication',
      'expenseReport',
      'kitItem',
      'opportunity',
      'otherChargeSaleItem',
      'returnAuthorization',
      'transferOrder',
      'workOrder',
    ]);
  });

  it('has every property of every type on a column of its table', async () => {
    for (const { name, properties, table, isUnavailable } of PROFILE_TYPES) {
      if (isUnavailable || !names.includes(name)) continue;
      const described = await caller.readProperties(name);
      const missing = properties
        .filter((property) => !(property.name in described))
        .map((property) => property.name);
      const isOptional = (property: string) =>
        [
          'externalId',
          'isInactive',
          'lastModifiedDate',
          'name',
          'parent',
          'created',
          'lastModified',
        ].includes(property) ||
        (profile === 'single' && /subsidiary/i.test(property));
      expect(
        missing.filter((property) => !isOptional(property)),
        `${name} on ${table}`,
      ).toEqual([]);
    }
  });

  it('lists 71 types that queries don’t find and the role may not read', async () => {
    expect(UNAVAILABLE_TYPES).toHaveLength(71);
    for (const name of UNAVAILABLE_TYPES) {
      expect(names).toContain(name);
      expect(Object.keys(await caller.readProperties(name))).toContain('id');
      expect(await caller.refusal(`SELECT id FROM ${name}`)).toBe(
        `Search error occurred: Record '${name.toLowerCase()}' was not found.`,
      );
      const read = await caller.get(`record/v1/${name}`);
      expect([read.status, toErrorDetail(read)[2] ?? ''], name).toEqual([403, 'INSUFFICIENT_PERMISSION']);
    }
    for (const name of ['invoice', 'salesorder', 'vendorbill'])
      expect(await caller.refusal(`SELECT id FROM ${name}`)).toBe(`Invalid search type: ${name}.`);
  });

  it('has fields that queries lack, and lacks columns that they have', async () => {
    const invoice = await caller.readProperties('invoice');
    expect(invoice).toHaveProperty('customForm');
    expect(invoice).toHaveProperty(
      'custbody_margin',
      expect.objectContaining({ type: 'number', 'x-ns-custom-field': true }),
    );
    const row = await caller.first(
      "SELECT id, custbody_batch, abbrevtype, trandisplayname FROM transaction WHERE type = 'CustInvc' AND custbody_batch IS NOT NULL ORDER BY id FETCH FIRST 1 ROWS ONLY",
    );
    for (const name of ['custbody_batch', 'abbrevType', 'tranDisplayName'])
      expect(invoice).not.toHaveProperty(name);
    expect(Object.keys(row).sort()).toEqual(['abbrevtype', 'custbody_batch', 'id', 'trandisplayname']);
    const { body } = await caller.get(`record/v1/invoice/${row['id']}`);
    expect(body).not.toHaveProperty('custbody_batch');
    expect(body).toMatchObject({ customForm: { id: '101', refName: 'Standard Form' }, toBePrinted: false });
    expect(await caller.refusal('SELECT customform FROM transaction')).toContain(
      "Field 'customform' for record 'transaction' was not found",
    );
  });

  it('describes custom fields by their kind', async () => {
    const customer = await caller.readProperties('customer');
    const custom = Object.fromEntries(
      Object.entries(customer).filter(([name]) => name.startsWith('custentity')),
    );
    expect(Object.values(custom).every((property) => property['x-ns-custom-field'])).toBe(true);
    expect(custom).toMatchObject({
      custentity_newsletter: { type: 'boolean' },
      custentity_customer_since: { type: 'string', format: 'date' },
      custentity_credit_checked: { type: 'string', format: 'date-time' },
      custentity_lifetime_value: { type: 'number' },
      custentity_shops: { type: 'integer' },
      custentity_history: { type: 'string' },
      custentity_channel: { type: 'object', properties: { id: { enum: ['1', '2', '3', '5', '6'] } } },
      custentity_interests: { type: 'object', properties: { items: { type: 'array' } } },
      custentity_account_manager: { $ref: '/services/rest/record/v1/metadata-catalog/employee' },
      custentity_territory: {
        $ref: '/services/rest/record/v1/metadata-catalog/customrecord_sales_territory',
      },
    });
  });

  it('shows amounts and quantities as people enter them', async () => {
    for (const [name, isMoved] of [
      ['vendorBill', true],
      ['purchaseOrder', true],
      ['itemReceipt', false],
      ['itemFulfillment', false],
      ['estimate', true],
      ['vendorPayment', false],
    ] as const) {
      const [{ id } = {}] = (await caller.read(`record/v1/${name}?limit=1`)).items;
      const { body } = await caller.get(`record/v1/${name}/${id}?expandSubResources=true`);
      if ('total' in body) expect(body['total'], name).toBeGreaterThan(0);
      const { items = [] } = (body['item'] ?? {}) as { items?: { quantity: number; amount: number }[] };
      // A bill may be for expenses alone.
      if (name !== 'vendorBill' && name !== 'vendorPayment') expect(items.length, name).toBeGreaterThan(0);
      for (const line of items) expect(line.quantity, name).toBeGreaterThan(0);
      if (isMoved && items.length > 0) expect(items[0]?.amount, name).toBeGreaterThan(0);
    }
  });

  it('a journal’s lines are its postings, which balance', async () => {
    const { items } = await caller.read('record/v1/journalEntry?limit=10');
    expect(items).toHaveLength(10);
    for (const { id } of items) {
      const lines = (await caller.read(`record/v1/journalEntry/${id}/line`)).items as unknown as {
        debit?: number;
        credit?: number;
      }[];
      const pence = lines.map(
        ({ debit = 0, credit = 0 }) => Math.round(debit * 100) - Math.round(credit * 100),
      );
      expect([lines.length > 1, pence.reduce((sum, each) => sum + each, 0)], id).toEqual([true, 0]);
    }
  });

  it('refers to some types that it doesn’t list, as real accounts do', async () => {
    const absent = new Set<string>();
    for (const name of names) {
      for (const [, to = ''] of JSON.stringify(await caller.readProperties(name)).matchAll(
        /"\$ref":"[^"]+\/([^"/]+)"/g,
      ))
        if (to !== 'nsLink' && !names.includes(to)) absent.add(to);
    }
    expect([...absent].sort()).toEqual(['address', 'customForm', 'customerStatus', 'transaction']);
    for (const name of absent) expect((await caller.get(`${CATALOG}/${name}`)).status).toBe(404);
    await caller.readProperties('nsLink');
  });
});
