// A role restricted to subsidiaries, departments, locations and record types, in an account with three
// subsidiaries. The oracle reads the base tables, or what the role saw before it was restricted.
import { afterEach, describe, expect, it } from 'vitest';
import { createControlClient } from '../control-client.ts';
import { asAdmin } from '../loaded-account.ts';
import { toErrorDetail, useCaller } from '../test-account.ts';

const caller = useCaller({ profile: 'oneworld', control: {}, concurrencyLimit: 100 });
afterEach(() => createControlClient(caller).done('POST', '/reset'));

const restrict = (restrictions: object) =>
  createControlClient(caller).done('POST', '/role', { restrictions });

/** From the base tables, whatever the role can see. */
const truth = async (sql: string): Promise<string[]> =>
  asAdmin(caller.database, async (client) =>
    (await client.query({ text: sql, rowMode: 'array' })).rows.map(([value]) => String(value)),
  );
/** How many rows the role sees of each table. */
const seen = async (...tables: string[]): Promise<Record<string, number>> =>
  Object.fromEntries(
    await Promise.all(
      tables.map(
        async (table) => [table, Number(await caller.value(`SELECT COUNT(*) AS n FROM ${table}`))] as const,
      ),
    ),
  );
const counts = async (sql: Record<string, string>): Promise<Record<string, number>> =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(sql).map(async ([name, query]) => [name, Number((await truth(query))[0])] as const),
    ),
  );

const OF_2 = 'SELECT id FROM ledger.transaction WHERE subsidiary = 2';
const CUSTOMERS_OF_2 = `SELECT id FROM ledger.customer WHERE subsidiary = 2
  OR id IN (SELECT entity FROM ledger.customersubsidiary WHERE subsidiary = 2)`;

describe('a role restricted to one subsidiary', () => {
  const EXPECTED = {
    transaction: `SELECT count(*) FROM (${OF_2}) x`,
    transactionline: `SELECT count(*) FROM ledger.transactionline WHERE transaction IN (${OF_2})`,
    nexttransactionlinelink: `SELECT (SELECT count(*) FROM ledger.application WHERE credit IN (${OF_2}) AND invoice IN (${OF_2}))
      + (SELECT count(DISTINCT (createdfrom, transaction)) FROM ledger.transactionline WHERE createdfrom IN (${OF_2}) AND transaction IN (${OF_2}))`,
    customer: `SELECT count(*) FROM (${CUSTOMERS_OF_2}) x`,
    vendor: 'SELECT count(*) FROM ledger.vendor WHERE subsidiary = 2',
    employee: 'SELECT count(*) FROM ledger.employee WHERE subsidiary = 2',
    customersubsidiaryrelationship: `SELECT (SELECT count(*) FROM ledger.customer WHERE subsidiary = 2)
      + (SELECT count(*) FROM ledger.customersubsidiary WHERE subsidiary = 2)`,
    customeraddressbook: `SELECT count(*) FROM ledger.address WHERE entity IN (${CUSTOMERS_OF_2})`,
    subsidiary: 'SELECT 1',
    account:
      "SELECT count(*) FROM ledger.account WHERE subsidiary IS NULL OR '2' = ANY(string_to_array(replace(subsidiary, ' ', ''), ','))",
    item: "SELECT count(*) FROM ledger.item WHERE '2' = ANY(string_to_array(replace(subsidiary, ' ', ''), ','))",
  };

  it('sees its own rows and nothing else, in every table', async () => {
    const all = await seen(...Object.keys(EXPECTED), 'transactionaccountingline');
    await restrict({ subsidiaries: ['2'] });
    const visible = await seen(...Object.keys(EXPECTED));
    expect(visible).toEqual(await counts(EXPECTED));
    for (const table of ['transaction', 'transactionline', 'customer', 'vendor', 'subsidiary', 'account']) {
      expect(visible[table], table).toBeGreaterThan(0);
      expect(visible[table], table).toBeLessThan(all[table] ?? 0);
    }
    const { transactionaccountingline: postings = 0 } = await seen('transactionaccountingline');
    expect([postings > 0, postings < (all['transactionaccountingline'] ?? 0)]).toEqual([true, true]);
  });

  it('neither joins, subqueries, sums nor labels of rows show another one', async () => {
    await restrict({ subsidiaries: ['2'] });
    const one = async (q: string) => await caller.first(q);
    expect(await one('SELECT COUNT(DISTINCT t.subsidiary) AS n FROM transaction t')).toMatchObject({
      n: '1',
    });
    expect(
      await one(
        `SELECT COUNT(*) AS n FROM transactionline l JOIN transaction t ON t.id = l.transaction WHERE t.subsidiary <> 2`,
      ),
    ).toMatchObject({ n: '0' });
    expect(
      await one(
        'SELECT COUNT(*) AS n FROM customer WHERE id IN (SELECT entity FROM transaction WHERE subsidiary = 1)',
      ),
    ).toMatchObject({ n: '0' });
    const [sum] = await truth(
      'SELECT trim_scale(sum(foreigntotal)) FROM ledger.transaction WHERE subsidiary = 2',
    );
    expect(await one('SELECT SUM(foreigntotal) AS x FROM transaction')).toMatchObject({ x: sum });
    expect(await one("SELECT COUNT(*) AS n FROM entity e WHERE e.type = 'Vendor'")).toMatchObject({
      n: (await truth('SELECT count(*) FROM ledger.vendor WHERE subsidiary = 2'))[0],
    });
    expect(
      await one(
        'SELECT COUNT(*) AS n FROM map_customer_custentity_interests m WHERE NOT EXISTS (SELECT 1 FROM customer c WHERE c.id = m.mapone)',
      ),
    ).toMatchObject({ n: '0' });
    expect(await caller.column('SELECT id FROM subsidiary')).toEqual(['2']);
  });

  it('records of others are absent, alone, in lists and expanded', async () => {
    const [own = '', other = ''] = await Promise.all(
      [2, 1].map(
        async (id) =>
          (
            await truth(
              `SELECT min(id) FROM ledger.transaction WHERE type = 'CustInvc' AND subsidiary = ${id}`,
            )
          )[0],
      ),
    );
    await restrict({ subsidiaries: ['2'] });
    expect([
      (await caller.get(`record/v1/invoice/${own}`)).status,
      (await caller.get(`record/v1/invoice/${other}`)).status,
    ]).toEqual([200, 400]);
    expect((await caller.read('record/v1/invoice'))['totalResults']).toBe(
      Number(
        (
          await truth("SELECT count(*) FROM ledger.transaction WHERE type = 'CustInvc' AND subsidiary = 2")
        )[0],
      ),
    );
    const batch = await caller.get(`record/v1/invoice?expandRecords=true&ids=${own},${other}`);
    expect(batch.body.items.map(({ id }) => id)).toEqual([own]);
  });

  it('writes nothing of others, and refers to nothing of them', async () => {
    const [other = ''] = await truth(
      "SELECT min(id) FROM ledger.transaction WHERE type = 'CustInvc' AND subsidiary = 1",
    );
    const [unseen = ''] = await truth(
      `SELECT min(id) FROM ledger.customer WHERE id NOT IN (${CUSTOMERS_OF_2})`,
    );
    const [customer = ''] = await truth('SELECT min(id) FROM ledger.customer WHERE subsidiary = 2');
    const [item = ''] = await truth(
      "SELECT min(id) FROM ledger.item WHERE itemtype = 'InvtPart' AND isinactive = 'F' AND '2' = ANY(string_to_array(replace(subsidiary, ' ', ''), ','))",
    );
    await restrict({ subsidiaries: ['2'] });
    const changed = { memo: 'changed' };
    expect(await caller.status('PATCH', `record/v1/invoice/${other}`, changed)).toBe(400);
    expect(await caller.status('DELETE', `record/v1/invoice/${other}`)).toBe(400);
    expect(await caller.status('PATCH', `record/v1/customer/${unseen}`, { comments: 'x' })).toBe(404);
    const invoice = (entity: string) => ({
      entity: { id: entity },
      item: { items: [{ item: { id: item }, amount: 5 }] },
    });
    const refused = await caller.send('POST', 'record/v1/invoice', invoice(unseen));
    expect(toErrorDetail(refused)[1]).toContain(
      `Invalid Field Value ${unseen} for the following field: entity`,
    );
    const newcomer = await caller.send('POST', 'record/v1/customer', {
      companyName: 'New',
      subsidiary: { id: '1' },
    });
    expect(toErrorDetail(newcomer)[1]).toContain('Invalid Field Value 1 for the following field: subsidiary');
    const made = await caller.create('invoice', invoice(customer));
    expect((await caller.get(`record/v1/invoice/${made}`)).status).toBe(200);
    expect(await caller.status('PATCH', `record/v1/invoice/${made}`, changed)).toBe(204);
    expect(await caller.status('DELETE', `record/v1/invoice/${made}`)).toBe(204);
  });

  it('may view them when it is allowed to, and still not write them', async () => {
    const all = await seen('transaction', 'customer', 'transactionline');
    const [other = ''] = await truth(
      "SELECT min(id) FROM ledger.transaction WHERE type = 'CustInvc' AND subsidiary = 1",
    );
    await restrict({ subsidiaries: { ids: ['2'], viewing: true } });
    expect(await seen('transaction', 'customer', 'transactionline')).toEqual(all);
    expect((await caller.get(`record/v1/invoice/${other}`)).status).toBe(200);
    expect(await caller.status('PATCH', `record/v1/invoice/${other}`, { memo: 'x' })).toBe(403);
    const [customer = ''] = await truth('SELECT min(id) FROM ledger.customer WHERE subsidiary = 1');
    expect(await caller.rejection('POST', 'record/v1/invoice', { entity: customer })).toContain(
      `Invalid Field Value ${customer} for the following field: entity`,
    );
  });
});

describe('a role restricted to a segment', () => {
  it('sees the transactions of its departments and of those below them', async () => {
    const count = async (condition: string) =>
      Number((await truth(`SELECT count(*) FROM ledger.transaction WHERE ${condition}`))[0]);
    const departments = await truth(
      'SELECT DISTINCT department FROM ledger.transaction WHERE department IS NOT NULL ORDER BY 1',
    );
    expect(departments.length).toBeGreaterThan(1);
    await restrict({ departments: ['1'] }); // department 3 is below it
    expect((await seen('transaction'))['transaction']).toBe(await count('department IN (1, 3)'));
    expect(await caller.column('SELECT id FROM department ORDER BY id')).toEqual(['1', '3']);
    await restrict({ departments: { ids: ['2'], unassigned: true } });
    expect((await seen('transaction'))['transaction']).toBe(
      await count('department = 2 OR department IS NULL'),
    );
    const [hidden = ''] = await truth('SELECT min(id) FROM ledger.transaction WHERE department = 1');
    await caller.expectNone(`SELECT uniquekey FROM transactionline WHERE transaction = ${hidden}`);
  });

  it('applies to items only when it says so', async () => {
    const all = await seen('item');
    await restrict({ locations: { ids: ['1'] }, classes: { ids: ['1'] } });
    expect(await seen('item')).toEqual(all);
    await restrict({ classes: { ids: ['1'], items: true } });
    expect((await seen('item'))['item']).toBe(
      Number((await truth('SELECT count(*) FROM ledger.item WHERE class IS NULL OR class IN (1, 3)'))[0]),
    );
  });

  it('combines with subsidiaries and record types', async () => {
    await restrict({
      subsidiaries: ['1', '2'],
      departments: { ids: ['1'], unassigned: true },
      recordTypes: { vendorBill: 'none', journalEntry: 'none' },
    });
    const [expected] =
      await truth(`SELECT count(*) FROM ledger.transaction WHERE subsidiary IN (1, 2) AND (department IS NULL OR department IN (1, 3))
      AND type NOT IN ('VendBill', 'Journal')`);
    expect(await caller.value('SELECT COUNT(*) AS n FROM transaction')).toBe(expected);
    expect((await caller.get('record/v1/vendorBill')).status).toBe(403);
  });
});
