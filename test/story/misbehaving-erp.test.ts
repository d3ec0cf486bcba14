// An ERP that misbehaves, switched on through its control interface, and what a person then sees on the run.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Background, startBackground } from '../../src/app.ts';
import { sendControl } from '../setup/account-control.ts';
import { testSettings } from '../setup/database.ts';
import { until } from '../setup/until.ts';
import { useOrganization } from '../setup/use-organization.ts';

const site = useOrganization({
  erp: { control: {} },
  settings: {
    sync: { ...testSettings.sync, retryBaseMs: 50, retryMaxMs: 100, maxAttemptsWithoutProgress: 2 },
  },
});
let background: Background;
let configId: string;

beforeAll(async () => {
  const { api, ctx, erp } = site;
  background = await startBackground(ctx);
  await erp.connect(api);
  expect((await api('post', '/netsuite/metadata/refresh')).status).toBe(200);
  const config = { recordType: 'customer', name: 'Customers', schedule: null };
  configId = (await api('post', '/sync-configs', config)).body.id;
  expect((await run()).status).toBe('succeeded');
});
afterAll(() => background.stop());

const put = (path: string, body: object) => sendControl(site.erp.account, 'PUT', path, body);

async function run(mode?: 'full') {
  const started = await site.api(
    'post',
    `/sync-configs/${configId}/trigger`,
    mode === undefined ? {} : { mode },
  );
  expect(started.status).toBe(202);
  return until(async () => {
    const { body } = await site.api('get', `/sync-runs/${started.body.id}`);
    return ['succeeded', 'partial', 'failed', 'cancelled'].includes(body.status) ? body : undefined;
  });
}

it('a hidden column: the run tries again without it, and the drift names it', async () => {
  await put('/hidden', { columns: { customer: ['defaultcountry'] } });
  const seen = await run('full');
  expect(seen).toMatchObject({ status: 'succeeded', attempt: 2, error: null });
  const { data } = (await site.api('get', `/sync-configs/${configId}/drift`)).body;
  expect(data).toMatchObject([{ kind: 'vanished', field: 'defaultcountry', runId: seen.id }]);
  await put('/hidden', {});
});

it.each([
  [
    'rows that are left out',
    [{ on: { table: 'customer', kind: 'rows' }, dropRows: { every: 50 } }],
    'COUNT_MISMATCH',
  ],
  ['a wrong count', [{ on: { table: 'customer', kind: 'count' }, countOffset: 1 }], 'COUNT_MISMATCH'],
  ['a forbidden table', [{ on: { table: 'customer' }, status: 403 }], 'PERMISSION_MISSING'],
])('%s: the run fails and says why', async (_name, faults, code) => {
  await put('/faults', faults);
  expect(await run('full')).toMatchObject({ status: 'failed', error: { code } });
  await put('/faults', []);
  expect((await run('full')).status).toBe('succeeded');
});
