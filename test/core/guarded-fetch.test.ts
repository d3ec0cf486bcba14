import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { createServer as createTlsServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { addressKind } from '../../src/core/network/address-kind.ts';
import {
  createGuardedFetch,
  GuardedFetchError,
  type GuardedFetchReason,
  type Resolve,
} from '../../src/core/network/guarded-fetch.ts';
import { listenLocally } from '../setup/sockets.ts';

const limits = { timeoutMs: 5_000, maxBytes: 100_000 };
const open = createGuardedFetch({ allowPrivateHosts: true });
const gzipped = { 'content-encoding': 'gzip' };
const servers: { close(): unknown }[] = [];

async function serve(handler: RequestListener): Promise<{ url: string; port: number; server: Server }> {
  const server = createServer(handler);
  const port = await listenLocally(server);
  servers.push({ close: () => (server.closeAllConnections(), server.close()) });
  return { url: `http://127.0.0.1:${port}`, port, server };
}

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function catchReason(work: Promise<unknown>): Promise<GuardedFetchReason | 'none'> {
  try {
    await work;
    return 'none';
  } catch (error) {
    if (error instanceof GuardedFetchError) return error.reason;
    throw error;
  }
}

const resolveTo =
  (...addresses: string[]): Resolve =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

describe('guarded fetch: requests and responses', () => {
  it('sends method, headers and body and returns status, headers and text', async () => {
    const { url } = await serve(async (request, response) => {
      const seen = {
        method: request.method,
        path: request.url,
        mark: request.headers['x-mark'],
        body: await text(request),
      };
      response.writeHead(201, { 'x-answer': 'yes', 'set-cookie': ['a=1', 'b=2'] }).end(JSON.stringify(seen));
    });
    const answer = await open(`${url}/path?a=1`, {
      ...limits,
      method: 'POST',
      headers: { 'x-mark': 'm' },
      body: 'grüß',
    });
    expect(answer.status).toBe(201);
    expect(answer.headers).toMatchObject({ 'x-answer': 'yes', 'set-cookie': 'a=1, b=2' });
    expect(JSON.parse(answer.text)).toEqual({ method: 'POST', path: '/path?a=1', mark: 'm', body: 'grüß' });
  });

  it('sends the host of the URL, even if the caller sets a Host header', async () => {
    const { port } = await serve((request, response) => response.end(request.headers.host));
    const fetch = createGuardedFetch({ allowPrivateHosts: true, resolve: resolveTo('127.0.0.1') });
    const answer = await fetch(`http://erp.example:${port}/`, {
      ...limits,
      headers: { Host: 'elsewhere.example' },
    });
    expect(answer.text).toBe(`erp.example:${port}`);
  });

  it('requests gzip and decodes it', async () => {
    const { url } = await serve((request, response) =>
      response.writeHead(200, gzipped).end(gzipSync(`asked for ${request.headers['accept-encoding']}`)),
    );
    expect((await open(url, limits)).text).toBe('asked for gzip');
  });

  it('reads an empty response, also with Content-Encoding: gzip', async () => {
    const { url } = await serve((_request, response) => response.writeHead(204, gzipped).end());
    expect(await open(url, limits)).toMatchObject({ status: 204, text: '' });
  });

  it('does not follow a redirect', async () => {
    let calls = 0;
    const { url } = await serve((_request, response) => {
      calls += 1;
      response.writeHead(302, { location: '/next' }).end('moved');
    });
    expect(await open(url, limits)).toMatchObject({ status: 302, text: 'moved' });
    expect(calls).toBe(1);
  });

  it('reuses a connection', async () => {
    const { url, server } = await serve((_request, response) => response.end('ok'));
    let connections = 0;
    server.on('connection', () => (connections += 1));
    await open(url, limits);
    await open(url, limits);
    expect(connections).toBe(1);
  });
});

describe('guarded fetch: text', () => {
  const special = 'aé€\u{1f600}\ufeffz';
  /** Sends each byte by itself. */
  const serveBytes = (status: number, bytes: Buffer) =>
    serve(async (_request, response) => {
      response.writeHead(status);
      for (const byte of bytes)
        await new Promise<void>((sent) => response.write(Buffer.of(byte), () => setImmediate(sent)));
      response.end();
    });

  it('is decoded whatever bytes arrive together', async () => {
    const { url } = await serveBytes(200, Buffer.from(`\ufeff${special}`));
    expect((await open(url, limits)).text).toBe(special);
  });

  it('that ends within a character is refused', async () => {
    const { url } = await serveBytes(200, Buffer.from(special).subarray(0, 5));
    expect(await catchReason(open(url, limits))).toBe('network');
  });

  it('that ends within a character is shown where the response is an error', async () => {
    const { url } = await serveBytes(500, Buffer.from(special).subarray(0, 5));
    expect((await open(url, limits)).text).toBe('aé\ufffd');
  });
});

// Other spellings and names that resolve to several addresses: test/owasp/api07.
describe('guarded fetch: addresses', () => {
  const refused = `0.0.0.0 100.64.1.1 169.254.169.254 192.0.2.1 198.18.0.1 203.0.113.9 224.0.0.1 240.0.0.1 255.255.255.255
    :: fe80::1 fe80::1%eth0 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 ::10.0.0.1 64:ff9b::a00:1
    64:ff9b:1::1 2002:7f00:1:: 2001:0:4136:e378::1 2001:db8::1 3fff::1 fec0::1 100::1`;
  const privates =
    '127.0.0.1 127.9.9.9 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 ::1 fc00::1 fd12:3456::1';
  const publics =
    '8.8.8.8 172.15.0.1 172.32.0.1 100.63.0.1 100.128.0.1 192.169.0.1 2606:4700::1111 2a00:1450::1';
  it.each([
    ['refused', refused],
    ['private', privates],
    ['public', publics],
  ])('that are %s are called only where that is allowed', async (kind, list) => {
    for (const address of list.split(/\s+/)) {
      expect([address, addressKind(address)]).toEqual([address, kind]);
      if (kind === 'public') continue;
      const fetch = createGuardedFetch({
        allowPrivateHosts: kind === 'refused',
        resolve: resolveTo(address),
      });
      for (const scheme of ['https', 'http'])
        expect([address, await catchReason(fetch(`${scheme}://erp.example/`, limits))]).toEqual([
          address,
          'refused-address',
        ]);
    }
  });
});

describe('guarded fetch: refused URLs', () => {
  it.each([
    'nonsense',
    '',
    '//host/',
    'ftp://host/',
    'file:///etc/passwd',
    'https://user:secret@host/',
    'https://user@host/',
  ])('%s', async (url) => {
    expect(await catchReason(open(url, limits))).toBe('bad-url');
  });

  it('plain http to a public address, even when private hosts are allowed', async () => {
    const fetch = createGuardedFetch({ allowPrivateHosts: true, resolve: resolveTo('8.8.8.8') });
    expect(await catchReason(fetch('http://erp.example/', limits))).toBe('bad-url');
  });
});

describe('guarded fetch: size and time', () => {
  it('reads as much as the size limit, and stops beyond it', async () => {
    const { url } = await serve((request, response) =>
      response.end('x'.repeat(Number(request.url?.slice(1)))),
    );
    expect((await open(`${url}/100000`, limits)).text).toHaveLength(100_000);
    expect(await catchReason(open(`${url}/100001`, limits))).toBe('too-large');
  });

  const bomb = gzipSync(Buffer.alloc(20_000_000));
  const empty = Buffer.concat(Array<Buffer>(2_000).fill(gzipSync('')));
  /** Writes the same again and again until the connection is closed. */
  const writeOn = (response: ServerResponse, piece: string | Buffer, everyMs: number): void => {
    const timer = setInterval(() => response.write(piece), everyMs);
    response.on('close', () => clearInterval(timer));
  };
  it.each<[string, (response: ServerResponse) => unknown]>([
    ['an endless body', (response) => writeOn(response, 'x'.repeat(50_000), 1)],
    ['a gzip bomb', (response) => response.writeHead(200, gzipped).end(bomb)],
    ['endless gzip of nothing', (response) => writeOn(response.writeHead(200, gzipped), empty, 1)],
  ])('stops %s without reading it all', async (_what, answer) => {
    expect(bomb.length).toBeLessThan(limits.maxBytes);
    const { url } = await serve((_request, response) => void answer(response));
    expect(await catchReason(open(url, limits))).toBe('too-large');
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['the server never responds', () => undefined],
    ['the body arrives slowly', (response) => writeOn(response, 'x', 10)],
  ])('times out when %s', async (_what, answer) => {
    const { url } = await serve((_request, response) => answer(response));
    expect(await catchReason(open(url, { ...limits, timeoutMs: 150 }))).toBe('timeout');
  });

  it('times out when the resolver never answers', async () => {
    const fetch = createGuardedFetch({
      allowPrivateHosts: true,
      resolve: () => new Promise(() => undefined),
    });
    expect(await catchReason(fetch('https://erp.example/', { ...limits, timeoutMs: 50 }))).toBe('timeout');
  });

  it('stops when the caller aborts, before and during the response', async () => {
    const { url } = await serve((_request, response) => void response.writeHead(200).write('start'));
    expect(await catchReason(open(url, { ...limits, signal: AbortSignal.abort() }))).toBe('aborted');
    expect(await catchReason(open(url, { ...limits, signal: AbortSignal.timeout(50) }))).toBe('aborted');
  });
});

describe('guarded fetch: broken responses', () => {
  const write = (response: ServerResponse, text: string): void =>
    void response.write(text, () => response.socket?.destroy());
  it.each<[string, (response: ServerResponse) => unknown]>([
    ['a connection cut before the answer', (response) => response.socket?.destroy()],
    [
      'a body shorter than announced',
      (response) => write(response.writeHead(200, { 'content-length': '100' }), 'short'),
    ],
    ['a chunked body without its end', (response) => write(response.writeHead(200), 'part')],
    [
      'gzip that ends early',
      (response) =>
        response.writeHead(200, gzipped).end(gzipSync('a longer text that is cut').subarray(0, 20)),
    ],
    ['gzip that is none', (response) => response.writeHead(200, gzipped).end('plain')],
    [
      'an encoding not asked for',
      (response) => response.writeHead(200, { 'content-encoding': 'br' }).end('x'),
    ],
    ['text that is not UTF-8', (response) => response.writeHead(200).end(Buffer.from([0x7b, 0xe4, 0x7d]))],
  ])('%s', async (_name, answer) => {
    const { url } = await serve((_request, response) => void answer(response));
    expect(await catchReason(open(url, limits))).toBe('network');
  });

  it('still reads an error page that is not UTF-8', async () => {
    const { url } = await serve((_request, response) =>
      response.writeHead(502).end(Buffer.from([0x66, 0xe4, 0x6c])),
    );
    expect(await open(url, limits)).toMatchObject({ status: 502, text: 'f\ufffdl' });
  });

  it('a closed port, and a name without addresses', async () => {
    // A port that was just released may be in use again; port 1 never is.
    expect(await catchReason(open('http://127.0.0.1:1/', limits))).toBe('network');
    const fetch = createGuardedFetch({ allowPrivateHosts: true, resolve: resolveTo() });
    expect(await catchReason(fetch('https://erp.example/', limits))).toBe('network');
  });

  it('sends the host name in the TLS handshake (SNI) and rejects an unknown certificate', async () => {
    let greeted: string | undefined;
    const server = createTlsServer({
      SNICallback: (name, done) => ((greeted = name), done(new Error('none'))),
    });
    const port = await listenLocally(server);
    servers.push(server);
    server.on('tlsClientError', () => undefined);
    const fetch = createGuardedFetch({ allowPrivateHosts: true, resolve: resolveTo('127.0.0.1') });
    expect(await catchReason(fetch(`https://erp.example:${port}/`, limits))).toBe('network');
    expect(greeted).toBe('erp.example');
  });
});
