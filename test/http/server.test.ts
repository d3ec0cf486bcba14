// Requests that Node.js rejects itself get what every other error gets: the error body, a request id, and one
// response per request.
import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import express from 'express';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { lingerMs } from '../../src/http/driver/connection-end.ts';
import { errorHandler, notFoundHandler } from '../../src/http/errors.ts';
import { assertHeaders, requestLog } from '../../src/http/request-log.ts';
import { attachApp, createHttpServer } from '../../src/http/server/server.ts';
import { listenLocally, openSocket, readToClose } from '../setup/sockets.ts';
import { until } from '../setup/until.ts';

let server: Server;
/** The same with short timeouts. */
let impatient: Server;
const lines: string[] = [];
/** Called for a request to /slow, which responds when the promise resolves. */
let onSlow: () => Promise<void>;

beforeAll(async () => {
  const log = pino({}, { write: (line: string) => lines.push(line) });
  const app = express();
  app.use(requestLog(log, systemClock), assertHeaders);
  app.get('/slow', async (_req, res) => {
    await onSlow();
    res.json({ slow: true });
  });
  app.get('/begun', (_req, res) => {
    res.write('begun');
  });
  app.post('/body', express.json(), (req, res) => void res.json(req.body));
  app.use(notFoundHandler);
  app.use(errorHandler(log));
  // Long, so that these requests never time out on a slow machine.
  const patient = { keepAliveTimeout: 120_000, headersTimeout: 120_000, requestTimeout: 120_000 };
  ({ server } = createHttpServer(log, {}, patient));
  impatient = createHttpServer(
    log,
    {},
    { headersTimeout: 300, requestTimeout: 300, connectionsCheckingInterval: 50 },
  ).server;
  for (const each of [server, impatient]) {
    attachApp(each, app);
    await listenLocally(each);
  }
});
afterAll(() => {
  for (const each of [server, impatient]) each.close();
});

const send = (text: string, to = server): Promise<string> => readToClose(openSocket(to, text));

type ParsedResponse = {
  status: number;
  headers: Record<string, string>;
  body: { error: { code: string; details: { code: string }[]; requestId: string } };
};
/** The responses of a connection, each with a Content-Length. */
function parseResponses(text: string): ParsedResponse[] {
  if (text === '') return [];
  const [head = '', ...after] = text.split('\r\n\r\n');
  const [first = '', ...fields] = head.split('\r\n');
  const headers = Object.fromEntries(
    fields.map((line) => [line.split(': ')[0]?.toLowerCase(), line.split(': ').slice(1).join(': ')]),
  );
  const left = after.join('\r\n\r\n');
  const length = Number(headers['content-length']);
  return [
    { status: Number(first.split(' ')[1]), headers, body: JSON.parse(left.slice(0, length)) },
    ...parseResponses(left.slice(length)),
  ];
}

const close = 'Connection: close\r\n';

describe('a request that Node.js rejects', () => {
  it.each([
    ['a malformed request line', 'nonsense\r\n\r\n', 400, 'malformed_request'],
    [
      'two body lengths',
      'POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
      'malformed_request',
    ],
    [
      'oversized headers',
      `GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(100_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    ['headers that do not arrive', 'GET / HTTP/1.1\r\nHost: x\r\n', 408, 'request_timeout'],
    [
      'a body that does not arrive',
      `POST /body HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n`,
      408,
      'request_timeout',
    ],
    ['no host', `GET /nowhere HTTP/1.1\r\n\r\n`, 400, 'missing'],
    // It would be ambiguous which one counts.
    ['two hosts', `GET /nowhere HTTP/1.1\r\nHost: x\r\nHost: y\r\n${close}\r\n`, 400, 'repeated'],
    [
      'two credentials',
      `GET /nowhere HTTP/1.1\r\nHost: x\r\n${close}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n`,
      400,
      'repeated',
    ],
    [
      'an expectation',
      `GET /nowhere HTTP/1.1\r\nHost: x\r\n${close}Expect: the best\r\n\r\n`,
      417,
      'unmet_expectation',
    ],
    [
      'a broken chunk',
      'POST /body HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      400,
      'malformed_request',
    ],
  ])('for %s gets the error body and a request id, which is logged', async (_what, text, status, code) => {
    const answers = parseResponses(await send(text, status === 408 ? impatient : server));
    expect(
      answers.map((answer) => [answer.status, answer.body.error.code, answer.body.error.details[0]?.code]),
    ).toEqual([[status, 'BAD_REQUEST', code]]);
    const [{ headers, body }] = answers as [ParsedResponse];
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      connection: 'close',
    });
    expect(headers['x-request-id']).toBe(body.error.requestId);
    expect(lines.some((line) => JSON.parse(line).requestId === body.error.requestId)).toBe(true);
  });

  it('leaves the connection open for the next request if its start is known', async () => {
    const answers = parseResponses(
      await send(
        `GET /nowhere HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: x\r\n${close}\r\n`,
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([417, 404]);
    const waiting = openSocket(
      server,
      `POST /body HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n${close}Expect: 100-continue\r\n\r\n`,
    );
    const [continued] = (await once(waiting, 'data')) as [Buffer];
    expect(continued.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    waiting.write('{}');
    expect(await readToClose(waiting)).toMatch(/^HTTP\/1.1 200 OK/);
  });

  it.each(['http://[::1/nowhere', 'http://a:b:c/nowhere', 'http://portal?nowhere', '*', '//[::1/nowhere'])(
    'not, though Express would: the target %s gets the usual response and a log line',
    async (address) => {
      const [{ status, headers, body }] = parseResponses(
        await send(`GET ${address} HTTP/1.1\r\nHost: x\r\n${close}\r\n`),
      ) as [ParsedResponse];
      expect([status, body.error.code, headers['x-request-id']]).toEqual([
        404,
        'NOT_FOUND',
        body.error.requestId,
      ]);
      expect(lines.map((line) => JSON.parse(line))).toContainEqual(
        expect.objectContaining({ requestId: body.error.requestId, status }),
      );
    },
  );

  it('gets its error after the response to the previous request, never instead of it', async () => {
    const requested = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    onSlow = () => {
      requested.resolve();
      return answered.promise;
    };
    const socket = openSocket(
      server,
      'GET /slow HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\nmore nonsense\r\n\r\n',
    );
    const received = readToClose(socket);
    await requested.promise;
    answered.resolve();
    const answers = parseResponses(await received);
    expect(answers.map(({ status }) => status)).toEqual([200, 400]);
    expect(answers[0]?.body).toEqual({ slow: true });
  });

  it('is read for a while longer: closing a connection with unread bytes would reset it and lose the response', async () => {
    const startedMs = performance.now();
    const accepted = once(server, 'connection');
    const socket = connect({
      port: (server.address() as AddressInfo).port,
      host: '127.0.0.1',
      allowHalfOpen: true,
    });
    socket.on('error', () => undefined);
    const ended = once(socket.resume(), 'end');
    socket.write('nonsense\r\n\r\n');
    const [held] = (await accepted) as [Socket];
    await ended;
    const before = held.bytesRead;
    socket.write('more nonsense\r\n\r\n');
    await until(async () => (held.bytesRead > before || held.destroyed ? true : undefined));
    expect(held.destroyed && performance.now() - startedMs < lingerMs).toBe(false);
    socket.destroy();
  });

  it('after a response that never ends writes nothing into it', async () => {
    const socket = openSocket(server, 'GET /begun HTTP/1.1\r\nHost: x\r\n\r\n');
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toContain('begun');
    socket.write('nonsense\r\n\r\n');
    socket.end();
    expect(await readToClose(socket)).toBe('');
  });
});
