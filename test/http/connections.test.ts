// Callers who send too much, too little or nothing, and who don't take what they asked for: each costs a bounded time and memory.
import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import express from 'express';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { maxBodyBytes } from '../../src/http/connections.ts';
import { errorHandler } from '../../src/http/errors.ts';
import { checkHeaders, requestLog } from '../../src/http/request-log.ts';
import { openServer, serveBy } from '../../src/http/server.ts';
import { until } from '../setup/until.ts';

/** Far more than the system takes from us for a caller who doesn't read. */
const largeBytes = 32 << 20;
const mostConnections = 3;
let server: Server;
/** The same, which waits for no request and counts nobody. */
let hasty: Server;
const lines: string[] = [];
let begun = 0;
/** Answers that are held back. */
const holding: (() => void)[] = [];
const sockets: Socket[] = [];
const logged = (message: string) => lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === message);

beforeAll(async () => {
  const log = pino({}, { write: (line: string) => lines.push(line) });
  server = openServer(
    log,
    {},
    {
      maxConnections: mostConnections,
      keepAliveTimeout: 100,
      // Whoever sends all that he means to send has all the time of the world for it.
      headersTimeout: 120_000,
      requestTimeout: 120_000,
      connectionsCheckingInterval: 50,
      lookEveryMs: 50,
      takeMs: 150,
      slowestBytesPerSecond: 100 << 20,
    },
  );
  hasty = openServer(log, {}, { headersTimeout: 200, requestTimeout: 200, connectionsCheckingInterval: 50 });
  const app = express();
  app.use(requestLog(log, systemClock), checkHeaders);
  app.get('/large', (_req, res) => void res.type('text/plain').send(Buffer.alloc(largeBytes, 'x')));
  app.get('/later', () => {
    begun += 1;
  });
  app.get('/held', (_req, res) => {
    holding.push(() => res.json({}));
  });
  app.get('/small', (_req, res) => void res.json({}));
  app.post('/body', express.json({ limit: maxBodyBytes }), (req, res) => void res.json(req.body));
  app.use(errorHandler(log));
  for (const each of [server, hasty]) {
    serveBy(each, app);
    each.listen(0, '127.0.0.1');
    await once(each, 'listening');
  }
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await until(async () => ((await open(server)) + (await open(hasty)) === 0 ? true : undefined));
  lines.length = 0;
});
afterAll(() => {
  for (const each of [server, hasty]) each.close();
});

const open = (of: Server): Promise<number> => new Promise((resolve) => of.getConnections((_problem, count) => resolve(count)));
function dial(text = '', to = server): Socket {
  const socket = connect((to.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  if (text !== '') socket.write(text);
  return socket;
}
/** All that comes back until the connection is over, by an end or, where the server left something unread, by a reset after it. */
async function rest(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks).toString();
}
const announced = (path: string, bytes: number): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;

describe('a caller', () => {
  it.each(['/body', '/nowhere'])('who announces too much is refused before it is sent, at %s', async (path) => {
    const answer = await rest(dial(announced(path, 100 << 20)));
    expect(answer).toMatch(/^HTTP\/1.1 413 .*"code":"too_large"/s);
    expect(answer).toMatch(/\r\nConnection: close\r\n/i);
  });

  it('who sends it all the same still reads the refusal, and is not heard to the end', async () => {
    const socket = dial(announced('/body', 1 << 30));
    const piece = Buffer.alloc(1 << 20, 'x');
    let sent = 0;
    const more = (): void => {
      for (let going = true; going && !socket.destroyed; sent += piece.length) going = socket.write(piece);
    };
    socket.on('drain', more);
    more();
    expect(await rest(socket)).toMatch(/^HTTP\/1.1 413 /);
    expect(sent).toBeLessThan(1 << 30);
  });

  it('who sends half a body and leaves, who says nothing at all, and who only rests are all gone soon', async () => {
    const half = dial(`${announced('/body', 9)}{`);
    half.end();
    const [silent, resting] = [rest(dial('', hasty)), rest(dial('GET /small HTTP/1.1\r\nHost: x\r\n\r\n'))];
    await rest(half);
    expect(await until(async () => logged('request').find(({ path }) => path === '/body'))).toMatchObject({ status: 400 });
    expect(await silent).toMatch(/^HTTP\/1.1 408 .*request_timeout/s);
    const answer = await resting;
    expect(answer.match(/HTTP\/1.1/g)).toHaveLength(1);
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
  });

  it('who sends thousands of requests and waits for no answer is cut off, and the next one is served', async () => {
    const flood = dial('GET /later HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5_000));
    // It is reset under what it still sends.
    await rest(flood);
    expect(logged('a connection was closed: too many requests at once')).toHaveLength(1);
    expect(begun).toBe(100);
    expect(await rest(dial('GET /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'))).toMatch(/^HTTP\/1.1 200 /);
  });

  it('who does not take its answer is cut off', async () => {
    const stalled = dial('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    stalled.pause();
    expect(await until(async () => logged('a caller did not take its answer')[0])).toMatchObject({ level: 30 });
    expect(await until(async () => logged('request')[0])).toMatchObject({ path: '/large', cut: true });
  });

  it('beyond the most connections is closed at once, and the others notice nothing', async () => {
    const held = Array.from({ length: mostConnections }, () => rest(dial('GET /held HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')));
    await until(async () => (holding.length === mostConnections ? true : undefined));
    expect(await rest(dial('GET /small HTTP/1.1\r\nHost: x\r\n\r\n'))).toBe('');
    for (const answer of holding) answer();
    for (const text of await Promise.all(held)) expect(text).toMatch(/^HTTP\/1.1 200 /);
    expect(await until(async () => logged('connections were closed at once: too many are open')[0])).toMatchObject({ connections: 1 });
  });
});
