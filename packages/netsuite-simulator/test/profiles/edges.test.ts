// Values and settings at the edges of what an account with a profile accepts: they are refused or understood,
// and the books stay right.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createControlClient } from '../control-client.ts';
import { getCreatedId, toErrorDetail, useCaller } from '../test-account.ts';

const shop = useCaller({ profile: 'oneworld', control: {} });
let customer: string;
beforeAll(async () => {
  customer =
    (await shop.value(
      "SELECT MIN(id) AS id FROM customer WHERE subsidiary = 2 AND currency = 1 AND isinactive = 'F'",
    )) ?? '';
});
afterEach(() => createControlClient(shop).done('POST', '/reset'));

const invoice = (more: object = {}) =>
  shop.send('POST', 'record/v1/invoice', {
    entity: customer,
    item: { items: [{ item: '9000004', rate: 100 }] },
    ...more,
  });
const payment = (more: object) =>
  shop.send('POST', 'record/v1/customerPayment', { customer, payment: 60, ...more });
const receivable = async (ids: string[]): Promise<number> =>
  Number(
    await shop.value(`SELECT SUM(amount) AS n FROM transactionaccountingline WHERE account = 5 AND transaction IN (${ids.join(', ')})
      AND accountingbook = 1`),
  );

describe('writes', () => {
  it('another rate of a paid invoice is that of its share in the payment, too', async () => {
    const paid = getCreatedId(await invoice({ exchangeRate: 1.5 }));
    const by = getCreatedId(await payment({ exchangeRate: 1.2, apply: { items: [{ doc: paid }] } }));
    expect(await receivable([paid, by])).toBe(60);
    expect(await shop.status('PATCH', `record/v1/invoice/${paid}`, { exchangeRate: 1.25 })).toBe(204);
    expect(await receivable([paid, by])).toBe(50);
    const fx = await shop.rows(
      `SELECT netamount FROM transactionline WHERE transaction = ${by} AND isfxvariance = 'T'`,
    );
    expect(fx).toMatchObject([{ netamount: '3' }]);
  });

  it('400 for an account that the account list lacks', async () => {
    const open = getCreatedId(await invoice());
    for (const account of ['999999', '0', '-1'])
      expect(toErrorDetail(await payment({ account }))[1]).toContain(
        `Invalid Field Value ${account} for the following field: account`,
      );
    const by = getCreatedId(await payment({ account: '3', apply: { items: [{ doc: open, amount: 10 }] } }));
    expect(await shop.status('PATCH', `record/v1/customerPayment/${by}`, { account: '999999' })).toBe(400);
    const refund = { customer, account: '999999', apply: { items: [{ doc: by, amount: 5 }] } };
    expect(await shop.status('POST', 'record/v1/customerRefund', refund)).toBe(400);
  });

  it('400 for a day without accounting period and a rate that is not positive', async () => {
    for (const tranDate of ['1999-01-01', '2135-01-01', '0001-01-01'])
      expect(toErrorDetail(await invoice({ tranDate }))[1], tranDate).toContain(
        'not within the date range of your accounting period',
      );
    for (const exchangeRate of [0, -1])
      expect(toErrorDetail(await invoice({ exchangeRate }))[1]).toContain(
        `Invalid Field Value ${exchangeRate} for the following field: exchangeRate`,
      );
  });

  it('an exchange difference of a credit memo is no item of it', async () => {
    const paid = getCreatedId(await invoice({ exchangeRate: 1.5 }));
    const item = { items: [{ item: '9000004', rate: 40 }] };
    const body = { entity: customer, exchangeRate: 1.2, item, apply: { items: [{ doc: paid }] } };
    const memo = await shop.create('creditMemo', body);
    const difference = () =>
      shop.rows(
        `SELECT uniquekey, netamount FROM transactionline WHERE transaction = ${memo} AND isfxvariance = 'T'`,
      );
    const [before] = await difference();
    expect(before).toMatchObject({ netamount: '12' });
    expect(await shop.read(`record/v1/creditMemo/${memo}/item`)).toMatchObject({ totalResults: 1 });
    expect(await shop.status('PATCH', `record/v1/creditMemo/${memo}?replace=item`, { item })).toBe(204);
    expect(await difference()).toEqual([before]);
  });

  it('a cash sale that became a return isn’t paid', async () => {
    const sale = await shop.first(
      "SELECT MIN(id) AS id FROM transaction WHERE type = 'CustInvc' AND entity IS NULL AND foreigntotal > 0",
    );
    const item = { items: [{ item: '9000004', quantity: -1, rate: 5 }] };
    expect(await shop.status('PATCH', `record/v1/invoice/${sale['id']}?replace=item`, { item })).toBe(204);
    expect(
      await shop.rows(
        `SELECT foreignamountpaid AS paid, foreignamountunpaid AS unpaid FROM transaction WHERE id = ${sale['id']}`,
      ),
    ).toMatchObject([{ paid: '0', unpaid: '-5' }]);
  });

  it('null for what every record has leaves the default', async () => {
    const id = getCreatedId(
      await invoice({ tranId: null, exchangeRate: null, tranDate: null, currency: null }),
    );
    expect(await shop.rows(`SELECT tranid, currency FROM transaction WHERE id = ${id}`)).toMatchObject([
      { tranid: `INV${id}`, currency: '1' },
    ]);
  });
});

it('record lists are filtered by entries of custom lists', async () => {
  const list = (q: string) => shop.get(`record/v1/invoice?limit=1&q=${encodeURIComponent(q)}`);
  const row = await shop.first(
    "SELECT COUNT(*) AS n FROM transaction WHERE type = 'CustInvc' AND custbody_channel = 2",
  );
  for (const q of ['custbody_channel EQUAL 2', 'custbody_channel ANY_OF [2]'])
    expect((await list(q)).body, q).toMatchObject({ totalResults: Number(row['n']) });
  for (const q of ['custbody_channel IS "x"', 'custbody_channel EQUAL 99999999999999999999'])
    expect((await list(q)).body, q).toMatchObject({ totalResults: 0 });
});

it('a hidden transaction is hidden with its accounting lines', async () => {
  const id = getCreatedId(await invoice());
  await createControlClient(shop).done('PUT', '/hidden', { rows: { transaction: [id] } });
  await shop.expectNone(`SELECT transactionline FROM transactionaccountingline WHERE transaction = ${id}`);
});
