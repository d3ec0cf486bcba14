// Requests to the management interface, which allows 60 in a minute: waits when it says so.
import { parseJson, readText, startAttempt } from '../attempt.ts';
import { ConnectionError } from '../errors.ts';
import { backOff, PassingFailure } from '../retry.ts';
import { type ClientOptions, readBaseUrl } from '../transport.ts';
import { isObject, type Values } from './schema.ts';

const maxRetries = 10;
/** The service counts requests by the minute, so that its `Retry-After` is up to a minute. */
const maxDelayMs = 120_000;
/** Shorter waits aren't worth a line. */
const minPrintedMs = 1_000;

export type Print = (line: string) => void;
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type Connection = {
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

async function listPages(get: Connection['get'], path: string): Promise<readonly Values[]> {
  const found: Values[] = [];
  for (let page = 1; ; page += 1) {
    const { data, pagination } = await get(`${path}?pageSize=100&page=${page}`);
    const items = Array.isArray(data) ? data.filter(isObject) : [];
    found.push(...items);
    const total = isObject(pagination) ? Number(pagination['total']) : 0;
    if (items.length === 0 || found.length >= total) return found;
  }
}

/** Throws a TypeError for an address that can't work. */
export function openConnection(options: ClientOptions, print: Print): Connection {
  const { key, timeoutMs = 60_000, fetch: sendRequest = fetch } = options;
  const base = `${readBaseUrl(options.baseUrl)}/api/platform/v1`;
  const attempt = async (method: Method, path: string, headers: Headers, body: unknown): Promise<Values> => {
    headers.set('authorization', `Bearer ${typeof key === 'string' ? key : await key()}`);
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
  const send: Connection['send'] = async (method, path, body) => {
    const headers = new Headers({ accept: 'application/json' });
    if (method === 'POST') headers.set('idempotency-key', crypto.randomUUID());
    for (let count = 1; ; count += 1) {
      try {
        return await attempt(method, path, headers, body);
      } catch (error) {
        const onWait = printWait(print);
        await backOff(error, count, { maxRetries, maxDelayMs, onWait, signal: undefined });
      }
    }
  };
  const get: Connection['get'] = (path) => send('GET', path);
  return { get, send, list: (path) => listPages(get, path) };
}
