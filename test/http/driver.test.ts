// What src/http/driver relies on inside Express and Node.js. When this fails after an upgrade, change
// src/http/driver first.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import express, { type Express, type Request, type RequestHandler } from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import { createLog } from '../../src/core/log.ts';
import { closeAfter, lingeringClose } from '../../src/http/driver/connection-end.ts';
import {
  adoptMessageClasses,
  createMessageClasses,
  type MessageClasses,
} from '../../src/http/driver/message-classes.ts';
import { attachApp, createHttpServer, type HttpServer } from '../../src/http/server/server.ts';
import { listenLocally } from '../setup/sockets.ts';

let http: HttpServer | undefined;
afterEach(() => {
  http?.server.closeAllConnections();
  http?.server.close();
});

async function listen(app: Express, messages: Partial<MessageClasses> = {}): Promise<number> {
  http = createHttpServer(createLog('silent'), messages);
  attachApp(http.server, app);
  return listenLocally(http.server);
}

describe('Express', () => {
  /** The prototypes that a handler of the application sees. */
  async function prototypesIn(
    app: Express,
    messages?: MessageClasses,
  ): Promise<{ request: unknown; response: unknown; app: unknown }> {
    let seen = {};
    app.get('/', (req, res) => {
      seen = { request: Object.getPrototypeOf(req), response: Object.getPrototypeOf(res), app: req.app };
      res.json({ ip: req.ip });
    });
    const answer = await fetch(`http://127.0.0.1:${await listen(app, messages)}/`);
    expect(await answer.json()).toEqual({ ip: '127.0.0.1' });
    return seen as Awaited<ReturnType<typeof prototypesIn>>;
  }
  const changed = 'Express no longer does this: see src/http/driver/message-classes.ts';

  it('replaces the prototypes of messages by `app.request` and `app.response`', async () => {
    const app = express();
    expect(await prototypesIn(app), changed).toEqual({ request: app.request, response: app.response, app });
    expect(Object.getPrototypeOf(app.request), changed).toBe(express.request);
    expect(Object.getPrototypeOf(app.response), changed).toBe(express.response);
  });

  it('keeps the prototypes of our own classes once the application has adopted them', async () => {
    const [app, messages] = [express(), createMessageClasses()];
    adoptMessageClasses(app, messages);
    const { IncomingMessage, ServerResponse } = messages;
    const seen = await prototypesIn(app, messages);
    expect(
      [
        seen.request === IncomingMessage.prototype,
        seen.response === ServerResponse.prototype,
        seen.app === app,
      ],
      changed,
    ).toEqual([true, true, true]);
  });
});

describe('Node.js', () => {
  const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
  const open = (port: number): Socket => connect({ port, host: '127.0.0.1', allowHalfOpen: true });

  it('ends a connection after its last response by calling `destroySoon` of the socket', async () => {
    let served: Request['socket'] | undefined;
    const app = express().get('/', (req, res) => {
      served = req.socket;
      lingeringClose(req);
      res.set('Connection', 'close').end();
    });
    const socket = open(await listen(app));
    socket.write(request);
    await once(socket.resume(), 'end');
    expect(served?.destroyed, 'Node.js ends connections differently: see lingeringClose').toBe(false);
    socket.end();
  });

  it('makes a response the last one of its connection by `shouldKeepAlive`', async () => {
    const respond: RequestHandler = (_req, res) => {
      closeAfter(res);
      res.end();
    };
    const socket = open(await listen(express().get('/', respond)));
    socket.write(request);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(socket, 'end');
    expect(Buffer.concat(chunks).toString(), 'Node.js ignores shouldKeepAlive: see closeAfter').toContain(
      'Connection: close',
    );
    socket.end();
  });
});
