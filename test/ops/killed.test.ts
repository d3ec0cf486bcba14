// A server process is killed in the middle of a run, a publication, a mail, an export and two requests with
// an Idempotency-Key. Another process, started afterwards, completes each of them correctly, and nothing
// happens twice.

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Knex } from 'knex';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openKnex } from '../../src/db/connect.ts';
import type { JobKind } from '../../src/db/jobs.ts';
import { type ScriptedServer, startScriptedServer } from '../setup/smtp.ts';
import { until } from '../setup/until.ts';
import { endpointsFor } from './endpoints.ts';
import { type ServingProcess, useOpsDatabase } from './server-process.ts';
import {
  isPublished,
  openPublished,
  type Published,
  type Reply,
  startRun,
  useErpSite,
  waitForEnd,
} from './site.ts';

const site = useErpSite();
const database = useOpsDatabase();
let environment: Record<string, string>;
let mails: ScriptedServer;
let admin: Knex;
let company: Published['company'];
let configs: Published['configs'];
let version: string;
let first: ServingProcess;
/** Locks rows that others wait for. */
let locks: Knex.Transaction;

const keeping = 7_301;
const toSchemaName = (id: string): string => `wh_${id.replaceAll('-', '')}`;
const waitsFor = (query: string): Promise<true> =>
  until(async () => {
    const { rows } = await admin.raw(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ilike ?",
      [query],
    );
    return rows.length > 0;
  });
const post = (url: string, name: string): Promise<Reply> =>
  company.callAs(1, url, 'post', '/teams', { name }, { 'idempotency-key': `make-${name}` });
const teams = async (name: string): Promise<string[]> =>
  (await admin('teams').where({ name }).select('id')).map(({ id }) => id);

const lineType = { accept: 'application/x-ndjson' };
const exporting =
  "select from pg_stat_activity where datname = current_database() and state = 'active' and query like 'copy (%'";
/** An export that has sent its first bytes and waits for its client to read more. */
async function startExport(url: string): Promise<IncomingMessage> {
  const { secret } = await company.newKey();
  const headers = { ...lineType, authorization: `Bearer ${secret}`, 'x-tenant-id': company.id };
  const asked = request(`${url}/api/public/${version}/invoice`, { headers }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  await until(async () => {
    const { rows } = await admin.raw(`${exporting} and wait_event = 'ClientWrite'`);
    return rows.length === 1;
  });
  return answer;
}

beforeAll(async () => {
  mails = await startScriptedServer({ 'end of data': 'stall' });
  admin = openKnex(database.address, null, 4);
  environment = { ...site.environment, SMTP_URL: mails.url, RATE_LIMIT_PER_MINUTE: '1000000' };
  first = await database.start(environment);
  ({ company, configs, version } = await openPublished(database.address, first.url, site));
  // More than fits into the connection's buffers, so that an export waits for its client.
  await admin.raw(`update ${toSchemaName(company.id)}.invoice_1 set f_memo = repeat('x', 200000)`);
});
afterAll(async () => {
  await locks?.rollback();
  await admin?.destroy();
  await company?.close();
  await mails?.close();
});

/** Starts everything and pauses it; `killed` is awaited while all of it is in progress. */
async function startEverything(killed: () => Promise<void>): Promise<{ runId: string; draftId: string }> {
  locks = await admin.transaction();
  const { promise: gate, resolve: release } = Promise.withResolvers<void>();
  const { promise: isPaused, resolve: markPaused } = Promise.withResolvers<void>();
  site.wire.begin(async (count) => {
    if (count < 3) return;
    markPaused();
    await gate;
  });
  const runId = await startRun(company, first.url, configs.get('customer'), { mode: 'full' });
  await isPaused;

  const table = `${toSchemaName(company.id)}.invoice_1`;
  await locks.raw(`lock table ${table} in row exclusive mode`);
  const endpoints = endpointsFor(['invoice']).map((endpoint) => ({ ...endpoint, sorts: ['modified'] }));
  const draft = (await company.call(first.url, 'post', '/api-schema', { name: 'Sorted', endpoints })).body;
  expect(
    (await company.call(first.url, 'post', `/api-schema/${draft.id}/publish`, { revision: draft.revision }))
      .status,
  ).toBe(202);
  await waitsFor('create index concurrently%');

  const roles = await company.call(first.url, 'get', `/organizations/${company.id}/roles`);
  const roleId = roles.body.data.find(({ name }: { name: string }) => name === 'viewer').id;
  const invitation = { email: 'eve@example.test', roleId };
  expect(
    (await company.call(first.url, 'post', `/organizations/${company.id}/invitations`, invitation)).status,
  ).toBe(201);
  await mails.stalled;

  // One is paused before it has written anything, the other one after that and before its response was
  // stored.
  await admin.raw(`create function keep_waiting() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock(${keeping}); return new; end'`);
  await admin.raw(`create trigger keep_waiting before update on idempotency_keys for each row
    when (new.status is not null) execute function keep_waiting()`);
  await locks.raw('select pg_advisory_xact_lock(?)', [keeping]);
  const written = post(first.url, 'written').catch(() => 'cut');
  await waitsFor('update idempotency_keys%');
  await locks.raw('lock table teams in share mode');
  const unwritten = post(first.url, 'unwritten').catch(() => 'cut');
  await waitsFor('insert into "teams"%');

  await killed();
  expect([await written, await unwritten]).toEqual(['cut', 'cut']);
  release();
  await locks.rollback();
  await admin.raw('drop trigger keep_waiting on idempotency_keys');
  mails.react('end of data', '250 taken');
  return { runId, draftId: draft.id };
}

describe('kill -9 in the middle of everything', () => {
  it('all work is completed, and nothing happens twice', async () => {
    const { runId, draftId } = await startEverything(async () => {
      const answer = await startExport(first.url);
      await first.kill();
      expect(answer.statusCode).toBe(200);
      await expect(text(answer)).rejects.toThrow('aborted');
      await until(async () => (await admin.raw(exporting)).rows.length === 0);
    });
    const { url } = await database.start(environment);
    const exported = await company.read(url, `/${version}/invoice`, lineType);
    expect([exported.status, exported.text.trimEnd().split('\n').length]).toEqual([200, 120]);
    const [executed, lost] = await Promise.all([post(url, 'unwritten'), post(url, 'written')]);
    expect([executed.status, executed.headers.get('idempotency-replayed')]).toEqual([201, null]);
    expect(await teams('unwritten')).toEqual([executed.body.id]);
    const [id] = await teams('written');
    expect(await teams('written')).toHaveLength(1);
    expect([lost.status, lost.body.error.details[0].code]).toEqual([422, 'answer_lost']);
    expect(lost.body.error.details[0].message).toContain(id);

    // Expire its lease now instead of in a minute. A lease short enough for this test would be lost by a
    // process that is briefly suspended.
    const endLeases = (kind: JobKind) =>
      admin('jobs')
        .where({ kind })
        .update({ due_at: admin.raw('now()') });
    await endLeases('sync_runs');
    expect(await waitForEnd(company, url, runId)).toMatchObject({
      status: 'succeeded',
      attempt: 2,
      counts: { fetched: 60 },
    });
    await isPublished(company, url, draftId);
    expect((await company.read(url, `/${version}/invoice?pageSize=1`)).body.pagination.total).toBe(120);

    // Its last byte was sent: only the recipient knows whether it arrived, so it isn't sent again
    // automatically.
    await endLeases('mails');
    await until(async () => (await admin('outgoing_mails').first('status')).status === 'unknown');
    expect(mails.messages).toHaveLength(1);
  });
});
