// Records of the system, which have negative ids. docs/wire.md has the sources.
import { beforeAll, expect, it } from 'vitest';
import { asAdmin } from './loaded-account.ts';
import { toErrorDetail, useShop } from './test-account.ts';

const caller = useShop();
beforeAll(async () => {
  await asAdmin(caller.database, (client) =>
    client.query(`INSERT INTO ledger.item (id, itemid, displayname, itemtype, isinactive, createddate, lastmodifieddate, baseprice) VALUES
      (-3, 'Shipping', 'Shipping', 'ShipItem', 'F', now(), now(), 5), (20, 'Subtotal', 'Subtotal', 'Subtotal', 'F', now(), now(), 5)`),
  );
});

it('system records have negative ids in queries, lists and paths', async () => {
  expect(await caller.column('SELECT id FROM item WHERE id < ? ORDER BY id ASC', { params: ['0'] })).toEqual([
    '-3',
  ]);
  expect((await caller.read('record/v1/inventoryItem?q=id%20LESS%20-1')).items).toEqual([]);
  const path = 'record/v1/customer/-5';
  await asAdmin(caller.database, (client) =>
    client.query(
      "INSERT INTO ledger.customer (id, entityid, isperson, isinactive, currency, datecreated, lastmodifieddate) VALUES (-5, 'System', 'F', 'F', 1, now(), now())",
    ),
  );
  expect((await caller.read('record/v1/customer')).items).toContainEqual({
    links: [{ rel: 'self', href: `${caller.account.url}/services/rest/${path}`, method: 'GET' }],
    id: '-5',
  });
  expect(await caller.read(path)).toMatchObject({ id: '-5', entityId: 'System' });
  expect(
    (await caller.read('record/v1/customer?expandRecords=true&ids=-5,1')).items.map(({ id }) => id),
  ).toEqual(['-5', '1']);
  expect((await caller.get('record/v1/customer/-6')).status).toBe(404);
  for (const method of ['PATCH', 'DELETE'])
    expect(toErrorDetail(await caller.send(method, path, {}))).toEqual([
      400,
      expect.stringContaining('belongs to the system'),
      'USER_ERROR',
    ]);
});

it('system records and subtotals can’t be sold', async () => {
  for (const id of ['-3', '20']) {
    const answer = await caller.send('POST', 'record/v1/invoice', {
      entity: { id: '1' },
      item: { items: [{ item: { id }, rate: 5 }] },
    });
    expect(answer.body['o:errorDetails']).toEqual([
      {
        detail: `Error while accessing a resource. Invalid Field Value ${id} for the following field: item`,
        'o:errorPath': 'item.items[0].item',
        'o:errorCode': 'INVALID_CONTENT',
      },
    ]);
  }
});
