// Reads addresses of the service: credentials, retries, and responses that are kept while nothing changes.
import { parseJson, type Response200, readText, startAttempt } from './attempt.ts';
import { ConnectionError } from './errors.ts';
import { createResponseCache, type ResponseCache } from './response-cache.ts';
import { backOff, PassingFailure } from './retry.ts';

export type ClientOptions = {
  /** The address of the service, such as `https://portal.example`. */
  readonly baseUrl: string;
  /** An API key, or a record token. A function is called for each attempt: for tokens that expire. */
  readonly key: string | (() => string | Promise<string>);
  /** The organization's id. An API key finds it out by one request; with a record token, give it. */
  readonly tenant?: string;
  /** How long the service may be silent during an attempt. Default: 30,000. */
  readonly timeoutMs?: number;
  /** After 429, 502, 503, 504 and lost connections. Default: 6, in about 16 seconds. */
  readonly maxRetries?: number;
  /** How many responses are kept, for use while nothing has changed. Default: 100, of 8 million characters. */
  readonly maxCached?: number;
  readonly fetch?: typeof fetch;
};

export type CallOptions = { readonly signal?: AbortSignal };

/** How fresh data are. */
export type Freshness = {
  /** Grows with each sync that changes records of the resource. */
  readonly generation: string;
  /** When the last sync began that could read every field: RFC 3339. */
  readonly syncedAt: string | null;
  /** Fields that the ERP can't deliver at the moment, as in `X-Data-Stale-Fields`. */
  readonly staleFields: string | null;
};

export type Answer = Freshness & {
  /** Parsed from `text`. */
  readonly body: unknown;
  readonly text: string;
};

export type Transport = {
  /** Reads JSON. Rejects with ApiError, ConnectionError or the signal's reason. */
  readonly read: (path: string, options?: CallOptions) => Promise<Answer>;
  /** Starts a response to be read in chunks; one attempt, which rejects as `startAttempt` does. */
  readonly start: (path: string, headers: Headers, options?: CallOptions) => Promise<Response200>;
  readonly maxRetries: number;
};

export const freshnessOf = (headers: Headers): Freshness => ({
  generation: headers.get('x-data-generation') ?? '',
  syncedAt: headers.get('x-data-synced-at'),
  staleFields: headers.get('x-data-stale-fields'),
});

/** Without a slash at its end. Throws a TypeError for what isn't an http or https address. */
export function readBaseUrl(text: string): string {
  const { protocol, origin, pathname, username } = new URL(text);
  if (!/^https?:$/.test(protocol) || username !== '')
    throw new TypeError('baseUrl must be an http or https address without a user name');
  return origin + pathname.replace(/\/+$/, '').replace(/\/api\/public$/, '');
}

/** Without the spaces and line breaks around it. Throws a TypeError for what a header can't carry. */
export function checkKey(key: string): string {
  const trimmed = key.trim();
  if (!/^[\x21-\x7e]+$/.test(trimmed))
    throw new TypeError('The key is empty, or has characters that no key has');
  return trimmed;
}

type Reader = {
  readonly base: string;
  readonly options: ClientOptions;
  readonly cache: ResponseCache;
  readonly maxRetries: number;
};

async function startReading(
  { base, options }: Reader,
  path: string,
  headers: Headers,
  { signal }: CallOptions,
): Promise<Response200> {
  const { key, timeoutMs = 30_000, fetch: send = fetch } = options;
  headers.set('authorization', `Bearer ${checkKey(typeof key === 'string' ? key : await key())}`);
  return startAttempt({ url: base + path, headers, timeoutMs, signal, send });
}

async function readOnce(
  reader: Reader,
  path: string,
  options: CallOptions,
  tenant: string | undefined,
): Promise<Answer> {
  const headers = new Headers({ accept: 'application/json' });
  const cached = reader.cache.find(path);
  if (tenant !== undefined) headers.set('x-tenant-id', tenant);
  if (cached !== undefined) headers.set('if-none-match', cached.tag);
  const response = await startReading(reader, path, headers, options);
  const received = await readText(response.chunks);
  const text = response.status === 304 && cached !== undefined ? cached.text : received;
  const body = parseJson(text);
  if (body === undefined)
    throw new PassingFailure(new ConnectionError(`${path} was answered with something else than JSON`));
  const tag = response.headers.get('etag');
  if (tag !== null) reader.cache.keep(path, { tag, text });
  return { ...freshnessOf(response.headers), body, text };
}

/** Reads with retries. */
async function read(
  reader: Reader,
  path: string,
  options: CallOptions,
  tenant: string | undefined,
): Promise<Answer> {
  for (let count = 1; ; count += 1) {
    try {
      return await readOnce(reader, path, options, tenant);
    } catch (error) {
      await backOff(error, count, { maxRetries: reader.maxRetries, signal: options.signal });
    }
  }
}

async function findTenant(reader: Reader): Promise<string> {
  const { body } = await read(reader, '/api/platform/v1/whoami', {}, undefined);
  const { organization } = body as { readonly organization?: { readonly id: string } | null };
  if (organization) return organization.id;
  throw new TypeError('The service names no organization for this key: give `tenant`');
}

/** Rejects with the reason of the signal once it is aborted. */
async function orAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted();
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
  });
  signal.addEventListener('abort', abort);
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', abort));
}

/** Throws a TypeError for options that can't work. */
export function createTransport(options: ClientOptions): Transport {
  const { key, tenant, maxRetries = 6, maxCached = 100 } = options;
  if (tenant === undefined && typeof key === 'string' && !key.trim().startsWith('psk_'))
    throw new TypeError('With a record token, give `tenant`, the id of the organization');
  const base = readBaseUrl(options.baseUrl);
  const reader: Reader = { base, options, maxRetries, cache: createResponseCache(maxCached) };
  let found: Promise<string> | undefined;
  /** Asked once for all calls; again after a failure. */
  const getTenant = async ({ signal }: CallOptions): Promise<string> => {
    if (tenant !== undefined) return tenant;
    found ??= findTenant(reader).catch((error) => {
      found = undefined;
      throw error;
    });
    return signal === undefined ? found : orAborted(found, signal);
  };
  return {
    maxRetries,
    read: async (path, call = {}) => read(reader, path, call, await getTenant(call)),
    start: async (path, headers, call = {}) => {
      headers.set('x-tenant-id', await getTenant(call));
      return startReading(reader, path, headers, call);
    },
  };
}
