// A field that the ERP stops delivering is named on every answer of the versions that show it, from the run
// that missed it until the run that could read it again. Versions that don't show it see no difference.
import supertest from 'supertest';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Answer } from '../setup/api.ts';
import { makeKey } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import { useCompany } from './company.ts';

const company = useCompany();
const origin = 'https://app.example';

const field = (name: string, source: string) => ({ name, source });
const number = field('number', 'tranid');
const withDueDate = {
  name: 'invoices',
  recordType: 'invoice',
  fields: [number, field('dueDate', 'duedate')],
};
const without = { name: 'invoices', recordType: 'invoice', fields: [number, field('total', 'foreigntotal')] };

const hideDueDate = (isHidden: boolean) =>
  company.control('PUT', '/hidden', {
    tables: [],
    columns: isHidden ? { transaction: ['duedate'] } : {},
    rows: {},
  });
const edit = (id: string, fields: object) =>
  company.control('PATCH', `/records/transaction/${id}`, { fields });
const toFreshness = ({ headers }: Answer) => ({
  syncedAt: headers['x-data-synced-at'] ?? '',
  stale: headers['x-data-stale-fields'],
});
const list = '/v1/invoices?pageSize=2';

let id: string;
let request: (method: 'get' | 'head', path: string, headers?: Record<string, string>) => Promise<Answer>;
beforeAll(async () => {
  await company.run('invoice');
  await company.publish([withDueDate]);
  await company.publish([without]);
  id = (await company.read(list)).body.data[0].id;
  const { ctx } = company.database;
  const app = createApp({ ...ctx, settings: { ...ctx.settings, corsOrigins: [origin] } });
  const { secret } = await makeKey(ctx, company.organizationId);
  request = async (method, path, headers = {}) =>
    supertest(app)
      [method](`/api/public${path}`)
      .set({ authorization: `Bearer ${secret}`, 'x-tenant-id': company.organizationId, ...headers });
});

/** Once every process has read the state again. */
const untilStale = (isStale: boolean) =>
  until(
    async () =>
      ((await request('head', list)).headers['x-data-stale-fields'] !== undefined) === isStale || undefined,
  );

describe.each(['incremental', 'full'] as const)('a field that is missing in an %s run', (mode) => {
  it('is named on every answer of its version, until it can be read again', async () => {
    const before = await request('get', list);
    const { etag = '' } = before.headers;
    const good = toFreshness(before);
    expect(good).toEqual({ syncedAt: expect.stringMatching(/^\d{4}-.*Z$/), stale: undefined });
    await hideDueDate(true);
    await company.expectPartial('invoice', mode, 'FIELDS_UNREADABLE');
    await untilStale(true);
    const { syncedAt, stale } = toFreshness(await request('get', list));
    expect(stale).toMatch(/^dueDate; since="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"$/);
    expect(syncedAt).toBe(good.syncedAt);

    const answers: Record<string, Answer> = {
      list: await request('get', list),
      'same page again': await request('get', list),
      'not modified': await request('get', list, { 'if-none-match': etag }),
      head: await request('head', list),
      record: await request('get', `/v1/invoices/${id}`),
      ndjson: await request('get', '/v1/invoices', { accept: 'application/x-ndjson' }),
      'head of an export': await request('head', '/v1/invoices', { accept: 'text/csv' }),
      csv: await request('get', '/v1/invoices', { accept: 'text/csv' }),
      changes: await request('get', '/v1/invoices/changes?limit=2'),
    };
    const tagOfChanges = answers['changes']?.headers['etag'] ?? '';
    answers['changes not modified'] = await request('get', '/v1/invoices/changes?limit=2', {
      'if-none-match': tagOfChanges,
    });
    for (const [name, answer] of Object.entries(answers))
      expect([name, toFreshness(answer)]).toEqual([name, { syncedAt, stale }]);
    expect([answers['not modified']?.status, answers['changes not modified']?.status]).toEqual([304, 304]);
    expect(answers['list']?.headers['etag']).toBe(etag);

    const exposed = await request('get', list, { origin });
    expect(exposed.headers['access-control-expose-headers']?.split(', ')).toContain('X-Data-Stale-Fields');

    // Another run changes other fields: they are as of that run, the missing one is not.
    await edit(id, { foreigntotal: mode === 'full' ? '20.01' : '20.02' });
    await company.expectPartial('invoice', mode, 'FIELDS_UNREADABLE');
    const other = await until(async () => {
      const answer = await request('get', `/v2/invoices/${id}`);
      return answer.body.data.total === (mode === 'full' ? 20.01 : 20.02) ? answer : undefined;
    });
    expect(toFreshness(other).stale).toBeUndefined();
    expect(Date.parse(toFreshness(other).syncedAt)).toBeGreaterThan(Date.parse(syncedAt));
    expect(toFreshness(await request('get', `/v1/invoices/${id}`))).toEqual({ syncedAt, stale });

    await hideDueDate(false);
    await company.expectSuccess('invoice', mode);
    await untilStale(false);
    const healed = toFreshness(await request('get', list));
    expect(healed.stale).toBeUndefined();
    expect(Date.parse(healed.syncedAt)).toBeGreaterThan(Date.parse(syncedAt));
  });
});
