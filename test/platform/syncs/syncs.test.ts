import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Background, startBackground } from '../../../src/app.ts';
import type { RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import { listProblems, pluck, refusal } from '../../setup/api.ts';
import { storeAccount } from '../../setup/erp-account.ts';
import { until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ erp: {}, each: true });
let described: RecordTypeMetadata[];

beforeAll(async () => {
  const first = await org.another();
  await org.erp.connect(first.api);
  await first.api('post', '/netsuite/metadata/refresh');
  described = await first.sql((tx) =>
    tx('erp_record_types').whereNotNull('description').pluck('description'),
  );
});

/** An organization with metadata, as after a refresh. */
beforeEach(async () => {
  await storeAccount({ db: org.ctx.db, organizationId: org.id }, { described, listed: [], account: null });
});
const create = (more: object = {}) =>
  org.api('post', '/sync-configs', { name: 'Customers', recordType: 'customer', ...more });
const make = async (more: object = {}): Promise<string> => (await create(more)).body.id;
const read = async (id: string) => (await org.api('get', `/sync-configs/${id}`)).body;
const change = (id: string, body: object) => org.api('patch', `/sync-configs/${id}`, body);
const setRun = (id: string, columns: object) => org.admin('sync_runs').where({ id }).update(columns);
const trigger = (configId: string, body: object = {}) =>
  org.api('post', `/sync-configs/${configId}/trigger`, body);
const command = (runId: string, verb: 'cancel' | 'retry') => org.api('post', `/sync-runs/${runId}/${verb}`);
const ofRun = async (runId: string, end = '') => (await org.api('get', `/sync-runs/${runId}${end}`)).body;

describe('POST /sync-configs', () => {
  it('201 with all defaults', async () => {
    const answer = await create();
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      ...{ name: 'Customers', recordType: 'customer', mode: 'incremental', schedule: null, timezone: 'UTC' },
      ...{
        enabled: true,
        fields: '*',
        deletions: 'reconcile',
        maxDeleteShare: 0.02,
        alertRecipients: [],
        freshnessTarget: null,
        freshness: null,
      },
      ...{ status: 'active', lastRun: null, records: 0, syncedAt: null, nextRunAt: null },
    });
    const timed = await create({ name: 'With a time', recordType: 'invoice', schedule: '*/5 * * * *' });
    expect(timed.body.nextRunAt).toMatch(/:\d[05]:00Z$/);
  });

  it('422 for a second configuration of a record type', async () => {
    await create();
    expect(await refusal(create({ name: 'Again' }))).toEqual([422, 'taken']);
    const [a, b] = await Promise.all([create({ recordType: 'invoice' }), create({ recordType: 'invoice' })]);
    expect([a.status, b.status].sort()).toEqual([201, 422]);
  });

  it.each([
    ['schedule', { schedule: '* * * * * *' }, 'invalid_schedule'],
    ['schedule', { schedule: '0 0 30 2 *' }, 'invalid_schedule'],
    ['schedule', { schedule: 'hourly' }, 'invalid_schedule'],
    ['timezone', { timezone: 'Europe/Atlantis' }, 'invalid_schedule'],
    ['recordType', { recordType: 'unicorn' }, 'unknown_record_type'],
    ['fields[1]', { fields: ['entityid', 'no_such_field'] }, 'unsyncable_field'],
    ['fields', { fields: ['entityid', 'entityid'] }, 'custom'],
  ])('422 at %s for %j', async (path, more, code) => {
    const answer = await create(more);
    expect([answer.status, listProblems(answer)[0]]).toEqual([422, `${path} ${code}`]);
  });
});

describe('PATCH and DELETE /sync-configs/{id}', () => {
  it('update the given fields, null clears, and a paused sync resumes', async () => {
    const id = await make({ schedule: '0 3 * * *', timezone: 'Europe/London' });
    const paused_reason = JSON.stringify({ code: 'X', message: 'x', fix: 'x' });
    await org.admin('sync_configs').where({ id }).update({ paused_reason });
    expect(await read(id)).toMatchObject({ status: 'paused', nextRunAt: null });
    const given = { schedule: null, fields: ['entityid'] };
    expect((await change(id, given)).body).toMatchObject({
      ...{ ...given, status: 'active', timezone: 'Europe/London', pausedReason: null },
    });
    expect(await refusal(change(id, { timezone: 'Nowhere' }))).toEqual([422, 'invalid_schedule']);
    expect((await change(id, { enabled: false })).body.status).toBe('disabled');
    expect((await org.api('delete', `/sync-configs/${id}`)).status).toBe(204);
    expect((await org.api('get', `/sync-configs/${id}`)).status).toBe(404);
  });

  it('422 names the published versions that use the removed fields', async () => {
    const id = await make();
    const fields = [
      { name: 'number', source: 'entityid' },
      { name: 'money', source: 'currency.name' },
    ];
    await org.admin.raw(
      `insert into api_schemas (id, organization_id, version, status, endpoints, bindings, openapi, published_at, created_by)
       select gen_random_uuid(), ?, 'v' || n, case n when 1 then 'published' when 2 then 'retired' else 'draft' end, ?::jsonb, '{}', '{}', now(), gen_random_uuid()
       from generate_series(1, 3) n`,
      [org.id, JSON.stringify([{ name: 'customers', recordType: 'customer', fields }])],
    );
    const dropped = await change(id, { fields: ['entityid', 'isperson'] });
    expect(await refusal(dropped)).toEqual([422, 'in_use']);
    expect(dropped.body.error.details[0].message).toBe('v1 uses currency.name');
    expect((await change(id, { fields: ['entityid', 'currency'] })).status).toBe(200);
    const deleted = await org.api('delete', `/sync-configs/${id}`);
    expect(await refusal(deleted)).toEqual([422, 'in_use']);
    expect(deleted.body.error.details[0].message).toContain('v1');
  });
});

describe('POST /sync-configs/{id}/trigger', () => {
  it('202 with the run, and the open run when there is one', async () => {
    const id = await make();
    const { status, body: first } = await trigger(id);
    expect([status, first]).toMatchObject([
      202,
      { coalesced: false, status: 'queued', trigger: 'manual', mode: 'incremental', syncConfigId: id },
    ]);
    const again = await org.api('post', `/sync-configs/${id}/trigger`);
    expect([again.status, again.body.coalesced, again.body.id]).toEqual([202, true, first.id]);
    expect((await read(id)).lastRun.id).toBe(first.id);
  });

  it('creates one run for concurrent requests', async () => {
    const id = await make();
    const answers = await Promise.all(Array.from({ length: 6 }, () => trigger(id)));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ body }) => body.coalesced === false)).toHaveLength(1);
  });

  it('makes a queued run full when a full one is requested', async () => {
    const configId = await make();
    const { id } = (await trigger(configId)).body;
    for (const mode of ['full', 'incremental'])
      expect((await trigger(configId, { mode })).body).toMatchObject({ id, mode: 'full', coalesced: true });
  });

  it('queues one full run after a running incremental one', async () => {
    const id = await make();
    const running = await trigger(id);
    await setRun(running.body.id, { status: 'running' });
    const full = (await trigger(id, { mode: 'full' })).body;
    expect(full).toMatchObject({ coalesced: false, mode: 'full', status: 'queued' });
    for (const mode of ['full', undefined])
      expect((await trigger(id, { mode })).body).toMatchObject({ id: full.id, coalesced: true });
  });
});

it('GET /sync-configs?sort=attention lists what needs a person first', async () => {
  const add = async (name: string, recordType: string, more: object, status?: string) => {
    const id = await make({ name, recordType, ...more });
    if (status !== undefined) await setRun((await trigger(id)).body.id, { status });
    return id;
  };
  await add('A off', 'vendor', { enabled: false }, 'failed');
  await add('B fine', 'customer', {}, 'succeeded');
  await add('C open', 'invoice', {}, 'running');
  await add('D partial', 'item', {}, 'partial');
  await add('E failed', 'contact', {}, 'failed');
  const paused = await add('F paused', 'employee', {}, 'succeeded');
  const reason = JSON.stringify({ code: 'X', message: 'x', fix: 'x' });
  await org.admin('sync_configs').where({ id: paused }).update({ paused_reason: reason });
  const listed = async (query: string) =>
    pluck((await org.api('get', `/sync-configs?sort=attention${query}`)).body.data, 'name').map(
      (name: string) => name.charAt(0),
    );
  expect((await listed('')).join('')).toBe('FEDCBA');
  expect((await listed('&order=desc')).join('')).toBe('ABCDEF');
});

it('POST /sync-configs/trigger queues a run of each enabled sync that has none open', async () => {
  const start = async (body: object = {}) => {
    const answer = await org.api('post', '/sync-configs/trigger', body);
    expect(answer.status).toBe(202);
    return answer.body;
  };
  expect(await start()).toEqual({ started: 0, open: 0, skipped: 0 });
  const [customers, invoices] = [await make(), await make({ recordType: 'invoice', mode: 'full' })];
  await make({ recordType: 'item', enabled: false });
  const open = (await trigger(customers)).body;
  expect(await start()).toEqual({ started: 1, open: 1, skipped: 1 });
  const runs = (await org.api('get', '/sync-runs')).body.data;
  expect(
    runs.map(({ syncConfigId, mode, trigger: by }: Record<string, string>) => [syncConfigId, mode, by]),
  ).toEqual([
    [invoices, 'full', 'manual'],
    [customers, 'incremental', 'manual'],
  ]);
  await command(open.id, 'cancel');
  expect(await start({ mode: 'full' })).toEqual({ started: 1, open: 1, skipped: 1 });
  expect((await read(customers)).lastRun.mode).toBe('full');
  const stranger = await org.another();
  expect((await stranger.api('post', '/sync-configs/trigger', {})).body.started).toBe(0);
});

it('POST /sync-runs/{id}/cancel and /retry cancel an open run and retry a run that did not succeed', async () => {
  const { id } = (await trigger(await make())).body;
  expect(await refusal(command(id, 'retry'))).toEqual([422, 'not_retryable']);
  expect((await command(id, 'cancel')).body).toMatchObject({ status: 'cancelled' });
  expect(await refusal(command(id, 'cancel'))).toEqual([422, 'run_ended']);
  const retried = await command(id, 'retry');
  expect([retried.status, retried.body.retryOf, retried.body.trigger]).toEqual([202, id, 'retry']);
  expect(await refusal(command(id, 'retry'))).toEqual([422, 'run_open']);
});

it('POST /sync-runs/{id}/cancel: 422 while the run is being published', async () => {
  const { id } = (await trigger(await make())).body;
  await setRun(id, { status: 'publishing' });
  expect(await refusal(command(id, 'cancel'))).toEqual([422, 'publishing']);
});

describe('a run', () => {
  let background: Background;
  it('shows its total and the time left while the ERP holds a page back', async () => {
    await org.erp.connect(org.api);
    const id = await make();
    // Two pages arrive; the third is late by more than this test takes.
    const late = { every: 3, times: 1, status: 503, delayMs: 3_600_000 };
    org.erp.account.injectFault({ path: /suiteql\?limit=20\b/, ...late });
    const { settings } = org.ctx;
    const smallPages = { ...org.ctx, settings: { ...settings, sync: { ...settings.sync, pageSize: 20 } } };
    const { id: runId } = (await trigger(id)).body;
    const runWhen = (isThere: (run: { status: string; progress: { done: number } | null }) => boolean) =>
      until(async () => {
        const run = await ofRun(runId);
        return isThere(run) && run;
      });
    background = await startBackground(smallPages);
    const { progress } = await runWhen((run) => run.progress?.done === 40).finally(() => background.stop());
    expect((await org.api('get', '/sync-runs')).body.data).toMatchObject([
      { id: runId, status: 'running', progress },
    ]);
    background = await startBackground(smallPages);
    const { counts } = await runWhen(({ status }) => status === 'succeeded').finally(() => background.stop());
    expect(progress).toMatchObject({
      phase: 'reading',
      expected: counts.inserted,
      percent: Math.floor(4_000 / counts.inserted),
    });
    expect(progress.estimatedSecondsLeft).toBeGreaterThan(0);
  });

  it('leads from the trigger to stored records, with progress, counts, events and proof', async () => {
    await org.erp.connect(org.api);
    const id = await make();
    background = await startBackground(org.ctx);
    onTestFinished(() => background.stop());
    const { id: runId } = (await trigger(id)).body;
    const ended = await until(async () => {
      const run = await ofRun(runId);
      return ['succeeded', 'partial', 'failed'].includes(run.status) && run;
    });
    const counts = { inserted: expect.any(Number), rejected: 0 };
    expect(ended).toMatchObject({ status: 'succeeded', error: null, counts });
    expect(ended.counts.inserted).toBeGreaterThan(100);
    expect((await ofRun(runId, '/events')).pagination.total).toBeGreaterThan(0);
    const { checks } = await ofRun(runId, '/proof');
    expect(checks.length).toBeGreaterThan(0);
    expect(pluck(checks, 'passed')).toEqual(checks.map(() => true));
    expect((await ofRun(runId, '/rejections')).data).toEqual([]);
    expect((await org.api('get', '/whoami')).body.metrics.storage.records).toBe(ended.counts.inserted);
  });
});
