// Lists of the management interface sort and filter where people look for something: syncs, runs, keys and
// payments.
import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import type { Tx } from '../../src/db/transaction.ts';
import { platformRoutes } from '../../src/platform/index.ts';
import { useOrganization } from '../setup/use-organization.ts';

const org = useOrganization();

const sql = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => org.sql(work);
/** One property of all items of a list, in its order. */
const column = async (path: string, name: string): Promise<unknown[]> => {
  const answer = await org.api('get', path);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.data.map((item: Record<string, unknown>) => item[name]);
};
const refused = async (paths: readonly string[]) => {
  for (const path of paths) expect([path, (await org.api('get', path)).status]).toEqual([path, 400]);
};
const minute = (at: number): string => `2026-03-02T10:${String(at).padStart(2, '0')}:00Z`;

describe('syncs and runs', () => {
  const configs: { id: string; name: string; record_type: string }[] = ['invoice', 'customer', 'item'].map(
    (type, index) => ({ id: createId(), name: ['beta', 'Alpha', 'gamma'][index] ?? '', record_type: type }),
  );
  const runIds: string[] = [];
  beforeAll(async () => {
    await sql(async (tx) => {
      const shared = { organization_id: org.id, mode: 'full', deletions: 'none' };
      for (const [index, config] of configs.entries())
        await tx('sync_configs').insert({ ...shared, ...config, created_at: minute(index) });
      for (let at = 0; at < 6; at += 1) {
        const config = configs[at % 3];
        const id = createId();
        runIds.push(id);
        const run = {
          organization_id: org.id,
          sync_config_id: config?.id,
          record_type: config?.record_type,
          mode: 'full',
          trigger: 'manual',
        };
        await tx('sync_runs').insert({
          ...run,
          id,
          status: 'succeeded',
          queued_at: minute(at),
          finished_at: minute(at),
        });
      }
    });
  });

  it('finds the sync of a record type, and sorts by name, record type and age', async () => {
    expect(await column('/sync-configs?recordType=customer', 'name')).toEqual(['Alpha']);
    expect(await column('/sync-configs?recordType=Customer', 'name')).toEqual([]);
    expect(await column('/sync-configs', 'name')).toEqual(['gamma', 'Alpha', 'beta']);
    expect(await column('/sync-configs?order=asc', 'name')).toEqual(['beta', 'Alpha', 'gamma']);
    expect(await column('/sync-configs?sort=name', 'name')).toEqual(['Alpha', 'beta', 'gamma']);
    expect(await column('/sync-configs?sort=recordType&order=desc', 'recordType')).toEqual([
      'item',
      'invoice',
      'customer',
    ]);
    expect(await column('/sync-configs?sort=createdAt', 'name')).toEqual(['beta', 'Alpha', 'gamma']);
    expect(await column('/sync-configs?sort=name&pageSize=1&page=2', 'name')).toEqual(['beta']);
  });

  it('finds syncs by their state and by the state of their newest run', async () => {
    const pausedReason = JSON.stringify({ code: 'X', message: 'x', fix: 'x' });
    await sql(async (tx) => {
      await tx('sync_configs').where({ id: configs[0]?.id }).update({ enabled: false });
      await tx('sync_configs').where({ id: configs[1]?.id }).update({ paused_reason: pausedReason });
      await tx('sync_runs').where({ id: runIds[5] }).update({ status: 'failed' });
      await tx('sync_runs').where({ id: runIds[0] }).update({ status: 'partial' });
    });
    expect(await column('/sync-configs?status=active', 'name')).toEqual(['gamma']);
    expect(await column('/sync-configs?status=disabled', 'name')).toEqual(['beta']);
    expect(await column('/sync-configs?status=paused', 'name')).toEqual(['Alpha']);
    expect(await column('/sync-configs?lastRunStatus=failed', 'name')).toEqual(['gamma']);
    expect(await column('/sync-configs?lastRunStatus=succeeded&sort=name', 'name')).toEqual([
      'Alpha',
      'beta',
    ]);
    expect(await column('/sync-configs?lastRunStatus=partial', 'name')).toEqual([]);
    expect(await column('/sync-configs?lastRunStatus=failed&status=paused', 'name')).toEqual([]);
    await sql(async (tx) => {
      await tx('sync_configs').update({ enabled: true, paused_reason: null });
      await tx('sync_runs').update({ status: 'succeeded' });
    });
  });

  it('finds runs of a record type and of a span of time, and sorts them', async () => {
    expect(await column('/sync-runs?recordType=customer', 'id')).toEqual([runIds[4], runIds[1]]);
    const span = `after=${minute(1)}&before=${minute(4)}`;
    expect(await column(`/sync-runs?${span}`, 'id')).toEqual([runIds[3], runIds[2]]);
    expect(await column(`/sync-runs?syncConfigId=${configs[2]?.id}`, 'id')).toEqual([runIds[5], runIds[2]]);
    expect(await column('/sync-runs?status=failed', 'id')).toEqual([]);
    expect(await column('/sync-runs?pageSize=1&page=2', 'id')).toEqual([runIds[4]]);
    expect(await column(`/sync-runs?${span}&recordType=invoice`, 'id')).toEqual([runIds[3]]);
    expect(await column('/sync-runs?order=asc', 'id')).toEqual(runIds);
    expect(await column('/sync-runs?sort=queuedAt', 'id')).toEqual(runIds);
    expect(await column('/sync-runs?sort=recordType', 'id')).toEqual(
      [4, 1, 3, 0, 5, 2].map((at) => runIds[at]),
    );
    expect(await column(`/sync-configs/${configs[0]?.id}/runs?order=asc&before=${minute(3)}`, 'id')).toEqual([
      runIds[0],
    ]);
    await refused([`/sync-runs?after=${minute(4)}&before=${minute(1)}`]);
  });

  it('reads runs of a record type by an index', async () => {
    const plan = await sql(async (tx) => {
      await tx.raw('set local enable_seqscan = off');
      await tx.raw('set local enable_sort = off');
      const { rows } = await tx.raw<{ rows: Record<string, string>[] }>(
        'explain select id from sync_runs where organization_id = ? and record_type = ? order by queued_at desc, id desc limit 25',
        [org.id, 'invoice'],
      );
      return rows.map((row) => Object.values(row)[0]).join('\n');
    });
    expect(plan).toMatch(/Index .*sync_runs_organization_id_record_type_queued_at_id_idx/);
    expect(plan).not.toContain('Sort');
  });
});

it('API keys sort by name, age, last use and expiry, with empty values last', async () => {
  const own = await org.another();
  const names = async (query: string) =>
    (await own.owner.api('get', `/api-keys${query}`)).body.data
      ?.map(({ name }: { name: string }) => name)
      .filter((name: string) => name !== 'test');
  for (const [name, expiresAt] of [
    ['beta', '2999-01-02T00:00:00Z'],
    ['Alpha', null],
    ['gamma', '2999-01-01T00:00:00Z'],
  ])
    expect((await own.owner.api('post', '/api-keys', { name, expiresAt })).status).toBe(201);
  expect(await names('')).toEqual(['gamma', 'Alpha', 'beta']);
  expect(await names('?sort=name')).toEqual(['Alpha', 'beta', 'gamma']);
  expect(await names('?sort=name&order=desc&q=a')).toEqual(['gamma', 'beta', 'Alpha']);
  expect(await names('?sort=createdAt')).toEqual(['beta', 'Alpha', 'gamma']);
  expect(await names('?sort=expiresAt')).toEqual(['gamma', 'beta', 'Alpha']);
  expect(await names('?sort=expiresAt&order=desc')).toEqual(['beta', 'gamma', 'Alpha']);
  expect(await names('?sort=lastUsedAt')).toHaveLength(3);
});

it('payments are found by customer and date, and sorted by both', async () => {
  await sql(async (tx) => {
    const own = { organization_id: org.id };
    const account_id = createId();
    await tx('pay_accounts').insert({ ...own, id: account_id, provider: 'sandbox' });
    for (const [index, customer_id] of ['20', '10', '20', '30'].entries()) {
      const id = createId();
      const row = { ...own, id, account_id, customer_id, currency: 'GBP', amount_minor: 100 + index };
      await tx('pay_payments').insert({ ...row, created_at: minute(index) });
      const returns = { success_url: 'x', cancel_url: 'x' };
      await tx('pay_checkouts').insert({
        ...own,
        ...returns,
        id: createId(),
        payment_id: id,
        title: 'x',
        expires_at: minute(59),
      });
    }
  });
  const amounts = (query: string) => column(`/pay/payments${query}`, 'amount');
  expect(await amounts('')).toEqual(['1.03', '1.02', '1.01', '1.00']);
  expect(await amounts('?customerId=20')).toEqual(['1.02', '1.00']);
  expect(await amounts(`?after=${minute(0)}&before=${minute(3)}`)).toEqual(['1.02', '1.01']);
  expect(await amounts('?order=asc')).toEqual(['1.00', '1.01', '1.02', '1.03']);
  expect(await amounts('?sort=createdAt&order=desc')).toEqual(['1.03', '1.02', '1.01', '1.00']);
  expect(await amounts('?sort=customerId')).toEqual(['1.01', '1.02', '1.00', '1.03']);
  expect(await amounts('?sort=customerId&order=desc')).toEqual(['1.03', '1.02', '1.00', '1.01']);
  await refused([`/pay/payments?after=${minute(3)}&before=${minute(1)}`]);
});

describe('parameters of lists', () => {
  it('never reach the database as anything but values', async () => {
    for (const path of [
      '/sync-configs?q=',
      '/sync-configs?recordType=',
      '/sync-runs?recordType=',
      '/api-keys?q=',
      '/pay/payments?customerId=',
    ])
      for (const text of ["'", '%25', '\\', "x' or '1'='1", '__proto__'])
        expect([path, text, (await org.api('get', path + encodeURI(text))).body.pagination?.total]).toEqual([
          path,
          text,
          0,
        ]);
  });

  it('400 for instants that do not exist', async () => {
    const instants = [
      '2026-02-30T00:00:00Z',
      'infinity',
      '2026-01-01',
      '2026-01-01T00:00:00',
      '0000-01-01T00:00:00Z',
      '1767225600',
      '',
    ];
    const timed = ['/sync-runs', '/pay/payments', `/sync-configs/${createId()}/runs`, `${org.at}/audit-log`];
    await refused(
      timed.flatMap((path) => instants.flatMap((at) => [`${path}?after=${at}`, `${path}?before=${at}`])),
    );
  });
});

describe('every list', () => {
  const lists = platformRoutes.flatMap((route) =>
    route.access === 'public' || !('pageSize' in (route.query?.shape ?? {})) ? [] : [route],
  );

  it('whose items have a name is searched by q', () => {
    const missing = lists.filter((route) => {
      const page = route.response as unknown as { shape: { data: { element: { shape?: object } } } };
      return 'name' in (page.shape.data.element.shape ?? {}) && !('q' in (route.query?.shape ?? {}));
    });
    expect(missing.map(({ id }) => id)).toEqual([]);
    expect(lists.length).toBeGreaterThan(20);
  });
});
