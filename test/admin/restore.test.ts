// A backup is taken, the service continues, the server is lost and the backup restored: state that clients
// got after the backup isn't accepted as current, and after the next sync all records are correct.
import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { createId } from '../../src/core/id.ts';
import { openDb } from '../../src/db/connect.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { enqueueMail, layoutMail } from '../../src/mail/index.ts';
import { findDueSlot } from '../../src/sync/index.ts';
import { claimRun } from '../../src/sync/queue/runs.store.ts';
import { clearEndedRuns, workOnRun } from '../../src/sync/run/worker.ts';
import { createCaller, publicApp, publishVersion } from '../public/fixture.ts';
import { createApi, pluck } from '../setup/api.ts';
import { dropDatabase, onAllNodes, type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeSession } from '../setup/organization.ts';
import {
  addConfig,
  datedFields,
  memoryErp,
  noSignal,
  type SyncFixture,
  syncFixture,
} from '../sync/fixture.ts';
import { createOperator, type Operator } from './fixture.ts';

const endpoint = {
  name: 'things',
  recordType: 'thing',
  fields: ['name', 'total'].map((name) => ({ name, source: name })),
};
const words = layoutMail({ title: 'x', paragraphs: ['x'] });
const mail = { kind: 'test', to: { address: 'a@b.test' }, ...words };
const hours = (count: number): Date => new Date(Date.UTC(2026, 4, 1, count));

let database: TestDatabase;
let fixture: SyncFixture;
let secret: string;
let session: { headers: Record<string, string> };
const subscriptionId = createId();

/** The restored backup. */
let backup: { name: string; ctx: Ctx; operator: Operator; close(): Promise<void> };
type Held = { tag: string; token: string; description: string; descriptionTag: string };
let atBackup: Held;
let later: Held;
let earlierReport: string;

/** One app per database, kept like that of a running process, so that its caches are tested too. */
const apps = new Map<Ctx, ReturnType<typeof publicApp>>();
const loadApp = (ctx: Ctx) => {
  const app = apps.get(ctx) ?? publicApp(ctx);
  apps.set(ctx, app);
  return app;
};
const getFrom = (ctx: Ctx) => createCaller(loadApp(ctx), { secret, organizationId: fixture.organizationId });
async function hold(ctx: Ctx): Promise<Held> {
  const get = getFrom(ctx);
  const list = await get('/v1/things').expect(200);
  const described = await get('/openapi/v1').expect(200);
  return {
    tag: list.headers['etag'] ?? '',
    token: (await get('/v1/things/changes').expect(200)).body.next,
    description: described.text,
    descriptionTag: described.headers['etag'] ?? '',
  };
}
const names = async (ctx: Ctx): Promise<string[]> =>
  pluck((await getFrom(ctx)('/v1/things').expect(200)).body.data, 'name');

/**
 * Copies the database. All connections are closed and reopen by themselves, but only after the copy:
 * background work would reconnect at once, and a database can't be copied while anyone is connected.
 */
async function saveDatabase(): Promise<string> {
  const name = `backup_${randomBytes(6).toString('hex')}`;
  const { database: source } = database.address;
  const letIn = (allowed: boolean) =>
    onAllNodes((admin) => admin.raw(`alter database ${source} allow_connections ${allowed}`));
  try {
    await letIn(false);
    await onAllNodes(async (admin) => {
      await admin.raw('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ?', [
        source,
      ]);
      await admin.raw(`create database ${name} template ${source}`);
    });
  } finally {
    await letIn(true);
  }
  return name;
}

async function openBackup(name: string): Promise<typeof backup> {
  const address = { ...database.address, database: name };
  const db = openDb(address, address, { control: 4, data: 4 }, 5_000);
  const ctx: Ctx = { ...database.ctx, db };
  const operator = createOperator(ctx, address);
  const close = async () => {
    await operator.close();
    await db.close();
    await onAllNodes((admin) => dropDatabase(admin, name));
  };
  return { name, ctx, operator, close };
}

const inBackup = <T>(work: Parameters<typeof inTransaction<T>>[1]): Promise<T> =>
  inTransaction({ db: backup.ctx.db, organizationId: fixture.organizationId }, work);

/** Leaves everything unfinished that may be in progress when a backup is taken. */
async function leaveUnfinished(): Promise<void> {
  const { organizationId, tenant, ctx } = fixture;
  const own = { organization_id: organizationId };
  const { user_id: userId } = await inTransaction(tenant, (tx) => tx('memberships').first('user_id'));
  session = await makeSession(ctx, userId, organizationId);
  await inTransaction(tenant, async (tx) => {
    await enqueueMail(tx, tenant, { ...mail, subject: 'x' });
    const request = { ...own, credential_id: 'x', route_id: 'x', request_hash: Buffer.from('x') };
    const locked_until = tx.raw("now() + interval '5 minutes'");
    await tx('idempotency_keys').insert([
      { ...request, key: 'begun', locked_until },
      { ...request, key: 'written', locked_until, done: '{}' },
      { ...request, key: 'answered', status: 201, body: '{}' },
    ]);
    const view = { ...own, id: createId(), owner_id: userId };
    const shown = { name: 'x', record_type: 'thing', columns: ['name'], visibility: 'private' };
    await tx('views').insert({ ...view, ...shown });
    const when = { schedule: '* * * * *', timezone: 'UTC', scheduled_since: '2026-01-01' };
    const subscription = { ...view, id: subscriptionId, view_id: view.id, format: 'csv' };
    await tx('subscriptions').insert({ ...subscription, ...when });
    const slot = { subscription_id: subscriptionId, trigger: 'manual', slot: new Date() };
    await tx('subscription_slots').insert({ ...own, id: createId(), ...slot });
  });
  // A second record type in the middle of its first read, and a third one that is queued.
  await addConfig(ctx, organizationId, { recordType: 'paused' });
  const paused_reason = '{"code":"x","message":"x","fix":"x"}';
  await inTransaction(tenant, (tx) =>
    tx('sync_configs').where({ record_type: 'paused' }).update({ paused_reason }),
  );
  await fixture.queue('incremental');
  fixture.erp.onCall = ({ operation }) => {
    if (operation === 'listIds') throw Object.assign(new Error('cut'), { code: 'ECONNRESET' });
  };
  await fixture.work(await fixture.claim());
  fixture.erp.onCall = () => undefined;
}

beforeAll(async () => {
  database = await testDatabase({ settings: { cacheTtlMs: 0 } });
  fixture = await syncFixture(database.ctx, memoryErp(datedFields));
  const { erp } = fixture;
  erp.at = hours(0);
  erp.deleted = null;
  for (let id = 1; id <= 4; id += 1) erp.put(id);
  await fixture.sync();
  await publishVersion(fixture.ctx, fixture.organizationId, { endpoints: [endpoint] });
  ({ secret } = await makeKey(fixture.ctx, fixture.organizationId));
  erp.at = hours(1);
  atBackup = await hold(fixture.ctx);
  await leaveUnfinished();
  const operator = createOperator(fixture.ctx, database.address);
  earlierReport = path.join(tmpdir(), `portal-report-${randomBytes(6).toString('hex')}.json`);
  await writeFile(earlierReport, JSON.stringify((await operator.run('verify-restore')).json));
  const name = await saveDatabase();
  // Everything written from here on is lost.
  erp.at = hours(2);
  erp.put(1, { name: 'edited after the backup' });
  await fixture.sync('incremental');
  later = await hold(fixture.ctx);
  erp.records.delete('2');
  erp.put(5, { name: 'made after the backup' });
  erp.at = hours(3);
  await operator.close();
  backup = await openBackup(name);
});
afterAll(async () => {
  await rm(earlierReport, { force: true });
  await backup.close();
  await database.close();
});

it('a backup without finish-restore accepts entity tags and change tokens of before, which is why the command exists', async () => {
  const get = getFrom(backup.ctx);
  expect((await get('/v1/things', { 'if-none-match': atBackup.tag })).status).toBe(304);
  await get(`/v1/things/changes?since=${atBackup.token}`).expect(200);
});

describe('finish-restore', () => {
  let finished: Awaited<ReturnType<Operator['run']>>;
  beforeAll(async () => {
    finished = await backup.operator.run('finish-restore', '--stopped', '2026-03-02T09:58:30Z');
  });

  it('reports what it did, and finds no problems', async () => {
    expect(finished.incomplete).toBe(false);
    expect(finished.json).toMatchObject({
      sessions: 1,
      requests: 2,
      organizations: [{ tables: 1, mails: 1, slots: 1, runs: { cancelled: 1, released: 0, queued: 1 } }],
      verified: {
        problems: [],
        organizations: [
          { tables: [{ recordType: 'thing', rows: 4, counted: 4 }], versions: [{ version: 'v1' }] },
        ],
      },
    });
    const rows = await inBackup((tx) =>
      tx('audit_log').where({ action: 'restore.finish' }).select('credential_kind'),
    );
    expect(rows).toEqual([{ credential_kind: 'operator' }]);
    const compared = await backup.operator.run('verify-restore', '--against', earlierReport);
    expect([compared.incomplete, compared.json['problems']]).toEqual([false, []]);
  });

  it('no entity tag matches any more, and change tokens get 410', async () => {
    const get = getFrom(backup.ctx);
    for (const { tag, token } of [atBackup, later]) {
      const list = await get('/v1/things', { 'if-none-match': tag });
      expect(list.status).toBe(200);
      expect(list.headers['etag']).not.toBe(tag);
      const changes = await get(`/v1/things/changes?since=${token}`);
      expect([changes.status, changes.body.error.details[0].code]).toEqual([410, 'token_expired']);
    }
    expect(await names(backup.ctx)).toEqual(['name 1', 'name 2', 'name 3', 'name 4']);
  });

  it('API keys still work, and a published version has the same bytes and entity tag', async () => {
    const now = await hold(backup.ctx);
    expect(now.description).toBe(atBackup.description);
    expect(now.descriptionTag).toBe(atBackup.descriptionTag);
  });

  it('sessions have ended, and labels of lost versions are not reused', async () => {
    const app = createApp(backup.ctx);
    expect((await createApi(app, null)('get', '/whoami', undefined, session.headers)).status).toBe(401);
    const key = await makeKey(backup.ctx, fixture.organizationId, { permissions: ['write'] });
    const made = await createApi(app, key.secret)('post', '/api-schema', { endpoints: [endpoint] });
    expect([made.status, made.body.version]).toEqual([201, 'v11']);
  });

  it('unsent mails and slots are not sent, unfinished requests are released, finished ones are kept', async () => {
    const state = await inBackup(async (tx) => ({
      mails: await tx('outgoing_mails').pluck('status'),
      slots: await tx('subscription_slots').pluck('status'),
      requests: await tx('idempotency_keys')
        .whereRaw("route_id = 'x' and locked_until > now() is not true")
        .orderBy('key')
        .pluck('key'),
    }));
    expect(state).toEqual({ mails: ['unknown'], slots: ['failed'], requests: ['answered', 'written'] });
  });

  it('subscriptions catch up on what was due after the stop, and on nothing before it', async () => {
    const row = await inBackup((tx) =>
      tx('subscriptions').first<{ schedule: string; timezone: string; scheduled_since: Date }>('*'),
    );
    const due = (at: string) =>
      findDueSlot({ ...row, lastSlot: null, since: row.scheduled_since }, new Date(at));
    expect(due('2026-03-02T09:58:40Z')).toBeNull();
    expect(due('2026-03-02T10:30:10Z')).toEqual(new Date('2026-03-02T10:30:00Z'));
  });

  it('the next run compares everything: changes, additions and a deletion that the ERP does not list', async () => {
    await clearEndedRuns(backup.ctx);
    const { rows } = await backup.ctx.db.data.query(
      `select run_id from ${fixture.schema}.run_state where outcome is null`,
    );
    expect(rows).toEqual([]);
    await inBackup((tx) =>
      tx('sync_configs').where({ record_type: 'thing' }).update({ mode: 'incremental' }),
    );
    const lease = await claimRun(backup.ctx, 'test', 60_000);
    expect(await claimRun(backup.ctx, 'test', 60_000)).toBeUndefined();
    if (lease === undefined) throw new Error('nothing was queued');
    await workOnRun(backup.ctx, lease, noSignal, async () => fixture.erp.connector);
    const run = await inBackup((tx) => tx('sync_runs').where({ id: lease.runId }).first());
    expect(run).toMatchObject({ status: 'succeeded', counts: { inserted: 1, updated: 1, deleted: 1 } });
    const [edited, made] = ['edited after the backup', 'made after the backup'];
    expect(await names(backup.ctx)).toEqual([edited, 'name 3', 'name 4', made]);
  });

  it('does not touch what was created after --since', async () => {
    const tenant = { ...backup.ctx, organizationId: fixture.organizationId };
    const since = new Date();
    await inBackup((tx) => enqueueMail(tx, tenant, { ...mail, subject: 'y' }));
    const options = ['--since', since.toISOString(), '--skip-versions', '0'];
    const again = await backup.operator.run('finish-restore', ...options);
    expect(again.json).toMatchObject({ organizations: [{ mails: 0, slots: 0, runs: { queued: 1 } }] });
    const statuses = await inBackup((tx) => tx('outgoing_mails').where({ subject: 'y' }).pluck('status'));
    expect(statuses).toEqual(['queued']);
    const early = backup.operator.run('finish-restore', '--since', '2999-01-01T00:00:00Z');
    await expect(early).rejects.toThrow('in the past');
  });

  it('a run that was publishing is published, and a full run follows', async () => {
    const found = await inBackup(async (tx) => {
      await tx('sync_runs').where({ status: 'queued' }).delete();
      const [run] = await tx('sync_runs')
        .where({ status: 'succeeded' })
        .orderBy('queued_at', 'desc')
        .limit(1)
        .select<{ id: string; lease_epoch: number }[]>('*');
      const lease = { lease_owner: 'lost' };
      const unfinished = { status: 'publishing', finished_at: null, counts: null };
      await tx('sync_runs')
        .where({ id: run?.id })
        .update({ ...unfinished, ...lease });
      return run;
    });
    const { json } = await backup.operator.run('finish-restore');
    expect(json).toMatchObject({ organizations: [{ runs: { released: 1, cancelled: 0, queued: 1 } }] });
    const lease = await claimRun(backup.ctx, 'test', 60_000);
    expect(lease?.runId).toBe(found?.id);
    expect(lease?.epoch).toBeGreaterThan(Number(found?.lease_epoch) + 1);
    if (lease !== undefined)
      await workOnRun(backup.ctx, lease, noSignal, () => Promise.reject(new Error('the ERP was asked')));
    const runs = await inBackup((tx) =>
      tx('sync_runs')
        .whereIn('status', ['queued', 'succeeded'])
        .orderBy('queued_at', 'desc')
        .limit(2)
        .select('mode', 'status', 'counts'),
    );
    expect(runs).toMatchObject([
      { status: 'queued', mode: 'full' },
      { status: 'succeeded', counts: { fetched: expect.any(Number) } },
    ]);
  });

  it('verify-restore reports missing records, tables and versions', async () => {
    const report = JSON.parse(await readFile(earlierReport, 'utf8'));
    const [organization] = report.organizations;
    organization.versions = [
      { version: 'v1', sha256: 'other' },
      { version: 'v2', sha256: 'x' },
    ];
    const organizations = [organization, { ...organization, id: createId(), slug: 'lost' }];
    await writeFile(earlierReport, JSON.stringify({ ...report, organizations }));
    await backup.ctx.db.data.query(`delete from ${fixture.schema}.thing_1 where id = 3`);
    const found = await backup.operator.run('verify-restore', '--against', earlierReport);
    const { slug } = organization;
    expect([found.incomplete, found.text]).toEqual([true, expect.stringContaining('Problems:')]);
    expect(found.json['problems']).toEqual([
      `${slug} thing: 4 records expected, 3 found`,
      `${slug} v1: its description differs`,
      `${slug} v2: the version is missing`,
      'lost: the organization is missing',
    ]);
    await backup.ctx.db.data.query(`drop table ${fixture.schema}.thing_1`);
    expect((await backup.operator.run('verify-restore')).json['problems']).toEqual([
      `${slug} thing: its table is missing`,
    ]);
  });
});
