// The only way in which the service calls a URL that a customer entered (protection against SSRF). It
// resolves the host name itself, rejects it when any address is not allowed, and connects to an address that
// it checked. It must never follow a redirect, never exceed the given timeout or size, and never retry.
import { lookup as systemLookup } from 'node:dns/promises';
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { addressKind } from './address-kind.ts';

export type GuardedResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /**
   * The text as it arrived. A long one is best left in parts: searching it as a whole first makes the event
   * loop wait for its copying.
   */
  readonly parts: readonly string[];
};
export type GuardedRequest = {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Covers the whole request: name resolution, connection, headers and body. */
  readonly timeoutMs: number;
  /** Applies to the bytes on the wire, and again to the bytes after gzip decoding. */
  readonly maxBytes: number;
  /** The status alone counts: a body that can't be read, or is too large, becomes an empty text. */
  readonly anyBody?: boolean;
  /** Gets the text of a success response as it arrives, which is then not in the response. May throw. */
  readonly onPart?: (part: string) => void;
  readonly signal?: AbortSignal;
};
/** Rejects with GuardedFetchError. */
export type GuardedFetch = (url: string, request: GuardedRequest) => Promise<GuardedResponse>;

export type GuardedFetchReason =
  | 'refused-address'
  | 'bad-url'
  | 'timeout'
  | 'too-large'
  | 'aborted'
  | 'network';

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
  /** Allows loopback, private and unique-local addresses, and plain http to these only: demo and tests. */
  readonly allowPrivateHosts: boolean;
  /** Resolves a host name to addresses; the operating system's resolver by default. */
  readonly resolve?: Resolve;
};

// Idle connections are closed before the server is likely to close them, so that a request rarely uses a
// closing one.
const idleMs = 4_000;

const resolveBySystem: Resolve = (hostname) => systemLookup(hostname, { all: true });

/**
 * Creates a fetch function for URLs that customers entered. Rejects with GuardedFetchError, from the returned
 * function, when there is no complete response; its `reason` says why.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const resolve = options.resolve ?? resolveBySystem;
  const agents = {
    http: new HttpAgent({ keepAlive: true, timeout: idleMs }),
    https: new HttpsAgent({ keepAlive: true, timeout: idleMs }),
  };
  return async (text, request) => {
    const url = parseUrl(text);
    const limit = startTimeLimit(request);
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
  if (url === null) throw new GuardedFetchError('bad-url', 'Not a valid URL');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new GuardedFetchError('bad-url', 'The URL must start with https:// or http://');
  if (url.username !== '' || url.password !== '')
    throw new GuardedFetchError('bad-url', 'The URL must not contain a user name or password');
  return url;
}

const toHostname = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

async function resolveChecked(url: URL, resolve: Resolve, allowPrivate: boolean) {
  const hostname = toHostname(url);
  const family = isIP(hostname);
  const addresses = family === 0 ? await resolve(hostname) : [{ address: hostname, family }];
  if (addresses.length === 0) throw new GuardedFetchError('network', `${hostname} has no address`);
  const kinds = addresses.map(({ address }) => addressKind(address));
  const secure = url.protocol === 'https:';
  const allowed = kinds.every(
    (kind) => (kind === 'public' && secure) || (kind === 'private' && allowPrivate),
  );
  if (allowed) return addresses;
  if (kinds.every((kind) => kind === 'public'))
    throw new GuardedFetchError('bad-url', 'The URL must use https');
  throw new GuardedFetchError('refused-address', `${hostname} resolves to an address that is not allowed`);
}

type TimeLimit = {
  readonly signal: AbortSignal;
  /** Why the request was aborted; undefined if it wasn't. */
  reason(): GuardedFetchError | undefined;
  race<T>(work: Promise<T>): Promise<T>;
  stop(): void;
};

/** Combines the caller's abort signal and the timeout into one signal. */
function startTimeLimit(request: GuardedRequest): TimeLimit {
  const controller = new AbortController();
  let reason: GuardedFetchError | undefined;
  const end = (error: GuardedFetchError): void => {
    reason ??= error;
    controller.abort(reason);
  };
  const onAbort = (): void =>
    end(new GuardedFetchError('aborted', 'The request was aborted', request.signal?.reason));
  const timer = setTimeout(
    () => end(new GuardedFetchError('timeout', `No response within ${request.timeoutMs} ms`)),
    request.timeoutMs,
  );
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
  error instanceof GuardedFetchError
    ? error
    : new GuardedFetchError('network', `No complete response from ${url.host}`, error);

type Agents = { readonly http: HttpAgent; readonly https: HttpsAgent };

async function exchange(
  url: URL,
  request: GuardedRequest,
  addresses: readonly Address[],
  agents: Agents,
  signal: AbortSignal,
): Promise<GuardedResponse> {
  const outgoing = connect(url, request, addresses, agents, signal);
  const responded = new Promise<IncomingMessage>((fulfil, reject) => {
    outgoing.on('response', fulfil);
    // Stays attached for the whole request; an error after the headers is also reported by the body stream.
    outgoing.on('error', reject);
  });
  outgoing.end(request.body);
  const incoming = await responded;
  try {
    const parts: string[] = [];
    const keep = (part: string): void => void parts.push(part);
    const onPart = isSuccessStatus(incoming.statusCode) ? (request.onPart ?? keep) : keep;
    await readBody(incoming, request.maxBytes, onPart).catch((error: unknown) => {
      if (request.anyBody !== true || signal.aborted) throw error;
      outgoing.destroy();
      parts.length = 0;
    });
    // Appended, not joined: JavaScript copies such a text only when it is searched.
    const text = parts.reduce((all, part) => all + part, '');
    return { status: incoming.statusCode ?? 0, headers: flattenHeaders(incoming), text, parts };
  } catch (error) {
    outgoing.destroy();
    throw error;
  }
}

function connect(
  url: URL,
  request: GuardedRequest,
  addresses: readonly Address[],
  agents: Agents,
  signal: AbortSignal,
): ClientRequest {
  const hostname = toHostname(url);
  const headers = Object.fromEntries(
    Object.entries(request.headers ?? {}).filter(([name]) => name.toLowerCase() !== 'host'),
  );
  const shared = {
    hostname,
    port: url.port,
    path: `${url.pathname}${url.search}`,
    method: request.method ?? 'GET',
    headers: { ...headers, 'accept-encoding': 'gzip' },
    lookup: lookupFrom(addresses),
    signal,
  };
  if (url.protocol === 'http:') return httpRequest({ ...shared, agent: agents.http });
  const servername = isIP(hostname) === 0 ? hostname : '';
  return httpsRequest({ ...shared, agent: agents.https, servername, rejectUnauthorized: true });
}

/** A DNS lookup function that returns only the addresses that were checked. */
function lookupFrom(addresses: readonly Address[]): LookupFunction {
  const all = addresses.map(({ address, family }) => ({ address, family }));
  return (_hostname, options, callback) => {
    const [first] = all;
    if (options.all === true) callback(null, all);
    else if (first === undefined) callback(new Error('no address'), '', 4);
    else callback(null, first.address, first.family);
  };
}

async function readBody(
  incoming: IncomingMessage,
  maxBytes: number,
  onPart: (part: string) => void,
): Promise<void> {
  const { statusCode: status = 0 } = incoming;
  const bodyless = status === 204 || status === 304;
  const encoding = bodyless
    ? 'identity'
    : (incoming.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '')
    return readText(incoming, maxBytes, isSuccessStatus(status), onPart);
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new GuardedFetchError('network', 'The response has a content encoding other than gzip');
  const plain = createGunzip();
  let wireBytes = 0;
  incoming.on('error', (error) => plain.destroy(error));
  incoming.on('data', (chunk: Buffer) => {
    wireBytes += chunk.length;
    if (wireBytes > maxBytes) plain.destroy(tooLarge(maxBytes)); // an endless gzip stream may decode to nothing
  });
  return readText(incoming.pipe(plain), maxBytes, isSuccessStatus(status), onPart);
}

const tooLarge = (maxBytes: number): GuardedFetchError =>
  new GuardedFetchError('too-large', `The response is larger than ${maxBytes} bytes`);

/** The number of bytes at the end that are the beginning of a character. */
function incompleteBytes(bytes: Buffer): number {
  for (let count = 1; count <= Math.min(3, bytes.length); count += 1) {
    const byte = bytes[bytes.length - count] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return count < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? count : 0;
  }
  return 0;
}

const isSuccessStatus = (status = 0): boolean => status >= 200 && status < 300;

/**
 * Decodes as the bytes arrive, so that a large body neither holds the event loop at its end nor is in memory
 * twice. (A `TextDecoder` that streams would be slower, and its strings twice as large.) Invalid UTF-8 in a
 * success response would be stored as data, so it fails; in an error response it is replaced by U+FFFD.
 */
async function readText(
  stream: Readable,
  maxBytes: number,
  isSuccess: boolean,
  onPart: (part: string) => void,
): Promise<void> {
  const decoder = new TextDecoder('utf-8', { fatal: isSuccess, ignoreBOM: true });
  let size = 0;
  let isFirst = true;
  const add = (bytes: Buffer): void => {
    const part = decodeText(decoder, bytes);
    if (part === '') return;
    const text = isFirst && part.startsWith('\ufeff') ? part.slice(1) : part;
    isFirst = false;
    onPart(text);
  };
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = bytes.length - incompleteBytes(bytes);
    add(bytes.subarray(0, end));
    rest = bytes.subarray(end);
  }
  add(rest);
}

function flattenHeaders(incoming: IncomingMessage): Record<string, string> {
  const pairs = Object.entries(incoming.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, [value].flat().join(', ')]],
  );
  return Object.fromEntries(pairs);
}

function decodeText(decoder: { decode(bytes: Buffer): string }, bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw new GuardedFetchError('network', 'The response is not valid UTF-8', error);
  }
}
