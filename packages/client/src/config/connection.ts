// Requests to the management interface, which allows 60 in a minute: waits when it says so.
import { parseJson, readText, startAttempt } from '../attempt.ts';
import { UsageError } from '../cli/settings.ts';
import { ApiError, ConnectionError } from '../errors.ts';
import { backOff, PassingFailure } from '../retry.ts';
import { type ClientOptions, checkKey, readBaseUrl } from '../transport.ts';
import { isSame } from './differences.ts';
import { isObject, type Values } from './schema.ts';

const maxRetries = 10;
const maxListReads = 5;
/** The service counts requests by the minute, so that its `Retry-After` is up to a minute. */
const maxDelayMs = 120_000;
/** Shorter waits aren't worth a line. */
const minPrintedMs = 1_000;

export type Print = (line: string) => void;
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type Connection = {
  /** Of the service, such as `https://portal.example`. */
  readonly origin: string;
  /** Reads an object. Rejects with ApiError or ConnectionError. */
  readonly get: (path: string) => Promise<Values>;
  /** Reads all pages of a list. Rejects as `get` does. */
  readonly list: (path: string) => Promise<readonly Values[]>;
  /** A POST that is repeated after a lost connection has no effect twice. Rejects as `get` does. */
  readonly send: (method: Method, path: string, body?: unknown) => Promise<Values>;
};

const printWait = (print: Print) => (ms: number, error: unknown) => {
  const reason = error instanceof Error ? error.message : String(error);
  if (ms >= minPrintedMs) print(`${reason}: waiting ${Math.ceil(ms / 1000)} s`);
};

/** Undefined when the list changed while it was read. */
async function tryPages(get: Connection['get'], path: string): Promise<readonly Values[] | undefined> {
  const found = new Map<unknown, Values>();
  let total: unknown;
  for (let page = 1; ; page += 1) {
    const { data, pagination } = await get(`${path}?pageSize=100&page=${page}`);
    const items = Array.isArray(data) ? data.filter(isObject) : [];
    const now = isObject(pagination) ? pagination['total'] : items.length;
    total ??= now;
    if (now !== total) return undefined;
    for (const item of items) found.set(item['id'] ?? JSON.stringify(item), item);
    if (found.size === total) return [...found.values()];
    if (page * 100 >= Number(total)) return undefined;
  }
}

async function listPages(get: Connection['get'], path: string): Promise<readonly Values[]> {
  for (let count = 0; count < maxListReads; count += 1) {
    const found = await tryPages(get, path);
    if (found !== undefined) return found;
  }
  throw new UsageError(`${path} changes while it is read: try again later.`);
}

/** A change that was made before its answer was lost, and so is refused when it is repeated. */
async function findDone(
  { get }: Pick<Connection, 'get'>,
  method: Method,
  path: string,
  body: unknown,
  error: unknown,
): Promise<Values | undefined> {
  if (!(error instanceof ApiError)) return undefined;
  if (method === 'DELETE' && error.status === 404) return {};
  if (!['PATCH', 'PUT'].includes(method) || !error.hasDetail('stale_revision') || !isObject(body))
    return undefined;
  const present = await get(path);
  const { revision: _revision, ...sent } = body;
  const isDone = Object.entries(sent).every(([name, value]) => isSame(value, present[name]));
  return isDone ? present : undefined;
}

/** Throws a TypeError for an address that can't work. */
export function openConnection(options: ClientOptions, print: Print): Connection {
  const { key, timeoutMs = 60_000, fetch: sendRequest = fetch } = options;
  const base = `${readBaseUrl(options.baseUrl)}/api/platform/v1`;
  const attempt = async (method: Method, path: string, headers: Headers, body: unknown): Promise<Values> => {
    headers.set('authorization', `Bearer ${checkKey(typeof key === 'string' ? key : await key())}`);
    if (body !== undefined) headers.set('content-type', 'application/json');
    const { chunks } = await startAttempt({
      ...{ url: base + path, method, headers, timeoutMs, signal: undefined, send: sendRequest },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await readText(chunks);
    const answer = text === '' ? {} : parseJson(text);
    if (isObject(answer)) return answer;
    throw new PassingFailure(new ConnectionError(`${path} was answered with something else than JSON`));
  };
  const get: Connection['get'] = (path) => send('GET', path);
  const send: Connection['send'] = async (method, path, body) => {
    const headers = new Headers({ accept: 'application/json' });
    if (method === 'POST') headers.set('idempotency-key', crypto.randomUUID());
    for (let count = 1; ; count += 1) {
      try {
        return await attempt(method, path, headers, body);
      } catch (thrown) {
        const done = count > 1 ? await findDone({ get }, method, path, body, thrown) : undefined;
        if (done !== undefined) return done;
        // The first attempt of a creation may still run.
        const isRunning = thrown instanceof ApiError && thrown.hasDetail('still_running');
        const error = isRunning ? new PassingFailure(thrown) : thrown;
        const onWait = printWait(print);
        await backOff(error, count, { maxRetries, maxDelayMs, onWait, signal: undefined });
      }
    }
  };
  return { get, send, list: (path) => listPages(get, path), origin: new URL(base).origin };
}
