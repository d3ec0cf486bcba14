// Lists of the management interface sort and filter where people look for something: syncs, runs, keys and
// payments.
import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { platformRoutes } from '../../src/platform/index.ts';
import { pluck } from '../setup/api.ts';
import { useOrganization } from '../setup/use-organization.ts';

const org = useOrganization();

/** One property of all items of a list, in its order. */
const column = async (path: string, name: string): Promise<unknown[]> => {
  const answer = await org.api('get', path);
  expect(answer.status, answer.text).toBe(200);
  return pluck(answer.body.data, name);
};
/** Expects the values of one property in the list that each path answers with. */
const expectLists = async (name: string, lists: Record<string, readonly unknown[]>) => {
  for (const [path, values] of Object.entries(lists))
    expect([path, await column(path, name)]).toEqual([path, values]);
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
    const shared = { organization_id: org.id, mode: 'full' };
    await org.admin('sync_configs').insert(
      configs.map((config, index) => ({
        ...{ ...shared, ...config, deletions: 'none', created_at: minute(index) },
      })),
    );
    for (let at = 0; at < 6; at += 1) {
      const { id: sync_config_id, record_type } = configs[at % 3] ?? {};
      const id = createId();
      runIds.push(id);
      const times = { queued_at: minute(at), finished_at: minute(at) };
      const run = { ...shared, ...times, id, sync_config_id, record_type };
      await org.admin('sync_runs').insert({ ...run, trigger: 'manual', status: 'succeeded' });
    }
  });

  it('finds the sync of a record type, and sorts by name, record type and age', async () => {
    await expectLists('name', {
      '/sync-configs?recordType=customer': ['Alpha'],
      '/sync-configs?recordType=Customer': [],
      '/sync-configs': ['gamma', 'Alpha', 'beta'],
      '/sync-configs?order=asc': ['beta', 'Alpha', 'gamma'],
      '/sync-configs?sort=name': ['Alpha', 'beta', 'gamma'],
      '/sync-configs?sort=createdAt': ['beta', 'Alpha', 'gamma'],
      '/sync-configs?sort=name&pageSize=1&page=2': ['beta'],
    });
    const types = ['item', 'invoice', 'customer'];
    await expectLists('recordType', { '/sync-configs?sort=recordType&order=desc': types });
  });

  it('finds syncs by their state and by the state of their newest run', async () => {
    const pausedReason = JSON.stringify({ code: 'X', message: 'x', fix: 'x' });
    const [syncs, runs] = [() => org.admin('sync_configs'), () => org.admin('sync_runs')];
    await syncs().where({ id: configs[0]?.id }).update({ enabled: false });
    await syncs().where({ id: configs[1]?.id }).update({ paused_reason: pausedReason });
    await runs().where({ id: runIds[5] }).update({ status: 'failed' });
    await runs().where({ id: runIds[0] }).update({ status: 'partial' });
    await expectLists('name', {
      '/sync-configs?status=active': ['gamma'],
      '/sync-configs?status=disabled': ['beta'],
      '/sync-configs?status=paused': ['Alpha'],
      '/sync-configs?lastRunStatus=failed': ['gamma'],
      '/sync-configs?lastRunStatus=succeeded&sort=name': ['Alpha', 'beta'],
      '/sync-configs?lastRunStatus=partial': [],
      '/sync-configs?lastRunStatus=failed&status=paused': [],
    });
    await syncs().update({ enabled: true, paused_reason: null });
    await runs().update({ status: 'succeeded' });
  });

  it('finds runs of a record type and of a span of time, and sorts them', async () => {
    const span = `after=${minute(1)}&before=${minute(4)}`;
    const runs = (...at: number[]) => at.map((index) => runIds[index]);
    await expectLists('id', {
      '/sync-runs?recordType=customer': runs(4, 1),
      [`/sync-runs?${span}`]: runs(3, 2),
      [`/sync-runs?syncConfigId=${configs[2]?.id}`]: runs(5, 2),
      '/sync-runs?status=failed': [],
      '/sync-runs?pageSize=1&page=2': runs(4),
      [`/sync-runs?${span}&recordType=invoice`]: runs(3),
      '/sync-runs?order=asc': runIds,
      '/sync-runs?sort=queuedAt': runIds,
      '/sync-runs?sort=recordType': runs(4, 1, 3, 0, 5, 2),
      [`/sync-configs/${configs[0]?.id}/runs?order=asc&before=${minute(3)}`]: runs(0),
    });
    await refused([`/sync-runs?after=${minute(4)}&before=${minute(1)}`]);
  });

  it('reads runs of a record type by an index', async () => {
    const plan = await org.sql(async (tx) => {
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
    pluck((await own.owner.api('get', `/api-keys${query}`)).body.data, 'name').filter(
      (name) => name !== 'test',
    );
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
  await org.sql(async (tx) => {
    const own = { organization_id: org.id };
    const account_id = createId();
    await tx('pay_accounts').insert({ ...own, id: account_id, provider: 'sandbox' });
    for (const [index, customer_id] of ['20', '10', '20', '30'].entries()) {
      const id = createId();
      const row = { ...own, id, account_id, customer_id, currency: 'GBP', amount_minor: 100 + index };
      await tx('pay_payments').insert({ ...row, created_at: minute(index) });
      const checkout = { id: createId(), payment_id: id, title: 'x', expires_at: minute(59) };
      await tx('pay_checkouts').insert({ ...own, ...checkout, success_url: 'x', cancel_url: 'x' });
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
    const byType = ['/sync-configs?recordType=', '/sync-runs?recordType='];
    for (const path of [...byType, '/sync-configs?q=', '/api-keys?q=', '/pay/payments?customerId='])
      for (const text of ["'", '%25', '\\', "x' or '1'='1", '__proto__']) {
        const { total } = (await org.api('get', path + encodeURI(text))).body.pagination ?? {};
        expect([path, text, total]).toEqual([path, text, 0]);
      }
  });

  it('400 for instants that do not exist', async () => {
    const incomplete = ['2026-01-01', '2026-01-01T00:00:00', '1767225600', '', 'infinity'];
    const instants = [...incomplete, '2026-02-30T00:00:00Z', '0000-01-01T00:00:00Z'];
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
