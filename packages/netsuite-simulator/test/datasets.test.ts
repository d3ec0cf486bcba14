// Saved datasets. docs/wire.md has the sources.
import { expect, it } from 'vitest';
import { useShop } from './test-account.ts';

const caller = useShop();

it('GET dataset lists the saved datasets, whose links lead to their results', async () => {
  const { status, body } = await caller.get('query/v1/dataset/');
  expect([status, body.items.map(({ id, name }) => [id, name])]).toEqual([
    200,
    [
      ['custdataset_customers', 'Customers'],
      ['custdataset_open_invoices', 'Open invoices'],
    ],
  ]);
});

it('GET dataset results have pages whose links work, and rows with links to records other than transactions', async () => {
  const { body } = await caller.get('query/v1/dataset/custdataset_customers/result?limit=1');
  expect(body).toMatchObject({ count: 1, hasMore: true, offset: 0, totalResults: 2 });
  const links = Object.fromEntries(
    body.links.map(({ rel, href }) => [rel, href.split('/services/rest/')[1] ?? '']),
  );
  expect((await caller.read(links['self'] ?? '')).items).toEqual(body.items);
  expect((await caller.read(links['next'] ?? '')).items).toMatchObject([{ id: '2' }]);
  const self = `${caller.account.url}/services/rest/record/v1/customer/1`;
  expect(body.items).toEqual([{ links: [{ rel: 'self', href: self }], entityid: 'CUST1', id: '1' }]);
  const invoices = await caller.get('query/v1/dataset/custdataset_open_invoices/result');
  expect(invoices.body.items).toMatchObject([{ links: [], id: '101', foreignamountunpaid: '30.1' }]);
  expect(invoices.body.links).toEqual([
    {
      rel: 'self',
      href: `${caller.account.url}/services/rest/query/v1/dataset/custdataset_open_invoices/result`,
    },
  ]);
  expect((await caller.get('query/v1/dataset/custdataset_unknown/result')).status).toBe(404);
});
