// Graceful shutdown of a server process: on a signal, its work is completed, handed over, or cut off at the
// deadline.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import { type OpsDatabase, opsDatabase, type ServingProcess, startServer } from './server-process.ts';

let database: OpsDatabase;
let key: string;
const started: ServingProcess[] = [];

beforeAll(async () => {
  database = await opsDatabase();
  const { id } = await makeOrganization(database.ctx);
  key = (await makeKey(database.ctx, id, { permissions: ['write'] })).secret;
});
afterAll(async () => {
  for (const { child, ended } of started) {
    child.kill('SIGKILL');
    await ended;
  }
  await database.close();
});

async function start(environment: Record<string, string> = {}): Promise<ServingProcess> {
  const server = await startServer(database, environment);
  started.push(server);
  return server;
}
const stopping = (server: ServingProcess) => {
  server.child.kill('SIGTERM');
  return server.line(({ msg }) => msg === 'stopping');
};

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
  await until(async () => (caller.text().includes('100 Continue') ? true : undefined));
  caller.socket.write(body.slice(0, -1));
  return caller;
};

describe('SIGTERM', () => {
  it('ends an idle server with exit code 0, and closes idle connections', async () => {
    const server = await start();
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    const silent = await call(server);
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    await silent.closed;
    expect(server.output().stderr).toBe('');
    expect(server.lines().map(({ msg }) => msg)).toContain('stopped');
  });

  it('completes a request in progress, as the last one on its connection', async () => {
    const server = await start();
    const caller = await begin(server);
    await stopping(server);
    // The listener is closed before the response is complete.
    await until(() =>
      fetch(`${server.url}/healthz`).then(
        () => undefined,
        () => true,
      ),
    );
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
    const server = await start({ SHUTDOWN_SECONDS: '1' });
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
    const server = await start({ SHUTDOWN_SECONDS: '3600' });
    const caller = await begin(server);
    await stopping(server);
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(1);
    await caller.closed;
  });

  it('/readyz returns 503 while the process still serves requests, for SHUTDOWN_DRAIN_SECONDS', async () => {
    const server = await start({ SHUTDOWN_SECONDS: '3600', SHUTDOWN_DRAIN_SECONDS: '600' });
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
    server.child.kill('SIGTERM');
    await server.ended;
  });
});

it('when a database does not respond, /readyz reports it in bounded time, and /healthz is not affected', async () => {
  const silent = createServer(() => undefined);
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const server = await start({ WAREHOUSE_URL: `postgres://nobody:s3cret@127.0.0.1:${port}/none` });
  const ready = await fetch(`${server.url}/readyz`);
  expect([ready.status, await ready.json()]).toMatchObject([
    503,
    { checks: { database: 'ok', migrations: 'ok', scheduler: 'ok', warehouse: "can't be reached" } },
  ]);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  server.child.kill('SIGTERM');
  expect(await server.ended).toBe(0);
  expect(server.output().stdout).not.toContain('s3cret');
  silent.close();
});
