// The engine over HTTP, with a simulated account whose responses come late, are cut off, or never arrive.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Fault } from 'netsuite-simulator';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { createTenantConnector } from '../../src/sync/account/connection.ts';
import { startScheduler } from '../../src/sync/run/scheduler.ts';
import { type Api, createApi, pluck } from '../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../setup/database.ts';
import { type Erp, startErp } from '../setup/erp.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { until } from './fixture.ts';

const customers = 35;
let folder: string;
let erp: Erp;
let database: TestDatabase;
let ctx: Ctx;
let api: Api;
let configId: string;
/**
 * Aborts the requests that start while it is set; all others have the time they need, however busy the
 * machine is.
 */
let impatienceMs: number | null = null;

async function writeFolder(): Promise<void> {
  const at = '2011-07-01 10:00:00';
  const files = {
    customer: [
      'id,entityid,isperson,isinactive,currency,defaultcountry,datecreated,lastmodifieddate',
      ...Array.from({ length: customers }, (_unused, n) => `${n + 1},CUST${n + 1},F,F,1,,${at},${at}`),
    ],
    item: [
      'id,itemid,displayname,itemtype,isinactive,createddate,lastmodifieddate',
      `1,A,,InvtPart,F,${at},${at}`,
    ],
    transaction: [
      'id,tranid,type,trandate,entity,currency,exchangerate,posting,foreigntotal,createddate,lastmodifieddate',
      `1,J1,Journal,2011-07-01,,1,1,T,0,${at},${at}`,
    ],
    transactionline: [
      'uniquekey,id,transaction,linesequencenumber,item,memo,quantity,rate,netamount,mainline,taxline,linelastmodifieddate',
    ],
  };
  for (const [name, rows] of Object.entries(files))
    await writeFile(path.join(folder, `${name}.csv.gz`), gzipSync(`${rows.join('\n')}\n`));
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'portal-account-'));
  await writeFolder();
  erp = await startErp(folder);
  database = await testDatabase({
    settings: {
      erp: { ...testSettings.erp, allowedHosts: [erp.host] },
      sync: { ...testSettings.sync, pageSize: 10 },
    },
  });
  const { fetch } = database.ctx;
  ctx = {
    ...database.ctx,
    fetch: (url, request) => fetch(url, { ...request, timeoutMs: impatienceMs ?? request.timeoutMs }),
  };
  const { id } = await makeOrganization(ctx);
  api = createApi(createApp(ctx), (await makeKey(ctx, id, { permissions: ['write'] })).secret);
  await erp.connect(api);
  expect((await api('post', '/netsuite/metadata/refresh')).status).toBe(200);
  configId = (await api('post', '/sync-configs', { name: 'Customers', recordType: 'customer' })).body.id;
});
afterEach(() => erp.account.setVisible('customer', true));
afterAll(async () => {
  await database.close();
  await erp.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A run whose third page meets the fault; returns how it ended. */
async function runWith(
  fault: Omit<Fault, 'path' | 'times'> | null,
  interfere: () => Promise<void> | void = () => undefined,
) {
  const { id } = (await api('post', `/sync-configs/${configId}/trigger`, { mode: 'full' })).body;
  let pages = 0;
  const scheduler = startScheduler(ctx, {
    createConnector: async (tenant, connection) => {
      const connector = await createTenantConnector(tenant, connection);
      return {
        ...connector,
        readPage: async (request) => {
          pages += 1;
          if (pages !== 3) return connector.readPage(request);
          if (fault !== null) erp.account.injectFault({ path: /suiteql/, times: 1, ...fault });
          await interfere();
          impatienceMs = fault?.delayMs === undefined ? null : fault.delayMs / 2;
          try {
            return await connector.readPage(request);
          } finally {
            // For this page only, even when the request was aborted before it arrived.
            impatienceMs = null;
            erp.account.clearFaults();
          }
        },
      };
    },
  });
  try {
    const run = await until(async () => {
      const { body } = await api('get', `/sync-runs/${id}`);
      return ['succeeded', 'partial', 'failed', 'cancelled'].includes(body.status) && body;
    });
    const events = pluck((await api('get', `/sync-runs/${id}/events`)).body.data, 'message');
    return { run, events, pages };
  } finally {
    await scheduler.stop();
  }
}

describe('an account that fails in the middle of a read', () => {
  it.each<[string, Omit<Fault, 'path' | 'times'>]>([
    ['429 with Retry-After', { status: 429, headers: { 'retry-after': '1' } }],
    ['503', { status: 503, body: '<html>Maintenance</html>' }],
    ['a cut connection', { status: 200, body: '{"items":[{"id":"1"}', cut: true }],
    ['an answer that comes too late', { status: 200, delayMs: 800, body: {} }],
    ['HTML instead of JSON', { status: 200, body: '<html>Sign in</html>' }],
  ])('%s: the run waits, resumes at the same page, and succeeds', async (_name, fault) => {
    const { run, events, pages } = await runWith(fault);
    expect(run).toMatchObject({
      status: 'succeeded',
      attempt: 2,
      counts: { fetched: customers },
      error: null,
    });
    expect(pages).toBe(5); // four, and the one that failed
    expect(events).toEqual([
      'reading started',
      expect.stringMatching(/^waiting: /),
      'reading resumed from its checkpoint',
      'run succeeded',
    ]);
  });

  it('the 100,000 cap reached in silence: an account that returns at most that many rows per query is read completely', async () => {
    erp.account.setSwitches({ maxRows: 15 });
    try {
      const { run, pages } = await runWith(null);
      expect(run).toMatchObject({ status: 'succeeded', counts: { fetched: customers } });
      expect(pages).toBe(4);
    } finally {
      erp.account.setSwitches({ maxRows: 100_000 });
    }
  });

  it('a role that loses access to the table during the run fails it; nothing is deleted', async () => {
    const { run } = await runWith(null, () => erp.account.setVisible('customer', false));
    expect(run).toMatchObject({
      status: 'failed',
      error: { code: 'RECORD_TYPE_HIDDEN', fix: expect.stringContaining('role') },
    });
    erp.account.setVisible('customer', true);
    expect((await runWith(null)).run).toMatchObject({
      status: 'succeeded',
      counts: { unchanged: customers, deleted: 0 },
    });
  });

  it('a column that is disabled during the run: the metadata is read again and the run restarts', async () => {
    const { run } = await runWith(null, () => erp.account.setColumnVisible('customer', 'datecreated', false));
    expect(run).toMatchObject({ status: 'succeeded', attempt: 2, counts: { fetched: customers } });
    erp.account.setColumnVisible('customer', 'datecreated', true);
  });

  it('a revoked certificate fails the run and pauses the configuration until the connection changes', async () => {
    const held = (await api('get', '/netsuite/connection')).body;
    await erp.account.revokeCertificate(held.authentication.certificateId);
    erp.account.revokeTokens();
    const { run } = await runWith(null);
    expect(run).toMatchObject({ status: 'failed', attempt: 1, error: { code: 'CERTIFICATE_UNKNOWN' } });
    expect((await api('get', `/sync-configs/${configId}`)).body).toMatchObject({
      status: 'paused',
      pausedReason: { fix: expect.stringContaining('certificate') },
    });
    await erp.connect(api);
    expect((await runWith(null)).run).toMatchObject({ status: 'succeeded' });
    expect((await api('get', `/sync-configs/${configId}`)).body).toMatchObject({
      status: 'active',
      pausedReason: null,
    });
  });
});
