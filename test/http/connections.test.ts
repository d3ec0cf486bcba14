import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import express from 'express';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { errorHandler } from '../../src/http/errors.ts';
import { assertHeaders, requestLog } from '../../src/http/request-log.ts';
import { maxBodyBytes } from '../../src/http/route/body-limits.ts';
import { attachApp, createHttpServer } from '../../src/http/server/server.ts';
import { listenLocally, openSocket, readToClose } from '../setup/sockets.ts';
import { until } from '../setup/until.ts';

/** Far more than the operating system buffers for a client that doesn't read. */
const largeBytes = 32 << 20;
const maxConnections = 3;
let server: Server;
/** The same with short timeouts and without a limit of connections. */
let impatient: Server;
const lines: string[] = [];
let startedCount = 0;
/** Send the responses that are held back. */
const heldResponses: (() => void)[] = [];
const sockets: Socket[] = [];
const logged = (message: string) =>
  lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === message);

beforeAll(async () => {
  const log = pino({}, { write: (line: string) => lines.push(line) });
  ({ server } = createHttpServer(
    log,
    {},
    {
      maxConnections,
      keepAliveTimeout: 100,
      // Long, so that these requests never time out on a slow machine.
      headersTimeout: 120_000,
      requestTimeout: 120_000,
      connectionsCheckingInterval: 50,
      checkEveryMs: 50,
      readTimeoutMs: 150,
      minBytesPerSecond: 100 << 20,
    },
  ));
  impatient = createHttpServer(
    log,
    {},
    { headersTimeout: 200, requestTimeout: 200, connectionsCheckingInterval: 50 },
  ).server;
  const app = express();
  app.use(requestLog(log, systemClock), assertHeaders);
  app.get('/large', (_req, res) => void res.type('text/plain').send(Buffer.alloc(largeBytes, 'x')));
  app.get('/later', () => {
    startedCount += 1;
  });
  app.get('/held', (_req, res) => {
    heldResponses.push(() => res.json({}));
  });
  app.get('/small', (_req, res) => void res.json({}));
  app.post('/body', express.json({ limit: maxBodyBytes }), (req, res) => void res.json(req.body));
  app.use(errorHandler(log));
  for (const each of [server, impatient]) {
    attachApp(each, app);
    await listenLocally(each);
  }
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await until(async () => ((await open(server)) + (await open(impatient)) === 0 ? true : undefined));
  lines.length = 0;
});
afterAll(() => {
  for (const each of [server, impatient]) each.close();
});

const open = (of: Server): Promise<number> =>
  new Promise((resolve) => of.getConnections((_problem, count) => resolve(count)));
function dial(text = '', to = server): Socket {
  const socket = openSocket(to, text);
  sockets.push(socket);
  return socket;
}
const announced = (path: string, bytes: number): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;

describe('a client', () => {
  it.each(['/body', '/nowhere'])(
    'that announces too large a body gets 413 before it sends it, at %s',
    async (path) => {
      const answer = await readToClose(dial(announced(path, 100 << 20)));
      expect(answer).toMatch(/^HTTP\/1.1 413 .*"code":"too_large"/s);
      expect(answer).toMatch(/\r\nConnection: close\r\n/i);
    },
  );

  it('that sends the body anyway can still read the 413, and the rest of the body is not read', async () => {
    const socket = dial(announced('/body', 1 << 30));
    const piece = Buffer.alloc(1 << 20, 'x');
    let sent = 0;
    const more = (): void => {
      for (let going = true; going && !socket.destroyed; sent += piece.length) going = socket.write(piece);
    };
    socket.on('drain', more);
    more();
    expect(await readToClose(socket)).toMatch(/^HTTP\/1.1 413 /);
    expect(sent).toBeLessThan(1 << 30);
  });

  it('that sends half a body and leaves, sends nothing, or stays idle is disconnected soon', async () => {
    const half = dial(`${announced('/body', 9)}{`);
    half.end();
    const [silent, idle] = [
      readToClose(dial('', impatient)),
      readToClose(dial('GET /small HTTP/1.1\r\nHost: x\r\n\r\n')),
    ];
    await readToClose(half);
    expect(await until(async () => logged('request').find(({ path }) => path === '/body'))).toMatchObject({
      status: 400,
    });
    expect(await silent).toMatch(/^HTTP\/1.1 408 .*request_timeout/s);
    const answer = await idle;
    expect(answer.match(/HTTP\/1.1/g)).toHaveLength(1);
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
  });

  it('that pipelines thousands of requests without reading responses is disconnected, and the next client is served', async () => {
    const flood = dial('GET /later HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5_000));
    // The connection is reset while it is still sending.
    await readToClose(flood);
    expect(logged('connection closed: too many pipelined requests')).toHaveLength(1);
    expect(startedCount).toBe(100);
    expect(await readToClose(dial('GET /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'))).toMatch(
      /^HTTP\/1.1 200 /,
    );
  });

  it('that does not read its response is disconnected', async () => {
    const stalled = dial('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    stalled.pause();
    expect(
      await until(async () => logged('connection closed: the client did not read its response')[0]),
    ).toMatchObject({ level: 30 });
    expect(await until(async () => logged('request')[0])).toMatchObject({ path: '/large', cut: true });
  });

  it('above the connection limit is disconnected at once, and the others are not affected', async () => {
    const held = Array.from({ length: maxConnections }, () =>
      readToClose(dial('GET /held HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')),
    );
    await until(async () => (heldResponses.length === maxConnections ? true : undefined));
    expect(await readToClose(dial('GET /small HTTP/1.1\r\nHost: x\r\n\r\n'))).toBe('');
    for (const respond of heldResponses) respond();
    for (const text of await Promise.all(held)) expect(text).toMatch(/^HTTP\/1.1 200 /);
    expect(await until(async () => logged('connections refused: too many are open')[0])).toMatchObject({
      connections: 1,
    });
  });
});
