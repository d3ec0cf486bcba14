// Concurrent writes, reads in between, and a restart after them.
import { expect, it } from 'vitest';
import { getCreatedId, useShop } from './test-account.ts';

const shop = useShop();

const createInvoice = async (items: object[]) =>
  await shop.create('invoice', { entity: { id: '1' }, item: { items } });

it('concurrent PUTs create one record', async () => {
  const answers = await Promise.all(
    Array.from({ length: 5 }, (_, i) =>
      shop.send('PUT', 'record/v1/customer/eid:many', { companyName: `Many ${i}` }),
    ),
  );
  expect(new Set(answers.map(getCreatedId)).size).toBe(1);
});

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
    await shop.first(`SELECT foreigntotal AS t, foreignamountunpaid AS u FROM transaction WHERE id = ${id}`),
  ).toMatchObject({ t: '21', u: '21' });
  const ids = await shop.column(`SELECT id FROM transactionline WHERE transaction = ${id}`);
  expect(new Set(ids).size).toBe(21);
});

it('a read during a write sees all of it or nothing', async () => {
  const id = await createInvoice([{ item: '10', amount: 1 }]);
  let writes = 0;
  const writing = (async () => {
    for (; writes < 15; writes += 1)
      await shop.send('PATCH', `record/v1/invoice/${id}`, { item: { items: [{ item: '10', amount: 1 }] } });
  })();
  while (writes < 15) {
    const row = await shop.first(
      `SELECT foreigntotal AS t, foreignamountunpaid AS u, (SELECT COUNT(*) FROM transactionline l WHERE l.transaction = t.id) AS n FROM transaction t WHERE id = ${id}`,
    );
    expect([row?.['t'], row?.['u']]).toEqual([row?.['n'], row?.['n']]);
  }
  await writing;
});
