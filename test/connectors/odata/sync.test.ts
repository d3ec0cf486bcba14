// A stored connection of kind `odata`, from the first load to deletions, read from a server that was written
// elsewhere. What must be stored is computed from the data files alone.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTenantConnector } from '../../../src/sync/account/connection.ts';
import type { RunRow } from '../../../src/sync/queue/runs.store.ts';
import { workOnRun } from '../../../src/sync/run/worker.ts';
import { enterConnection } from '../../setup/erp-account.ts';
import { memoryErp, noSignal, type SyncFixture, syncFixture } from '../../sync/fixture.ts';
import { useSync } from '../../sync/site.ts';
import { json, useWire } from '../netsuite/wire.ts';
import { type Judge, startJudge } from './judge.ts';
import { metadataWith, optionsOf, serving, settingsFor } from './service.ts';

const site = useSync({ pageSize: 5 });
type Row = Readonly<Record<string, string>>;
const orders: Row[] = JSON.parse(readFileSync(new URL('data/PurchaseOrder.json', import.meta.url), 'utf8'));
const items: Row[] = JSON.parse(
  readFileSync(new URL('data/PurchaseOrderItem.json', import.meta.url), 'utf8'),
);

let judge: Judge;
let fixture: SyncFixture;
beforeAll(async () => {
  judge = await startJudge();
});
afterAll(() => judge.stop());

async function connect(recordType: string, url = judge.url): Promise<void> {
  fixture = await syncFixture(site.ctx, memoryErp(), { recordType });
  const settings = settingsFor(url, { dialect: 'sap' });
  await enterConnection(fixture, 'netsuite', { kind: 'odata', settings, secrets: { password: 'secret' } });
}

async function sync(mode: 'incremental' | 'full' = 'incremental'): Promise<RunRow> {
  const id = await fixture.queue(mode);
  const { settings } = site.ctx;
  const ctx = {
    ...site.ctx,
    settings: { ...settings, erp: { ...settings.erp, allowedHosts: ['127.0.0.1'] } },
  };
  await workOnRun(ctx, await fixture.claim(), noSignal, (tenant) => createTenantConnector(tenant, null));
  return fixture.row(id);
}

describe('purchase orders of a stored connection', () => {
  beforeEach(() => connect('PurchaseOrder'));

  it('are loaded page by page in the order of the service, with their lines', async () => {
    expect(await sync()).toMatchObject({
      status: 'succeeded',
      mode: 'full',
      counts: { inserted: orders.length, rejected: 0 },
    });
    const rows = new Map((await fixture.rows()).map((row) => [row['id'], row]));
    expect([...rows.keys()].sort()).toEqual(orders.map((row) => row['PurchaseOrder']).sort());
    for (const order of orders) {
      const id = order['PurchaseOrder'];
      const stored = rows.get(id);
      expect(stored).toMatchObject({ f_supplier: order['Supplier'], f_netamount: order['NetAmount'] });
      const lines = stored?.['f_lines'] as Row[];
      expect(lines.map((line) => line['PurchaseOrderItemText'])).toEqual(
        items.filter((row) => row['PurchaseOrder'] === id).map((row) => row['PurchaseOrderItemText']),
      );
    }
  });

  it('change nothing when they are read again', async () => {
    await sync();
    expect(await sync('full')).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 0, updated: 0, deleted: 0, unchanged: orders.length },
    });
    expect(await sync()).toMatchObject({ status: 'succeeded', mode: 'incremental' });
  });
});

describe('their items, by keys of two properties', () => {
  beforeEach(() => connect('PurchaseOrderItem'));

  it('are loaded, and read in full each time', async () => {
    expect(await sync()).toMatchObject({ status: 'succeeded', counts: { inserted: items.length } });
    expect(await sync()).toMatchObject({ mode: 'full', counts: { unchanged: items.length } });
  });
});

describe('records of a service that refuses to order by key', () => {
  const wire = useWire();
  const names = new Map<string, string>();
  const pageSize = 4;
  const metadata = metadataWith(
    `<EntityType Name="thing"><Key><PropertyRef Name="code"/></Key>
     <Property Name="code" Type="Edm.String"/><Property Name="name" Type="Edm.String"/></EntityType>`,
    '<EntitySet Name="things" EntityType="ns.thing"/>',
  );
  beforeEach(async () => {
    names.clear();
    for (const code of ['b', 'B', 'a', 'Z', 'ä', '10', '9', '-1', "o'x", 'c,d', 'e%f'])
      names.set(code, `name ${code}`);
    wire.answer = serving(metadata, (seen, response) => {
      const { $orderby, $filter, $skiptoken = '0' } = optionsOf(seen);
      if ($orderby !== undefined) return json(response, 400, { error: { message: 'not sortable' } });
      if (optionsOf(seen)['$count'] === 'true') return { value: [], '@odata.count': names.size };
      const wanted = $filter
        ?.split(' or ')
        .map((part) => /^code eq '(.*)'$/.exec(part)?.[1]?.replaceAll("''", "'"));
      const found = [...names].filter(([code]) => wanted === undefined || wanted.includes(code));
      const from = Number($skiptoken);
      const value = found.slice(from, from + pageSize).map(([code, name]) => ({ code, name }));
      const next = { '@odata.nextLink': `things?$skiptoken=${from + pageSize}` };
      return { value, ...($filter === undefined && from + pageSize < found.length && next) };
    });
    await connect('things', wire.url);
  });
  const stored = async () =>
    Object.fromEntries((await fixture.rows()).map((row) => [row['id'], row['f_name']]));

  it('are stored once where the service has them on two pages', async () => {
    wire.answer = serving(metadata, (seen, response) => {
      const { $orderby, $count, $skiptoken = '0' } = optionsOf(seen);
      if ($orderby !== undefined) return json(response, 400, { error: { message: 'not sortable' } });
      if ($count === 'true') return { value: [], '@odata.count': names.size };
      const from = Number($skiptoken);
      const all = [...names].map(([code, name]) => ({ code, name }));
      const next = { '@odata.nextLink': `things?$skiptoken=${from + 4}` };
      return { value: all.slice(from, from + 5), ...(from + 5 < all.length && next) };
    });
    expect(await sync()).toMatchObject({ status: 'succeeded', counts: { inserted: 11 } });
    expect(await stored()).toEqual(Object.fromEntries(names));
  });

  it('are the same after edits, deletions and creations', async () => {
    expect(await sync()).toMatchObject({ status: 'succeeded', counts: { inserted: 11 } });
    expect(await stored()).toEqual(Object.fromEntries(names));
    names.delete('Z');
    names.set('9', 'nine');
    names.set('new', 'name new');
    await fixture.changeConfig({ max_delete_share: 0.5 });
    expect(await sync()).toMatchObject({
      status: 'succeeded',
      mode: 'full',
      counts: { inserted: 1, updated: 1, deleted: 1, unchanged: 9 },
    });
    expect(await stored()).toEqual(Object.fromEntries(names));
  });
});
