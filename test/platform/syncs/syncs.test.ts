import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Background, startBackground } from '../../../src/app.ts';
import type { RecordTypeMetadata } from '../../../src/connectors/connector.ts';
import { saveAccount } from '../../../src/sync/record-types.store.ts';
import { listCodes, refusal } from '../../setup/api.ts';
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
  await saveAccount({ db: org.ctx.db, organizationId: org.id }, { described, listed: [], account: null });
});
const create = (more: object = {}) =>
  org.api('post', '/sync-configs', { name: 'Customers', recordType: 'customer', ...more });
const setRun = (id: string, columns: object) =>
  org.sql((tx) => tx('sync_runs').where({ id }).update(columns));
const trigger = (configId: string, body: object = {}) =>
  org.api('post', `/sync-configs/${configId}/trigger`, body);

describe('POST /sync-configs', () => {
  it('201 with all defaults', async () => {
    const answer = await create();
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      name: 'Customers',
      recordType: 'customer',
      mode: 'incremental',
      schedule: null,
      timezone: 'UTC',
      enabled: true,
      fields: '*',
      deletions: 'reconcile',
      maxDeleteShare: 0.02,
      alertRecipients: [],
      status: 'active',
      lastRun: null,
      records: 0,
      syncedAt: null,
      nextRunAt: null,
    });
    expect(
      (await create({ name: 'With a time', recordType: 'invoice', schedule: '*/5 * * * *' })).body.nextRunAt,
    ).toMatch(/:\d[05]:00Z$/);
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
    expect([answer.status, answer.body.error.details[0].path, listCodes(answer)[0]]).toEqual([
      422,
      path,
      code,
    ]);
  });
});

describe('PATCH and DELETE /sync-configs/{id}', () => {
  it('update the given fields, null clears, and a paused sync resumes', async () => {
    const { id } = (await create({ schedule: '0 3 * * *', timezone: 'Europe/London' })).body;
    await org.sql((tx) =>
      tx('sync_configs').update({ paused_reason: JSON.stringify({ code: 'X', message: 'x', fix: 'x' }) }),
    );
    expect((await org.api('get', `/sync-configs/${id}`)).body).toMatchObject({
      status: 'paused',
      nextRunAt: null,
    });
    const changed = await org.api('patch', `/sync-configs/${id}`, { schedule: null, fields: ['entityid'] });
    expect(changed.body).toMatchObject({
      status: 'active',
      schedule: null,
      timezone: 'Europe/London',
      fields: ['entityid'],
      pausedReason: null,
    });
    expect(listCodes(await org.api('patch', `/sync-configs/${id}`, { timezone: 'Nowhere' }))).toEqual([
      'invalid_schedule',
    ]);
    expect((await org.api('patch', `/sync-configs/${id}`, { enabled: false })).body.status).toBe('disabled');
    expect((await org.api('delete', `/sync-configs/${id}`)).status).toBe(204);
    expect((await org.api('get', `/sync-configs/${id}`)).status).toBe(404);
  });

  it('422 names the published versions that use the removed fields', async () => {
    const { id } = (await create()).body;
    const endpoints = [
      {
        name: 'customers',
        recordType: 'customer',
        fields: [
          { name: 'number', source: 'entityid' },
          { name: 'money', source: 'currency.name' },
        ],
      },
    ];
    await org.sql((tx) =>
      tx.raw(
        `insert into api_schemas (id, organization_id, version, status, endpoints, bindings, openapi, published_at, created_by)
         select gen_random_uuid(), ?, 'v' || n, case n when 1 then 'published' when 2 then 'retired' else 'draft' end, ?::jsonb, '{}', '{}', now(), gen_random_uuid()
         from generate_series(1, 3) n`,
        [org.id, JSON.stringify(endpoints)],
      ),
    );
    const dropped = await org.api('patch', `/sync-configs/${id}`, { fields: ['entityid', 'isperson'] });
    expect([dropped.status, listCodes(dropped)]).toEqual([422, ['in_use']]);
    expect(dropped.body.error.details[0].message).toBe('v1 uses currency.name');
    expect((await org.api('patch', `/sync-configs/${id}`, { fields: ['entityid', 'currency'] })).status).toBe(
      200,
    );
    const deleted = await org.api('delete', `/sync-configs/${id}`);
    expect([deleted.status, listCodes(deleted)]).toEqual([422, ['in_use']]);
    expect(deleted.body.error.details[0].message).toContain('v1');
  });
});

describe('POST /sync-configs/{id}/trigger', () => {
  it('202 with the run, and the open run when there is one', async () => {
    const { id } = (await create()).body;
    const first = await trigger(id);
    expect([first.status, first.body.coalesced]).toEqual([202, false]);
    expect(first.body).toMatchObject({
      status: 'queued',
      trigger: 'manual',
      mode: 'incremental',
      syncConfigId: id,
    });
    const again = await org.api('post', `/sync-configs/${id}/trigger`);
    expect([again.status, again.body.coalesced, again.body.id]).toEqual([202, true, first.body.id]);
    expect((await org.api('get', `/sync-configs/${id}`)).body.lastRun.id).toBe(first.body.id);
  });

  it('creates one run for concurrent requests', async () => {
    const { id } = (await create()).body;
    const answers = await Promise.all(Array.from({ length: 6 }, () => trigger(id)));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ body }) => body.coalesced === false)).toHaveLength(1);
  });

  it('makes a queued run full when a full one is requested', async () => {
    const { id } = (await create()).body;
    const first = await trigger(id);
    const full = await trigger(id, { mode: 'full' });
    expect(full.body).toMatchObject({ id: first.body.id, mode: 'full', coalesced: true });
    expect((await trigger(id, { mode: 'incremental' })).body).toMatchObject({
      id: first.body.id,
      mode: 'full',
      coalesced: true,
    });
  });

  it('queues one full run after a running incremental one', async () => {
    const { id } = (await create()).body;
    const running = await trigger(id);
    await setRun(running.body.id, { status: 'running', lease_until: new Date(Date.now() + 60_000) });
    const full = await trigger(id, { mode: 'full' });
    expect(full.body).toMatchObject({ coalesced: false, mode: 'full', status: 'queued' });
    expect((await trigger(id, { mode: 'full' })).body).toMatchObject({ id: full.body.id, coalesced: true });
    expect((await trigger(id)).body).toMatchObject({ id: full.body.id, coalesced: true });
  });
});

it('POST /sync-runs/{id}/cancel and /retry cancel an open run and retry a run that did not succeed', async () => {
  const { id } = (await create()).body;
  const run = (await trigger(id)).body;
  expect(await refusal(org.api('post', `/sync-runs/${run.id}/retry`))).toEqual([422, 'not_retryable']);
  expect((await org.api('post', `/sync-runs/${run.id}/cancel`)).body).toMatchObject({
    status: 'cancelled',
  });
  expect(await refusal(org.api('post', `/sync-runs/${run.id}/cancel`))).toEqual([422, 'run_ended']);
  const retried = await org.api('post', `/sync-runs/${run.id}/retry`);
  expect([retried.status, retried.body.retryOf, retried.body.trigger]).toEqual([202, run.id, 'retry']);
  expect(listCodes(await org.api('post', `/sync-runs/${run.id}/retry`))).toEqual(['run_open']);
});

it('POST /sync-runs/{id}/cancel: 422 while the run is being published', async () => {
  const { id } = (await create()).body;
  const run = (await trigger(id)).body;
  await setRun(run.id, { status: 'publishing' });
  expect(await refusal(org.api('post', `/sync-runs/${run.id}/cancel`))).toEqual([422, 'publishing']);
});

describe('a run', () => {
  let background: Background;
  it('shows its total and the time left while the ERP holds a page back', async () => {
    await org.erp.connect(org.api);
    const { id } = (await create()).body;
    // Two pages arrive; the third is late by more than this test takes.
    org.erp.account.injectFault({
      path: /suiteql\?limit=20\b/,
      every: 3,
      times: 1,
      status: 503,
      delayMs: 3_600_000,
    });
    const { settings } = org.ctx;
    const smallPages = { ...org.ctx, settings: { ...settings, sync: { ...settings.sync, pageSize: 20 } } };
    const { id: runId } = (await trigger(id)).body;
    const runWhen = (isThere: (run: { status: string; progress: { done: number } | null }) => boolean) =>
      until(async () => {
        const { body } = await org.api('get', `/sync-runs/${runId}`);
        return isThere(body) ? body : undefined;
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
    const { id } = (await create()).body;
    background = await startBackground(org.ctx);
    try {
      const { body } = await trigger(id);
      const ended = await until(async () => {
        const run = (await org.api('get', `/sync-runs/${body.id}`)).body;
        return ['succeeded', 'partial', 'failed'].includes(run.status) ? run : undefined;
      });
      expect(ended).toMatchObject({
        status: 'succeeded',
        error: null,
        counts: { inserted: expect.any(Number), rejected: 0 },
      });
      expect(ended.counts.inserted).toBeGreaterThan(100);
      expect((await org.api('get', `/sync-runs/${body.id}/events`)).body.pagination.total).toBeGreaterThan(0);
      const { checks } = (await org.api('get', `/sync-runs/${body.id}/proof`)).body;
      expect(checks.length).toBeGreaterThan(0);
      expect(checks.every(({ passed }: { passed: boolean }) => passed)).toBe(true);
      expect((await org.api('get', `/sync-runs/${body.id}/rejections`)).body.data).toEqual([]);
      expect((await org.api('get', '/whoami')).body.metrics.storage.records).toBe(ended.counts.inserted);
    } finally {
      await background.stop();
    }
  });
});
