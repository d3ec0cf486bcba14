// Concurrent writes, reads in between, and a restart after them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asAdmin, getCreatedId, startOn, startShop } from './test-account.ts';

let shop: Awaited<ReturnType<typeof startShop>>;
beforeAll(async () => {
  shop = await startShop();
});
afterAll(() => shop.close());

const one = async (q: string) => (await shop.rows(q))[0];
const createInvoice = async (items: object[]) =>
  getCreatedId(await shop.send('POST', 'record/v1/invoice', { entity: { id: '1' }, item: { items } }));

it('concurrent PUTs create one record', async () => {
  const answers = await Promise.all(
    Array.from({ length: 5 }, (_, i) =>
      shop.send('PUT', 'record/v1/customer/eid:many', { companyName: `Many ${i}` }),
    ),
  );
  expect(new Set(answers.map(getCreatedId)).size).toBe(1);
});

describe('concurrent writes', () => {
  it('of ten with the same external id one is created, and totals stay right', async () => {
    shop.account.setConcurrencyLimit(40);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        shop.send('POST', 'record/v1/customer', { companyName: 'Race', externalId: 'race' }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      204,
      ...Array.from({ length: 9 }, () => 400),
    ]);
    const id = await createInvoice([{ item: '10', amount: 1 }]);
    await Promise.all(
      Array.from({ length: 20 }, () =>
        shop.send('PATCH', `record/v1/invoice/${id}`, { item: { items: [{ item: '10', amount: 1 }] } }),
      ),
    );
    expect(
      await one(`SELECT foreigntotal AS t, foreignamountunpaid AS u FROM transaction WHERE id = ${id}`),
    ).toMatchObject({
      t: '21',
      u: '21',
    });
    const ids = (await shop.rows(`SELECT id FROM transactionline WHERE transaction = ${id}`)).map(
      (line) => line['id'],
    );
    expect(new Set(ids).size).toBe(21);
  });
});

it('a read during a write sees all of it or nothing', async () => {
  const id = await createInvoice([{ item: '10', amount: 1 }]);
  let writes = 0;
  const writing = (async () => {
    for (; writes < 15; writes += 1)
      await shop.send('PATCH', `record/v1/invoice/${id}`, { item: { items: [{ item: '10', amount: 1 }] } });
  })();
  while (writes < 15) {
    const row = await one(
      `SELECT foreigntotal AS t, foreignamountunpaid AS u, (SELECT COUNT(*) FROM transactionline l WHERE l.transaction = t.id) AS n FROM transaction t WHERE id = ${id}`,
    );
    expect([row?.['t'], row?.['u']]).toEqual([row?.['n'], row?.['n']]);
  }
  await writing;
});

it('writes survive a restart', async () => {
  const other = await startShop();
  const id = getCreatedId(await other.send('POST', 'record/v1/customer', { companyName: 'Lasting' }));
  await other.account.stop();
  const again = await startOn(other.database, { dataFolder: other.folder });
  await again.stop();
  const names = await asAdmin(
    other.database,
    async (client) =>
      (await client.query('SELECT companyname FROM ledger.customer WHERE id = $1', [id])).rows,
  );
  expect(names).toEqual([{ companyname: 'Lasting' }]);
  await other.close();
});
