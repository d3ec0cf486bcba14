// The only door through which the service calls an address that a customer typed. It decides which addresses may be called:
// it resolves the name itself, refuses the whole name when one answer is not allowed, and connects to what it checked.
// It must never follow a redirect, never wait longer or read more than it was told, and never retry.
import { lookup as systemLookup } from 'node:dns/promises';
import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { addressKind } from './address-kind.ts';

export type GuardedResponse = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly text: string };
export type GuardedRequest = {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For everything together: name, connection, headers and body. */
  readonly timeoutMs: number;
  /** Counted on the wire and again after decoding gzip. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
};
/** Rejects with GuardedFetchError. */
export type GuardedFetch = (url: string, request: GuardedRequest) => Promise<GuardedResponse>;

export type GuardedFetchReason = 'refused-address' | 'bad-url' | 'timeout' | 'too-large' | 'aborted' | 'network';

export class GuardedFetchError extends Error {
  readonly reason: GuardedFetchReason;
  constructor(reason: GuardedFetchReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'GuardedFetchError';
    this.reason = reason;
  }
}

type Address = { readonly address: string; readonly family: number };
export type Resolve = (hostname: string) => Promise<readonly Address[]>;

export type GuardedFetchOptions = {
  /** Lets loopback, private and unique-local addresses through, and plain http to these alone. For the demo and tests. */
  readonly allowPrivateHosts: boolean;
  /** How a name becomes addresses; the operating system's resolver by default. */
  readonly resolve?: Resolve;
};

// Idle connections are closed before a server is likely to close them, so that a request seldom meets a dying one.
const idleMs = 4_000;

const resolveBySystem: Resolve = (hostname) => systemLookup(hostname, { all: true });

export function openGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const resolve = options.resolve ?? resolveBySystem;
  const agents = {
    http: new HttpAgent({ keepAlive: true, timeout: idleMs }),
    https: new HttpsAgent({ keepAlive: true, timeout: idleMs }),
  };
  return async (text, request) => {
    const url = parseUrl(text);
    const limit = startLimit(request);
    try {
      const addresses = await limit.race(resolveChecked(url, resolve, options.allowPrivateHosts));
      return await exchange(url, request, addresses, agents, limit.signal);
    } catch (error) {
      throw limit.reason() ?? asGuarded(error, url);
    } finally {
      limit.stop();
    }
  };
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw new GuardedFetchError('bad-url', 'The address is not a URL');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new GuardedFetchError('bad-url', 'The address is neither https nor http');
  if (url.username !== '' || url.password !== '') throw new GuardedFetchError('bad-url', 'The address carries a user name or password');
  return url;
}

const hostnameOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

async function resolveChecked(url: URL, resolve: Resolve, allowPrivate: boolean): Promise<readonly Address[]> {
  const hostname = hostnameOf(url);
  const family = isIP(hostname);
  const addresses = family === 0 ? await resolve(hostname) : [{ address: hostname, family }];
  if (addresses.length === 0) throw new GuardedFetchError('network', `${hostname} has no address`);
  const kinds = addresses.map(({ address }) => addressKind(address));
  const secure = url.protocol === 'https:';
  const allowed = kinds.every((kind) => (kind === 'public' && secure) || (kind === 'private' && allowPrivate));
  if (allowed) return addresses;
  if (kinds.every((kind) => kind === 'public')) throw new GuardedFetchError('bad-url', 'The address must use https');
  throw new GuardedFetchError('refused-address', `${hostname} leads to an address that may not be called`);
}

type Limit = {
  readonly signal: AbortSignal;
  /** What ended the request early; undefined while nothing has. */
  reason(): GuardedFetchError | undefined;
  race<T>(work: Promise<T>): Promise<T>;
  stop(): void;
};

/** One signal for both ends of patience: the caller's own and the clock's. */
function startLimit(request: GuardedRequest): Limit {
  const controller = new AbortController();
  let reason: GuardedFetchError | undefined;
  const end = (error: GuardedFetchError): void => {
    reason ??= error;
    controller.abort(reason);
  };
  const onAbort = (): void => end(new GuardedFetchError('aborted', 'The request was given up', request.signal?.reason));
  const timer = setTimeout(() => end(new GuardedFetchError('timeout', `No answer within ${request.timeoutMs} ms`)), request.timeoutMs);
  request.signal?.addEventListener('abort', onAbort);
  if (request.signal?.aborted === true) onAbort();
  return {
    signal: controller.signal,
    reason: () => reason,
    race: (work) =>
      new Promise((fulfil, reject) => {
        if (controller.signal.aborted) reject(controller.signal.reason);
        controller.signal.addEventListener('abort', () => reject(controller.signal.reason));
        work.then(fulfil, reject);
      }),
    stop() {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', onAbort);
    },
  };
}

const asGuarded = (error: unknown, url: URL): GuardedFetchError =>
  error instanceof GuardedFetchError ? error : new GuardedFetchError('network', `No complete answer from ${url.host}`, error);

type Agents = { readonly http: HttpAgent; readonly https: HttpsAgent };

async function exchange(
  url: URL,
  request: GuardedRequest,
  addresses: readonly Address[],
  agents: Agents,
  signal: AbortSignal,
): Promise<GuardedResponse> {
  const outgoing = connect(url, request, addresses, agents, signal);
  const answered = new Promise<IncomingMessage>((fulfil, reject) => {
    outgoing.on('response', fulfil);
    // Stays for the life of the request: an error after the headers is reported by the body as well.
    outgoing.on('error', reject);
  });
  outgoing.end(request.body);
  const incoming = await answered;
  try {
    const bytes = await readBody(incoming, request.maxBytes);
    const status = incoming.statusCode ?? 0;
    return { status, headers: flattenHeaders(incoming), text: decodeText(bytes, status) };
  } catch (error) {
    outgoing.destroy();
    throw error;
  }
}

function connect(url: URL, request: GuardedRequest, addresses: readonly Address[], agents: Agents, signal: AbortSignal): ClientRequest {
  const hostname = hostnameOf(url);
  const headers = Object.fromEntries(Object.entries(request.headers ?? {}).filter(([name]) => name.toLowerCase() !== 'host'));
  const shared = {
    hostname,
    port: url.port,
    path: `${url.pathname}${url.search}`,
    method: request.method ?? 'GET',
    headers: { ...headers, 'accept-encoding': 'gzip' },
    lookup: answerWith(addresses),
    signal,
  };
  if (url.protocol === 'http:') return httpRequest({ ...shared, agent: agents.http });
  const servername = isIP(hostname) === 0 ? hostname : '';
  return httpsRequest({ ...shared, agent: agents.https, servername, rejectUnauthorized: true });
}

/** A name look-up that knows only the addresses that were checked. */
function answerWith(addresses: readonly Address[]): LookupFunction {
  const all = addresses.map(({ address, family }) => ({ address, family }));
  return (_hostname, options, callback) => {
    const [first] = all;
    if (options.all === true) callback(null, all);
    else if (first === undefined) callback(new Error('no address'), '', 4);
    else callback(null, first.address, first.family);
  };
}

async function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const bodyless = incoming.statusCode === 204 || incoming.statusCode === 304;
  const encoding = bodyless ? 'identity' : (incoming.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return collect(incoming, maxBytes);
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new GuardedFetchError('network', 'The answer has an encoding that was not asked for');
  const plain = createGunzip();
  let wireBytes = 0;
  incoming.on('error', (error) => plain.destroy(error));
  incoming.on('data', (chunk: Buffer) => {
    wireBytes += chunk.length;
    if (wireBytes > maxBytes) plain.destroy(tooLarge(maxBytes)); // gzip can be endless and still unpack to nothing
  });
  return collect(incoming.pipe(plain), maxBytes);
}

const tooLarge = (maxBytes: number): GuardedFetchError => new GuardedFetchError('too-large', `The answer is larger than ${maxBytes} bytes`);

async function collect(stream: Readable, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function flattenHeaders(incoming: IncomingMessage): Record<string, string> {
  const pairs = Object.entries(incoming.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, [value].flat().join(', ')]],
  );
  return Object.fromEntries(pairs);
}

/** Broken text in a good answer would be stored as if it were data, so it fails; in an error page it only loses a letter. */
function decodeText(bytes: Buffer, status: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: status >= 200 && status < 300 }).decode(bytes);
  } catch (error) {
    throw new GuardedFetchError('network', 'The answer is not UTF-8', error);
  }
}
