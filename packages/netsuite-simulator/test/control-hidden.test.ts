// What the control interface hides from the role: tables, columns and rows, in queries, records and metadata.
import { afterEach, describe, expect, it } from 'vitest';
import { type Json, useControlled } from './control-client.ts';
import { CATALOG } from './test-account.ts';

const world = useControlled();
afterEach(() => world.done('POST', '/reset'));

const hide = (hidden: object) => world.done('PUT', '/hidden', hidden);
const catalogNames = async (): Promise<unknown[]> =>
  (await world.read(CATALOG)).items.map((item) => item['name']);
describe('a hidden table', () => {
  it('is not found in queries, denied as records, and absent from the catalog', async () => {
    await hide({ tables: ['customer'] });
    expect(await world.refusal('SELECT id FROM customer')).toBe(
      "Search error occurred: Record 'customer' was not found.",
    );
    expect(
      await world.refusal('SELECT t.id FROM transaction t JOIN customer c ON c.id = t.entity'),
    ).toContain("Record 'customer'");
    expect((await world.get('record/v1/customer/1')).status).toBe(403);
    expect(await world.status('POST', 'record/v1/customer', { companyName: 'X', subsidiary: '1' })).toBe(403);
    expect(await catalogNames()).not.toContain('customer');
    expect((await world.get('record/v1/metadata-catalog/customer')).status).toBe(404);
    await world.done('POST', '/reset');
    expect((await world.rows('SELECT id FROM customer')).length).toBe(2);
    expect(await catalogNames()).toContain('customer');
  });

  it('transactionline takes the lines of every transaction', async () => {
    await hide({ tables: ['transactionline'] });
    expect(await world.refusal('SELECT uniquekey FROM transactionline')).toContain(
      "Record 'transactionline'",
    );
    expect(await world.read('record/v1/invoice/101?expandSubResources=true')).not.toHaveProperty('item');
    expect(await world.readProperties('invoice')).not.toHaveProperty('item');
  });
});

describe('a hidden column', () => {
  it('is an unknown identifier, and absent from *, records and the catalog', async () => {
    await hide({ columns: { transaction: ['duedate'], transactionline: ['memo'] } });
    expect(await world.refusal('SELECT id, duedate FROM transaction')).toContain(
      "Unknown identifier 'duedate'",
    );
    expect(await world.refusal('SELECT id FROM transaction WHERE duedate IS NULL')).toContain(
      "Unknown identifier 'duedate'",
    );
    expect(await world.first('SELECT * FROM transaction WHERE id = 101')).not.toHaveProperty('duedate');
    const { body } = await world.get('record/v1/invoice/101?expandSubResources=true');
    expect(['tranDate' in body, 'dueDate' in body]).toEqual([true, false]);
    expect((body['item'] as Json).items[0]).not.toHaveProperty('description');
    const properties = await world.readProperties('invoice');
    expect(['tranDate' in properties, 'dueDate' in properties]).toEqual([true, false]);
    expect(properties['item'].properties.items.items.properties).not.toHaveProperty('description');
    await world.done('POST', '/reset');
    expect(await world.first('SELECT duedate FROM transaction WHERE id = 101')).toHaveProperty('duedate');
  });

  it('hidden by the account’s owner stays hidden after a reset', async () => {
    world.account.setColumnVisible('customer', 'email', false);
    await hide({ columns: { customer: ['email'] } });
    await world.done('POST', '/reset');
    expect(await world.refusal('SELECT email FROM customer')).toContain("Unknown identifier 'email'");
    world.account.setColumnVisible('customer', 'email', true);
  });
});

describe('hidden rows', () => {
  it('are absent from rows, counts, joins, subqueries and records, and nothing else changes', async () => {
    await hide({ rows: { transaction: ['103'], customer: [2] } });
    expect(await world.column('SELECT id FROM transaction ORDER BY id')).toEqual(
      [1, 2, 4, 5, 6, 7].map((n) => `10${n}`),
    );
    expect(await world.value('SELECT COUNT(*) AS n FROM transaction')).toBe('6');
    expect(
      await world.value('SELECT COUNT(*) AS n FROM transaction t JOIN customer c ON c.id = t.entity'),
    ).toBe('3');
    expect(
      await world.value('SELECT COUNT(*) AS n FROM dual WHERE 103 IN (SELECT id FROM transaction)'),
    ).toBe('0');
    expect(await world.value('SELECT COUNT(*) AS n FROM transactionline')).toBe('18');
    expect((await world.get('record/v1/customer/2')).status).toBe(404);
    expect((await world.get('record/v1/invoice/103')).status).toBe(400);
    expect(await world.status('PATCH', 'record/v1/customer/2', { comments: 'x' })).toBe(404);
    expect(await world.status('DELETE', 'record/v1/invoice/103')).toBe(400);
    expect((await world.read('record/v1/customer'))['totalResults']).toBe(1);
    expect((await world.read('record/v1/customer?q=entityId START_WITH CUST'))['totalResults']).toBe(1);
    expect((await world.read('record/v1/customer?expandRecords=true&ids=1,2'))['totalResults']).toBe(1);
    expect((await world.done('GET', '/records/customer')).records).toHaveLength(2);
  });

  it('need not exist yet, and can be lines', async () => {
    await hide({ rows: { vendor: ['12'], transactionline: ['1001'] } });
    expect(await world.value('SELECT COUNT(*) AS n FROM transactionline')).toBe('20');
    expect((await world.done('GET', '/state')).hidden).toEqual({
      tables: [],
      columns: {},
      rows: { vendor: ['12'], transactionline: ['1001'] },
    });
  });
});
