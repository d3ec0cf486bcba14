// Amounts that change in the ERP without a new modification time: found by the next run while a record is open.
import { expect, it } from 'vitest';
import { createTenantConnector } from '../../../src/sync/account/connection.ts';
import { workOnRun } from '../../../src/sync/run/worker.ts';
import { enterConnection } from '../../setup/erp-account.ts';
import { memoryErp, noSignal, type SyncFixture, syncFixture } from '../../sync/fixture.ts';
import { useSync } from '../../sync/site.ts';
import { firstPage, useWire } from '../netsuite/wire.ts';
import { createOdataAt, describeOne, metadataWith, optionsOf, serving, settingsFor } from './service.ts';

const site = useSync({ pageSize: 10 });
const wire = useWire();
const invoices = new Map<string, number>();
const [open, paid, longKey] = ['1', '2', '9223372036854775807'];

const metadata = metadataWith(
  `<EntityType Name="invoice"><Key><PropertyRef Name="id"/></Key><Property Name="id" Type="Edm.Int64"/>
   <Property Name="remainingAmount" Type="Edm.Decimal"/>
   <Property Name="lastModifiedDateTime" Type="Edm.DateTimeOffset"/></EntityType>`,
  '<EntitySet Name="invoices" EntityType="ns.invoice"/>',
);
const serve = () => {
  wire.answer = serving(metadata, (seen) => {
    const { $filter = '' } = optionsOf(seen);
    const after = /id gt (\d+)/.exec($filter)?.[1];
    const ids = [...$filter.matchAll(/id eq (\d+)/g)].map(([, id]) => id);
    const isChanged = (time: string) => time <= '2020-01-01T00:00:00.000Z';
    const since = /lastModifiedDateTime ge ([^)\s]+)/.exec($filter)?.[1];
    const found = [...invoices].filter(
      ([id]) =>
        (after === undefined || BigInt(id) > BigInt(after)) &&
        (ids.length === 0 || ids.includes(id)) &&
        (since === undefined || isChanged(since)),
    );
    if (optionsOf(seen)['$count'] === 'true') return { value: [], '@odata.count': found.length };
    const lastModifiedDateTime = '2020-01-01T00:00:00Z';
    return { value: found.map(([id, remainingAmount]) => ({ id, remainingAmount, lastModifiedDateTime })) };
  });
};

it('are compared in each run while they are not 0, and keys have up to 19 digits', async () => {
  for (const id of [open, paid, longKey]) invoices.set(id, id === paid ? 0 : 100);
  serve();
  const dialect = 'businessCentral';
  const connector = createOdataAt(wire.url, { dialect });
  const recordType = await describeOne(connector, 'invoices');
  const { records } = await connector.readPage({ ...firstPage, recordType, fields: ['id'] });
  expect(records.map(({ id, values }) => [id, values['id']])).toContainEqual([longKey, longKey]);

  const fixture: SyncFixture = await syncFixture(site.ctx, memoryErp(), { recordType: 'invoices' });
  const settings = settingsFor(wire.url, { dialect });
  await enterConnection(fixture, 'netsuite', { kind: 'odata', settings, secrets: { password: 'secret' } });
  const { settings: own } = site.ctx;
  const ctx = { ...site.ctx, settings: { ...own, erp: { ...own.erp, allowedHosts: ['127.0.0.1'] } } };
  const sync = async () => {
    const id = await fixture.queue('incremental');
    await workOnRun(ctx, await fixture.claim(), noSignal, (tenant) => createTenantConnector(tenant, null));
    return fixture.row(id);
  };
  expect(await sync()).toMatchObject({ mode: 'full', status: 'succeeded', counts: { inserted: 3 } });
  for (const id of invoices.keys()) invoices.set(id, 7);
  expect(await sync()).toMatchObject({ mode: 'incremental', status: 'succeeded', counts: { updated: 2 } });
  const amounts = Object.fromEntries(
    (await fixture.rows()).map((row) => [row['id'], row['f_remainingamount']]),
  );
  expect(amounts).toEqual({ [open]: '7', [paid]: '0', [longKey]: '7' });
});
