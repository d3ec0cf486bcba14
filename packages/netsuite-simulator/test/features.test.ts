// The account's features and the role's visibility, in queries and in the record service.
import { afterEach, describe, expect, it } from 'vitest';
import { toErrorDetail, useShop } from './test-account.ts';

const shop = useShop();
afterEach(() => {
  shop.account.setFeatures({ oneWorld: false, multipleCurrencies: true });
  for (const table of ['customer', 'transactionline']) shop.account.setVisible(table, true);
  shop.account.setColumnVisible('customer', 'email', true);
  shop.account.setColumnVisible('transactionline', 'rate', true);
});

const catalog = async (): Promise<unknown[]> =>
  (await shop.read('record/v1/metadata-catalog')).items.map(({ name }) => name);
describe('OneWorld', () => {
  it('off: there are no subsidiaries in queries, records or metadata', async () => {
    expect(await shop.refusal('SELECT id FROM subsidiary')).toBe(
      "Search error occurred: Record 'subsidiary' was not found.",
    );
    expect(await shop.refusal('SELECT id FROM customersubsidiaryrelationship')).toContain('was not found.');
    for (const table of ['transaction', 'transactionline', 'customer', 'item']) {
      expect(await shop.refusal(`SELECT subsidiary FROM ${table}`), table).toContain(
        "Unknown identifier 'subsidiary'",
      );
    }
    expect((await shop.get('record/v1/subsidiary')).status).toBe(404);
    expect((await shop.get('record/v1/metadata-catalog/subsidiary')).status).toBe(404);
    expect(await catalog()).not.toContain('subsidiary');
    expect(await shop.readProperties('invoice')).not.toHaveProperty('subsidiary');
    expect(await shop.read('record/v1/customer/1')).not.toHaveProperty('subsidiary');
  });

  it('on: a table, a column, a property, and customers need a subsidiary', async () => {
    shop.account.setFeatures({ oneWorld: true });
    expect(
      await shop.rows(
        'SELECT t.subsidiary, BUILTIN.DF(t.subsidiary) AS name, s.fullname FROM transaction t JOIN subsidiary s ON s.id = t.subsidiary',
      ),
    ).toEqual([{ subsidiary: '1', name: 'Parent Company', fullname: 'Parent Company' }]);
    expect(
      await shop.rows('SELECT entity, isprimarysub FROM customersubsidiaryrelationship ORDER BY entity', {
        limit: 1,
      }),
    ).toMatchObject([{ entity: '1', isprimarysub: 'T' }]);
    expect(await shop.read('record/v1/customer/1')).toMatchObject({
      subsidiary: { id: '1', refName: 'Parent Company' },
    });
    expect(await catalog()).toContain('subsidiary');
    expect(await shop.rejection('POST', 'record/v1/customer', { companyName: 'x' })).toContain(
      'Please enter value(s) for: Subsidiary',
    );
    expect(
      await shop.rejection('POST', 'record/v1/customer', { companyName: 'x', subsidiary: '2' }),
    ).toContain('Invalid Field Value 2');
    const id = await shop.create('customer', { companyName: 'x', subsidiary: { id: '1' } });
    expect(await shop.read(`record/v1/customer/${id}`)).toMatchObject({ subsidiary: { id: '1' } });
  });
});

it('without multiple currencies the currency table and all currency columns are hidden', async () => {
  shop.account.setFeatures({ multipleCurrencies: false });
  expect(await shop.refusal('SELECT id FROM currency')).toContain("Record 'currency' was not found.");
  expect(await shop.refusal('SELECT exchangerate FROM transaction')).toContain(
    "Unknown identifier 'exchangerate'",
  );
  expect((await shop.get('record/v1/currency/1')).status).toBe(404);
  const { body } = await shop.get('record/v1/invoice/101');
  expect([body['currency'], body['exchangeRate'], body['total']]).toEqual([undefined, undefined, 30.1]);
  const id = await shop.create('customer', { companyName: 'x', currency: '1' });
  shop.account.setFeatures({ multipleCurrencies: true });
  expect(await shop.read(`record/v1/customer/${id}`)).toMatchObject({ currency: { id: '1' } });
});

describe('what the role cannot see', () => {
  it('a table: its records can’t be read or written, but the catalog lists them', async () => {
    shop.account.setVisible('Customer', false);
    for (const answer of [
      await shop.get('record/v1/customer'),
      await shop.get('record/v1/customer/1'),
      await shop.send('POST', 'record/v1/customer', {}),
      await shop.send('DELETE', 'record/v1/customer/2'),
    ]) {
      expect([answer.status, answer.body['o:errorDetails'][0]?.['o:errorCode']]).toEqual([
        403,
        'INSUFFICIENT_PERMISSION',
      ]);
    }
    expect(await catalog()).toContain('customer');
    shop.account.setVisible('transactionline', false);
    expect(await shop.read('record/v1/invoice/101')).not.toHaveProperty('item');
  });

  it('a column: its property is left out, and unknown to filters and writes', async () => {
    const id = await shop.create('customer', { companyName: 'x', email: 'kept@example.com' });
    shop.account.setColumnVisible('customer', 'eMail', false);
    expect(await shop.read(`record/v1/customer/${id}`)).not.toHaveProperty('email');
    expect(toErrorDetail(await shop.get('record/v1/customer?q=email EMPTY'))[2]).toBe('NONEXISTENT_FIELD');
    const patched = await shop.send('PATCH', `record/v1/customer/${id}`, { email: null });
    expect(patched.headers.get('x-netsuite-propertyvalidation')).toBe('email');
    shop.account.setColumnVisible('customer', 'email', true);
    expect((await shop.read(`record/v1/customer/${id}`))['email']).toBe('kept@example.com');
    shop.account.setColumnVisible('transactionline', 'rate', false);
    const { body } = await shop.get('record/v1/invoice/101/item');
    expect(Object.keys(body.items[0] ?? {})).toEqual(['links', 'line', 'item', 'quantity', 'amount']);
    expect(() => shop.account.setVisible('unicorn', true)).toThrow(RangeError);
    expect(() => shop.account.setColumnVisible('transaction', 'unicorn', true)).toThrow(RangeError);
  });
});

it('vendors, employees and contacts can be read, and are empty', async () => {
  for (const type of ['vendor', 'employee', 'contact']) {
    expect(await shop.read(`record/v1/${type}`)).toMatchObject({
      count: 0,
      hasMore: false,
      totalResults: 0,
      items: [],
    });
    await shop.expectNone(`SELECT id, entityid FROM ${type}`);
    expect((await shop.get(`record/v1/${type}/1`)).status).toBe(404);
  }
});
