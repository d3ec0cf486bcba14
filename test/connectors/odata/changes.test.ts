// A service that tracks the changes of records without a time of modification: what runs read by its delta links, and what
// happens where these can't be used.
import { startODataSimulator } from 'odata-simulator';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OdataSettings } from '../../../src/connectors/odata/connection.ts';
import { createTenantConnector } from '../../../src/sync/account/connection.ts';
import { isFinal } from '../../../src/sync/queue/run-state.ts';
import { claimRun, type RunRow } from '../../../src/sync/queue/runs.store.ts';
import { workOnRun } from '../../../src/sync/run/worker.ts';
import { type FaultyProxy, startFaultyProxy } from '../../erp/faulty-proxy.ts';
import { testSettings } from '../../setup/database.ts';
import { enterConnection } from '../../setup/erp-account.ts';
import { until } from '../../setup/until.ts';
import { findCheck, memoryErp, noSignal, type SyncFixture, syncFixture } from '../../sync/fixture.ts';
import { useSync } from '../../sync/site.ts';
import { settingsFor } from './service.ts';

type Service = Awaited<ReturnType<typeof startODataSimulator>>;
const table = 'Orders';
const site = useSync(
  { pageSize: 10 },
  { settings: { erp: { ...testSettings.erp, allowedHosts: ['127.0.0.1'] } } },
);
let service: Service;
let proxy: FaultyProxy;
let fixture: SyncFixture;
let ids: string[];

const create = (name: string): string => service.records.create({ table }, { fields: { Number: name } }).id;
const rename = (id: string, name: string) =>
  service.records.patch({ table, id }, { fields: { Number: name } });
const addLine = (id: string, text: string) =>
  service.records.patch({ table, id }, { lines: [{ line: '1', fields: { Text: text } }], touch: 'lines' });
const rows = async () =>
  Object.fromEntries((await fixture.rows()).map((row) => [row['id'], row['f_number']]));
const truth = () =>
  Object.fromEntries(
    service.records.list({ table }, { limit: 1_000 }).records.map(({ id, fields }) => [id, fields['Number']]),
  );

async function sync(mode: 'incremental' | 'full' = 'incremental'): Promise<RunRow> {
  const id = await fixture.queue(mode);
  return until(async () => {
    await fixture.changeRun(id, { wake_at: new Date(0) });
    const lease = await claimRun(site.ctx, 'test', site.ctx.settings.sync.leaseMs);
    if (lease !== undefined)
      await workOnRun(site.ctx, lease, noSignal, (tenant, connection) =>
        createTenantConnector(tenant, connection),
      );
    const row = await fixture.row(id);
    return isFinal(row.status) ? row : undefined;
  });
}

beforeAll(async () => {
  service = await startODataSimulator({ profile: 'generic', maxPageSize: 10 });
  proxy = await startFaultyProxy(new URL(service.serviceRoot).origin);
});
afterAll(async () => {
  await proxy.stop();
  await service.stop();
});
const connect = async (more: Partial<OdataSettings> = {}) => {
  const { credentials, serviceRoot } = service;
  if (credentials.kind !== 'header') throw new Error('the profile signs in by a header');
  await enterConnection(fixture, 'netsuite', {
    kind: 'odata',
    settings: {
      ...settingsFor('', { entitySets: { Orders: { changedField: null } } }),
      ...{
        serviceRoot: proxy.url + new URL(serviceRoot).pathname,
        signIn: { method: 'header', name: credentials.name },
      },
      ...more,
    },
    secrets: { headerValue: credentials.value },
  });
};
beforeEach(async () => {
  service.putFaults();
  proxy.onRequest = () => undefined;
  for (const id of Object.keys(truth())) service.records.remove({ table, id }, true);
  ids = Array.from({ length: 35 }, (_, index) => create(`Order ${index}`));
  fixture = await syncFixture(site.ctx, memoryErp(), { recordType: table, maxDeleteShare: 0.5 });
  await connect();
});

describe('orders of a service that tracks their changes', () => {
  it('are read again only where it reports a change, of lines too, and deleted as it reports', async () => {
    expect(await sync()).toMatchObject({ mode: 'full', status: 'succeeded', counts: { inserted: 35 } });
    const [first = '', second = '', ...others] = ids;
    rename(first, 'Renamed');
    addLine(second, 'A line');
    create('Added');
    for (const id of others.slice(0, 20)) service.records.remove({ table, id }, true);
    const run = await sync();
    expect(run).toMatchObject({ mode: 'incremental', status: 'succeeded' });
    expect(run.counts).toMatchObject({ fetched: 3, inserted: 1, updated: 2, deleted: 20 });
    expect(findCheck(run, 'changed')).toMatchObject({ facts: { read: 3 } });
    expect(await rows()).toEqual(truth());
  });

  it('are read completely once the link has expired, and by a new link afterwards', async () => {
    await sync();
    rename(ids[0] ?? '', 'Renamed');
    service.records.expireDeltas();
    expect(await sync()).toMatchObject({ mode: 'full', status: 'succeeded', counts: { updated: 1 } });
    expect(await sync()).toMatchObject({ mode: 'incremental', counts: { fetched: 0 } });
  });

  it('are read completely once the link has expired, also where the first request fails', async () => {
    await sync();
    rename(ids[0] ?? '', 'Renamed');
    service.records.expireDeltas();
    const before = proxy.count();
    proxy.onRequest = (count) => void (count === before + 1 && proxy.faults.push(503));
    expect(await sync()).toMatchObject({ mode: 'full', status: 'succeeded', counts: { updated: 1 } });
  });

  it('are read completely where the report of changes fails for long', async () => {
    await sync();
    rename(ids[0] ?? '', 'Renamed');
    service.putFaults({ on: { kind: 'delta' }, status: 500 });
    expect(await sync()).toMatchObject({ mode: 'full', status: 'succeeded', counts: { updated: 1 } });
  });

  it('are read completely from another account: its changes are not those of the link', async () => {
    await sync();
    await connect({ tenant: { in: 'query', name: 'tenant', value: 'other' } });
    rename(ids[0] ?? '', 'Renamed');
    expect(await sync()).toMatchObject({ mode: 'full', counts: { updated: 1 } });
  });

  it('are read from the first page again where the record at which an interrupted read goes on is gone', async () => {
    await sync();
    const before = proxy.count();
    proxy.onRequest = (count) => {
      if (count !== before + 6) return undefined;
      for (const id of [9, 19, 29].map((index) => ids[index] ?? ''))
        service.records.remove({ table, id }, true);
      proxy.faults.push(503);
      return undefined;
    };
    const run = await sync('full');
    expect(run).toMatchObject({ mode: 'full', status: 'succeeded' });
    expect(run.attempt).toBeGreaterThan(1);
    expect(await rows()).toEqual(truth());
  });

  it('are reported again to the next run where one failed', async () => {
    await sync();
    rename(ids[0] ?? '', 'Renamed');
    service.putFaults({ on: { kind: 'rows' }, status: 403 });
    expect(await sync()).toMatchObject({ status: 'failed' });
    service.putFaults();
    expect(await sync()).toMatchObject({ mode: 'incremental', counts: { updated: 1 } });
    expect(await rows()).toEqual(truth());
  });

  it('are read completely twice where the first read was interrupted: what changed meanwhile is not tracked', async () => {
    await sync();
    const before = proxy.count();
    proxy.onRequest = (count) => void (count === before + 6 && proxy.faults.push(503));
    expect(await sync('full')).toMatchObject({ mode: 'full', status: 'succeeded', attempt: 2 });
    expect(await sync()).toMatchObject({ mode: 'full' });
    expect(await sync()).toMatchObject({ mode: 'incremental' });
  });
});
