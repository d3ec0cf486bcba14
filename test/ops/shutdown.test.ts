// Graceful shutdown of a server process: on a signal, its work is completed, handed over, or cut off at the
// deadline.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApi } from '../setup/api.ts';
import { type Erp, startErp } from '../setup/erp.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { startMailServer } from '../setup/smtp.ts';
import { until } from '../setup/until.ts';
import { type LogLine, type ServingProcess, useOpsDatabase } from './server-process.ts';

const database = useOpsDatabase();
const ownerEmail = 'owner@acme.example';
let key: string;
let erp: Erp;

beforeAll(async () => {
  erp = await startErp();
  const { id } = await makeOrganization(database.ctx, { ownerEmail });
  key = (await makeKey(database.ctx, id, { permissions: ['write'] })).secret;
});
afterAll(() => erp.stop());

const stopping = (server: ServingProcess) => {
  server.child.kill('SIGTERM');
  return server.line(({ msg }) => msg === 'stopping');
};

const listenerClosed = ({ url }: ServingProcess) =>
  until(() =>
    fetch(`${url}/healthz`).then(
      () => undefined,
      () => true,
    ),
  );

type Caller = { readonly socket: Socket; readonly text: () => string; readonly closed: Promise<unknown> };
async function call({ url }: ServingProcess): Promise<Caller> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString();
  });
  socket.on('error', () => undefined);
  return { socket, text: () => text, closed: new Promise((resolve) => socket.once('close', resolve)) };
}
const body = JSON.stringify({ name: 'made while stopping' });
/** Sends all but the last byte of a request that creates a team. */
const begin = async (server: ServingProcess): Promise<Caller> => {
  const caller = await call(server);
  caller.socket.write(
    `POST /api/platform/v1/teams HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  );
  await until(async () => caller.text().includes('100 Continue'));
  caller.socket.write(body.slice(0, -1));
  return caller;
};

describe('SIGTERM', () => {
  it('ends an idle server with exit code 0, and closes idle connections', async () => {
    const server = await database.start();
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    const silent = await call(server);
    expect(await server.stop()).toBe(0);
    await silent.closed;
    expect(server.output().stderr).toMatch(/^\nTo sign in as \S+, open this link [\w ]+:\nhttp:\S+\n\n$/);
    expect(server.lines().map(({ msg }) => msg)).toContain('stopped');
  });

  it('completes a request in progress, as the last one on its connection', async () => {
    const server = await database.start();
    const caller = await begin(server);
    await stopping(server);
    // The listener is closed before the response is complete.
    await listenerClosed(server);
    caller.socket.write(body.slice(-1));
    await caller.closed;
    expect(caller.text()).toMatch(/HTTP\/1.1 201 Created\r\n/);
    expect(caller.text()).toMatch(/connection: close\r\n/i);
    expect(await server.ended).toBe(0);
    expect(server.lines().find(({ method }) => method === 'POST')).toMatchObject({
      status: 201,
      msg: 'request',
    });
  });

  it('cuts off a request that has not ended at the deadline, and logs it', async () => {
    const server = await database.start({ SHUTDOWN_SECONDS: '1' });
    const caller = await begin(server);
    await stopping(server);
    await caller.closed;
    expect(await server.ended).toBe(0);
    expect(caller.text()).not.toMatch(/HTTP\/1.1 [2-5]\d\d/);
    expect(server.lines().find(({ method }) => method === 'POST')).toMatchObject({
      cut: true,
      msg: 'request',
    });
    expect(server.lines().some(({ msg, cut }) => cut === 1 && msg?.includes('were cut'))).toBe(true);
  });

  it('a second signal ends the process at once', async () => {
    const server = await database.start({ SHUTDOWN_SECONDS: '3600' });
    const caller = await begin(server);
    await stopping(server);
    expect(await server.stop()).toBe(1);
    await caller.closed;
  });

  it('/readyz returns 503 while the process still serves requests, for SHUTDOWN_DRAIN_SECONDS', async () => {
    const server = await database.start({ SHUTDOWN_SECONDS: '3600', SHUTDOWN_DRAIN_SECONDS: '600' });
    await stopping(server);
    const ready = await fetch(`${server.url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      { status: 'not ready', checks: { process: 'stopping' } },
    ]);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    const answer = await fetch(`${server.url}/api/platform/v1/whoami`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(answer.status).toBe(200);
    await server.stop();
  });

  it('waits for the mail with a code that is requested while the process still serves requests', async () => {
    const connected = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const mails = await startMailServer({
      onConnect: (_session, accept) => {
        connected.resolve();
        void release.promise.then(() => accept());
      },
    });
    const server = await database.start({
      SMTP_URL: mails.url,
      SIGN_IN_BY_MAIL: 'true',
      SHUTDOWN_DRAIN_SECONDS: '2',
    });
    await stopping(server);
    const { status } = await fetch(`${server.url}/auth/mail`, {
      method: 'POST',
      headers: { origin: new URL(server.url).origin },
      body: new URLSearchParams({ email: ownerEmail }),
      redirect: 'manual',
    });
    expect(status).toBe(303);
    await connected.promise;
    await listenerClosed(server);
    release.resolve();
    expect(await server.ended).toBe(0);
    expect(mails.delivered.map(({ to }) => to)).toEqual([[ownerEmail]]);
    await mails.close();
  });
});

it('when a database does not respond, /readyz reports it in bounded time, and /healthz is not affected', async () => {
  const silent = createServer(() => undefined);
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const server = await database.start({ WAREHOUSE_URL: `postgres://nobody:s3cret@127.0.0.1:${port}/none` });
  const ready = await fetch(`${server.url}/readyz`);
  expect([ready.status, await ready.json()]).toMatchObject([
    503,
    { checks: { database: 'ok', migrations: 'ok', scheduler: 'ok', warehouse: "can't be reached" } },
  ]);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  expect(await server.stop()).toBe(0);
  expect(server.output().stdout).not.toContain('s3cret');
  silent.close();
});

const listSteps = (server: ServingProcess, runId: string): LogLine[] =>
  server.lines().filter((line) => line['runId'] === runId && line.msg === 'sync run');

it('a sync run whose process receives SIGTERM resumes in another one from its checkpoint, without using up an attempt', async () => {
  const environment = {
    ALLOWED_ERP_HOSTS: erp.host,
    ALLOW_PRIVATE_ERP_HOSTS: 'true',
    ERP_CONCURRENCY: '1',
    RATE_LIMIT_PER_MINUTE: '10000',
    // Longer than the whole test, so that the test fails if the other process waits for it to expire.
    SYNC_LEASE_SECONDS: '3600',
  };
  const first = await database.start(environment);
  const api = createApi(first.url, key);
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
    headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
  });
  const second = await database.start(environment);
  const stopped = first.stop();
  // The response is complete: a broken connection would reject.
  expect(await stream.text()).toContain('event: log');
  expect(await stopped).toBe(0);
  await second.line((line) => line['runId'] === run.id && line['step'] === 'outcome');
  expect(listSteps(first, run.id).map(({ step }) => step)).toEqual(['claimed', 'page', 'handed over']);
  const resumed = listSteps(second, run.id);
  expect(resumed.slice(0, 2)).toMatchObject([
    { step: 'claimed', attempt: 2 },
    { step: 'page', pages: 2 },
  ]);
  const further = resumed.slice(2).filter(({ step }) => step !== 'page');
  expect(further.map(({ step }) => step)).toEqual(['proof', 'publish', 'outcome']);
  expect(
    await database.query(
      'select status, attempts_without_progress as attempts from sync_runs where id = $1',
      [run.id],
    ),
  ).toEqual([{ status: 'succeeded', attempts: 0 }]);
});
