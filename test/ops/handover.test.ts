// Work of a process that receives SIGTERM is taken over by another process at once, from its checkpoint.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inTransaction } from '../../src/db/transaction.ts';
import { findRun } from '../../src/sync/runs.store.ts';
import { createApi } from '../setup/api.ts';
import { type Erp, startErp } from '../setup/erp.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import {
  type LogLine,
  type OpsDatabase,
  opsDatabase,
  type ServingProcess,
  startServer,
} from './server-process.ts';

let database: OpsDatabase;
let erp: Erp;
let first: ServingProcess;
let second: ServingProcess | undefined;
let organizationId: string;
let secret: string;
let environment: Record<string, string>;

beforeAll(async () => {
  [database, erp] = await Promise.all([opsDatabase(), startErp()]);
  organizationId = (await makeOrganization(database.ctx)).id;
  secret = (await makeKey(database.ctx, organizationId, { permissions: ['write'] })).secret;
  environment = {
    ALLOWED_ERP_HOSTS: erp.host,
    ALLOW_PRIVATE_ERP_HOSTS: 'true',
    ERP_CONCURRENCY: '1',
    RATE_LIMIT_PER_MINUTE: '10000',
    // Longer than the whole test, so that the test fails if the other process waits for it to expire.
    SYNC_LEASE_SECONDS: '3600',
  };
  first = await startServer(database, environment);
});
afterAll(async () => {
  for (const server of [first, second]) {
    server?.child.kill('SIGKILL');
    await server?.ended;
  }
  await erp.stop();
  await database.close();
});

const listSteps = (server: ServingProcess, runId: string): LogLine[] =>
  server.lines().filter((line) => line['runId'] === runId && line.msg === 'sync run');

describe('a sync run whose process receives SIGTERM', () => {
  it('resumes in another process from its checkpoint, without using up an attempt', async () => {
    const api = createApi(first.url, secret);
    await erp.connect(api);
    expect((await api('post', '/netsuite/metadata/refresh')).status).toBe(200);
    const config = (await api('post', '/sync-configs', { name: 'invoices', recordType: 'invoice' })).body;
    // The fourteenth request to the ERP arrives when the first page is staged, and gets no response before
    // the process is stopped.
    erp.account.injectFault({ path: /suiteql/, every: 14, times: 1, status: 503, delayMs: 3_600_000 });
    const run = (await api('post', `/sync-configs/${config.id}/trigger`, {})).body;
    expect(await first.line((line) => line['runId'] === run.id && line['step'] === 'page')).toMatchObject({
      organizationId: expect.any(String),
      syncConfigId: config.id,
      attempt: 1,
    });
    await until(async () => erp.account.audit().find(({ reason }) => reason === 'injected fault'));
    const stream = await fetch(`${first.url}/api/platform/v1/sync-runs/${run.id}/events`, {
      headers: { authorization: `Bearer ${secret}`, accept: 'text/event-stream' },
    });
    second = await startServer(database, environment);
    first.child.kill('SIGTERM');
    // The response is complete: a broken connection would reject.
    expect(await stream.text()).toContain('event: log');
    expect(await first.ended).toBe(0);
    await second.line((line) => line['runId'] === run.id && line['step'] === 'outcome');
    expect(listSteps(first, run.id).map(({ step }) => step)).toEqual(['claimed', 'page', 'handed over']);
    const [claimed, page, ...more] = listSteps(second, run.id);
    expect([claimed, page]).toMatchObject([
      { step: 'claimed', attempt: 2 },
      { step: 'page', pages: 2 },
    ]);
    expect(more.filter(({ step }) => step !== 'page').map(({ step }) => step)).toEqual([
      'proof',
      'publish',
      'outcome',
    ]);
    const row = await inTransaction({ ...database.ctx, organizationId }, (tx) =>
      findRun(tx, organizationId, run.id),
    );
    expect(row).toMatchObject({ status: 'succeeded', attempts_without_progress: 0 });
  });
});
