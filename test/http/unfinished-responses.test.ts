// A response that stops before its end, over HTTP/1.0, where the end of the connection is the end of the
// body: only a reset tells the client.
import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import express, { type RequestHandler } from 'express';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLog } from '../../src/core/log.ts';
import { createMessageClasses } from '../../src/http/driver/message-classes.ts';
import { errorHandler } from '../../src/http/errors.ts';
import {
  attachApp,
  createHttpServer,
  type HttpServer,
  type ServerLimits,
} from '../../src/http/server/server.ts';
import { closeServer } from '../../src/http/server/shutdown.ts';
import { listenLocally } from '../setup/sockets.ts';

async function serve(
  handler: RequestHandler,
  limits: Partial<ServerLimits> = {},
): Promise<HttpServer & { readonly port: number }> {
  const messages = createMessageClasses();
  const http = createHttpServer(createLog('silent'), messages, limits);
  const app = express()
    .get('/', handler)
    .use(errorHandler(createLog('silent')));
  attachApp(
    http.server,
    Object.assign(app, {
      response: messages.ServerResponse.prototype,
      request: messages.IncomingMessage.prototype,
    }),
  );
  const port = await listenLocally(http.server);
  onTestFinished(() => {
    http.server.closeAllConnections();
    http.server.close();
  });
  return { ...http, port };
}

/**
 * How the connection ends: `end` or the error's code. `onFirst` runs after the first bytes, when the rest is
 * not yet read.
 */
async function readToEnd(port: number, onFirst: () => void = () => undefined): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write('GET / HTTP/1.0\r\nHost: x\r\n\r\n');
  const ended = new Promise<string>((resolve) => {
    socket.once('end', () => resolve('end'));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'));
  });
  await once(socket, 'data');
  socket.pause();
  onFirst();
  socket.resume();
  return ended;
}

const part = 'x'.repeat(1_000);
/** Fails when the client has read the beginning. */
const begun = new EventEmitter();
async function* failing(): AsyncGenerator<string> {
  yield part;
  await once(begun, 'read');
  throw new Error('the source failed');
}

describe('over HTTP/1.0, a response', () => {
  it('that is complete ends', async () => {
    const { port } = await serve((_req, res) => void pipeline(Readable.from([part, part]), res));
    expect(await readToEnd(port)).toBe('end');
  });

  it.each<[string, RequestHandler]>([
    ['that is broken off', (_req, res) => void res.write(part, () => res.destroy())],
    [
      'whose handler fails after the first byte',
      (_req, res, next) => void res.write(part, () => next(new Error('too late'))),
    ],
    ['whose source fails', (_req, res) => void pipeline(failing, res).catch(() => undefined)],
    [
      'whose source fails, compressed',
      (_req, res) =>
        void pipeline(failing, createGzip({ flush: constants.Z_SYNC_FLUSH }), res).catch(() => undefined),
    ],
  ])('%s resets the connection', async (_what, handler) => {
    const { port } = await serve(handler);
    expect(await readToEnd(port, () => begun.emit('read'))).toBe('ECONNRESET');
  });

  it('that is cut off by the end of the process resets the connection', async () => {
    const http = await serve((_req, res) => void res.write(part));
    let closed: ReturnType<typeof closeServer> | undefined;
    const end = await readToEnd(http.port, () => {
      closed = closeServer(http, AbortSignal.abort());
    });
    expect([end, await closed]).toEqual(['ECONNRESET', { cut: 1 }]);
  });

  it('that its client does not read resets the connection', async () => {
    const http = await serve((_req, res) => void res.end('x'.repeat(50_000_000)), {
      checkEveryMs: 20,
      readTimeoutMs: 40,
      minBytesPerSecond: 1e12,
    });
    const socket = connect(http.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.write('GET / HTTP/1.0\r\nHost: x\r\n\r\n');
    await once(socket, 'readable');
    const [served] = http.connections.keys();
    if (served !== undefined && !served.destroyed) await once(served, 'close');
    const failed = once(socket, 'end').then(() => 'end');
    failed.catch(() => undefined);
    socket.resume();
    await expect(failed).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});
