// The one path of every request to NetSuite: the account's concurrency limit, a fresh Authorization header,
// limits of time and size, and an ErpError for everything that goes wrong. After a 401 it logs in again once;
// it retries nothing else, because backing off is up to the caller.

import type { Ctx } from '../../../core/ctx.ts';
import { GuardedFetchError, type GuardedResponse } from '../../../core/network/guarded-fetch.ts';
import { parseJson } from '../../../core/text/parse-json.ts';
import type { Limiter } from '../../../core/work/account-limits.ts';
import type { Authorizer } from './auth.ts';
import { erpError, networkError, responseError } from './errors.ts';
import { writeError } from './write-errors.ts';

export type NetsuiteRequest = {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Relative to `/services/rest/`, with the query string. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
};

/** A response's JSON, and how long its text was. */
type ParsedResponse = { readonly json: unknown; readonly characters: number };
export type NetsuiteHttp = {
  /** The parsed JSON of a 2xx response. Rejects with ErpError, or with the reason of the aborted signal. */
  send(request: NetsuiteRequest): Promise<ParsedResponse>;
  /**
   * For writes, which have no response body: the Location header of a 2xx response, empty where there is
   * none. Rejects as `send` does, with refusals classified by write-errors.ts.
   */
  write(request: NetsuiteRequest): Promise<string>;
};

type Parts = {
  readonly ctx: Pick<Ctx, 'fetch' | 'clock' | 'log' | 'settings'>;
  readonly origin: string;
  readonly authorizer: Authorizer;
  readonly limiter: Limiter;
};

const createAttempt = ({ ctx, origin, authorizer }: Omit<Parts, 'limiter'>) => {
  const limits = {
    timeoutMs: ctx.settings.erp.requestTimeoutMs,
    maxBytes: ctx.settings.erp.maxResponseBytes,
  };
  return async ({ method, path, body, headers, signal }: NetsuiteRequest) => {
    const url = `${origin}/services/rest/${path}`;
    const authorization = await authorizer.authorize({ method, url, signal });
    const response = await ctx.fetch(url, {
      method,
      headers: { accept: 'application/json', ...headers, authorization },
      ...(body !== undefined && { body }),
      ...limits,
      signal,
    });
    return { response, authorization };
  };
};

/** Its methods reject with `ErpError`, or with the signal's reason once that is aborted. */
export function createNetsuiteHttp({ ctx, origin, authorizer, limiter }: Parts): NetsuiteHttp {
  const attempt = createAttempt({ ctx, origin, authorizer });
  const attemptWithFreshLogin = async (request: NetsuiteRequest): Promise<GuardedResponse> => {
    const first = await attempt(request);
    if (first.response.status !== 401) return first.response;
    authorizer.invalidate(first.authorization);
    return (await attempt(request)).response;
  };

  const exchange = async (request: NetsuiteRequest): Promise<GuardedResponse> => {
    const startedMs = ctx.clock.monotonicMs();
    const response = await limiter
      .run(request.signal, () => attemptWithFreshLogin(request))
      .catch((error: unknown) => {
        if (request.signal.aborted) throw request.signal.reason;
        throw error instanceof GuardedFetchError ? networkError(error) : error;
      });
    const durationMs = Math.round(ctx.clock.monotonicMs() - startedMs);
    const operation = response.headers['x-n-operationid'] ?? response.headers['x-netsuite-jobid'] ?? null;
    ctx.log.debug(
      { method: request.method, path: request.path, status: response.status, durationMs, operation },
      'NetSuite responded',
    );
    return response;
  };

  return {
    async send(request) {
      const response = await exchange(request);
      if (!isSuccess(response)) throw responseError(response, ctx.clock.now());
      return { json: await parseResponse(response), characters: response.text.length };
    },
    async write(request) {
      const response = await exchange(request);
      if (!isSuccess(response)) throw writeError(response, ctx.clock.now());
      return response.headers['location'] ?? '';
    },
  };
}

const isSuccess = ({ status }: GuardedResponse): boolean => status >= 200 && status <= 299;

async function parseResponse(response: GuardedResponse): Promise<unknown> {
  try {
    return await parseJson(response.parts);
  } catch (error) {
    const type = response.headers['content-type'] ?? 'no content type';
    if (/\bjson\b/i.test(type) && response.text !== '')
      throw erpError('answer', 'ANSWER_MALFORMED', 'The response of the ERP is malformed JSON', {
        cause: error,
      });
    throw erpError('answer', 'ANSWER_UNREADABLE', `The response of the ERP is not JSON (${type})`, {
      cause: error,
    });
  }
}
