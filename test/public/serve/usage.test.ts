// API key usage: counted in memory, written to the database in one statement, added up across processes.
import { randomBytes } from 'node:crypto';
import type { Express } from 'express';
import { beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { openKnex } from '../../../src/db/connect.ts';
import { startUsageCounter } from '../../../src/public/index.ts';
import { startService } from '../../../src/service.ts';
import { testClock } from '../../setup/database.ts';
import { makeOrganization } from '../../setup/organization.ts';
import { useStarted } from '../../setup/use-started.ts';
import { createCaller, openSite, publicApp } from '../fixture.ts';

const clock = testClock();
const site = useStarted(() => {
  const versions = [{}, { version: 'v2', status: 'retired' }];
  return openSite({ clock, settings: { cacheTtlMs: 0 }, rows: [{ id: 1 }, { id: 2 }], versions });
});
const usage = useStarted(async () => startUsageCounter(site.ctx, { flushEveryMs: 3_600_000 }));
let app: Express;
let key: { id: string; secret: string };

beforeAll(async () => {
  app = publicApp(site.ctx, usage);
  key = await site.key();
});

const call = (path: string, headers: Record<string, string> = {}) =>
  createCaller(app, { secret: key.secret, organizationId: site.organizationId })(path, headers);
const readUsage = (apiKeyId: string) =>
  site.inTransaction((tx) =>
    tx('api_key_usage').where({ api_key_id: apiKeyId }).orderBy(['day', 'version', 'resource']).select('*'),
  );
const counted = async () =>
  (await readUsage(key.id)).map(
    (row) =>
      `${row.day} ${row.version}/${row.resource} ${row.succeeded} ${row.not_modified} ${row.refused} ${row.failed}`,
  );

it('counts each call once, by its target and its status, and adds up', async () => {
  const { headers } = await call('/v1/invoices');
  await call('/v1/invoices', { 'if-none-match': String(headers['etag']) }).expect(304);
  await call('/v1/invoices/1').expect(200);
  await call('/v1/invoices?color=red').expect(400);
  await call('/openapi/v1').expect(200);
  await call('/v1/made-up').expect(404);
  await call('/v77/made-up').expect(404);
  await call('/v2/invoices').expect(410);
  expect(await counted()).toEqual([]);
  await usage.flush();
  const first = [
    '2026-03-02 / 0 0 1 0',
    '2026-03-02 v1/ 1 0 1 0',
    '2026-03-02 v1/invoices 2 1 1 0',
    '2026-03-02 v2/invoices 0 0 1 0',
  ];
  expect(await counted()).toEqual(first);
  await usage.flush();
  expect(await counted()).toEqual(first);

  const other = startUsageCounter(site.ctx);
  clock.advance(86_400_000);
  for (const one of [usage, other])
    one.record({ apiKeyId: key.id, version: 'v1', resource: 'invoices' }, 503);
  await Promise.all([usage.flush(), other.stop()]);
  expect(await counted()).toEqual([...first, '2026-03-03 v1/invoices 0 0 0 2']);
});

it('counts a refused call by the version and the resource that it names, where they exist', async () => {
  const scoped = await site.key({ versions: ['v2'], resources: ['customers'] });
  const named = await site.key({ resources: ['customers'] });
  const { organizationId } = site;
  const tenant = (await makeOrganization(site.ctx)).id;
  for (const [{ secret }, path, status, headers] of [
    [scoped, '/v1/invoices', 403],
    [scoped, '/v1/invoices/1', 403],
    [scoped, '/v77/invoices', 403],
    [scoped, '/openapi/v1', 403],
    [named, '/v1/invoices', 403],
    [named, '/v1/made-up', 403],
    [named, '/v1/invoices', 403, { 'x-tenant-id': tenant }],
    [named, '/v1/invoices', 400, { 'x-tenant-id': '' }],
  ] as const)
    await createCaller(app, { secret, organizationId })(path, headers).expect(status);
  await usage.flush();
  const describeUsage = async ({ id }: { id: string }) =>
    (await readUsage(id)).map((row) => `${row.version}/${row.resource} ${row.succeeded} ${row.refused}`);
  expect(await describeUsage(scoped)).toEqual(['/ 0 1', 'v1/ 0 1', 'v1/invoices 0 2']);
  expect(await describeUsage(named)).toEqual(['v1/ 0 1', 'v1/invoices 0 3']);
});

it('keeps counts that could not be written, and continues counting meanwhile', async () => {
  const admin = openKnex(site.address, null, 1);
  const grown = async (): Promise<number> =>
    (await counted())
      .filter((row) => row.includes('v9/'))
      .reduce((sum, row) => sum + Number(row.split(' ')[2]), 0);
  try {
    await admin.raw('revoke execute on function add_api_key_usage from portal_service');
    usage.record({ apiKeyId: key.id, version: 'v9', resource: 'a' }, 200);
    const failing = usage.flush();
    usage.record({ apiKeyId: key.id, version: 'v9', resource: 'a' }, 200);
    usage.record({ apiKeyId: key.id, version: 'v9', resource: 'b' }, 200);
    await failing;
    expect(await grown()).toBe(0);
    await admin.raw('grant execute on function add_api_key_usage to portal_service');
    await usage.flush();
    expect(await grown()).toBe(3);
  } finally {
    await admin.destroy();
  }
});

it('is complete after shutdown', async () => {
  const config = readConfig({
    PORT: '0',
    LOG_LEVEL: 'silent',
    SYNC_WORKERS: '0',
    ENCRYPTION_KEY: `test:${randomBytes(32).toString('base64')}`,
  });
  const today = () => new Date().toISOString().slice(0, 10);
  const days = [today()];
  const service = await startService(config, {
    control: site.service,
    data: site.service,
    owner: site.address,
    embedded: undefined,
  });
  const headers = { authorization: `Bearer ${key.secret}`, 'x-tenant-id': site.organizationId };
  const { status } = await fetch(`${service.localUrl}/api/public/v1/invoices`, { headers });
  await service.stop();
  expect(status).toBe(200);
  // Midnight may have passed meanwhile.
  days.push(today());
  const kept = (await counted()).filter((row) => days.some((day) => row === `${day} v1/invoices 1 0 0 0`));
  expect(kept).toHaveLength(1);
});

it('bounds the unwritten rows, and ignores a deleted key', async () => {
  const small = startUsageCounter(site.ctx, { maxWaitingRows: 2 });
  small.record({ apiKeyId: '018f0000-0000-7000-8000-000000000000', version: 'v8', resource: 'a' }, 200);
  small.record({ apiKeyId: key.id, version: 'v8', resource: 'a' }, 200);
  small.record({ apiKeyId: key.id, version: 'v8', resource: 'b' }, 200);
  await small.stop();
  expect((await counted()).filter((row) => row.includes('v8/'))).toEqual(['2026-03-03 v8/a 1 0 0 0']);
});

it('is kept for thirteen months', async () => {
  const { control } = site.ctx.db;
  const [{ recent }] = (
    await control.raw("select ((now() at time zone 'UTC')::date - interval '12 months')::date as recent")
  ).rows;
  const used = { organization_id: site.organizationId, api_key_id: key.id, version: 'v7', resource: '' };
  await site.inTransaction((tx) =>
    tx('api_key_usage').insert(['2020-01-01', recent].map((day) => ({ ...used, day }))),
  );
  await site.ctx.db.control.raw('select prune_api_key_usage()');
  expect((await counted()).filter((row) => row.includes('v7/'))).toEqual([`${recent} v7/ 0 0 0 0`]);
});

it('counts by the subject of the token: the first 1,000 of a key and day by name, however many writes they come in', async () => {
  const [busy, quiet] = [await site.key(), await site.key()];
  const counter = startUsageCounter(site.ctx, { flushEveryMs: 3_600_000 });
  const record = (apiKeyId: string, subject?: string, resource = 'invoices') =>
    counter.record({ apiKeyId, version: 'v1', resource, ...(subject !== undefined && { subject }) }, 200);
  const subjects = async (apiKeyId: string) => {
    const sums = new Map<string, number>();
    for (const { subject, succeeded } of await readUsage(apiKeyId))
      sums.set(subject, (sums.get(subject) ?? 0) + Number(succeeded));
    return sums;
  };
  for (let index = 0; index < 600; index += 1) record(busy.id, `a${index}`);
  record(busy.id);
  record(quiet.id, 'b0');
  await counter.flush();
  for (let index = 0; index < 500; index += 1) record(busy.id, `b${String(index).padStart(3, '0')}`);
  record(busy.id, 'a0');
  record(busy.id, 'a0', 'customers');
  await counter.flush();
  for (const subject of ['a0', 'b000', 'b499', 'late', 'other']) record(busy.id, subject);
  clock.advance(86_400_000);
  record(busy.id, 'next day');
  await counter.stop();
  const counted = await subjects(busy.id);
  // 1,000 by name, the rest as `other`, those without a subject, and the one of the next day.
  expect(counted.size).toBe(1_003);
  expect(
    ['a0', 'b000', 'b399', 'b499', 'late', 'other', '', 'next day'].map((subject) => counted.get(subject)),
  ).toEqual([...[4, 2, 1, undefined, undefined, 103, 1, 1]]);
  expect([...(await subjects(quiet.id))]).toEqual([['b0', 1]]);
});
