// The path of every request to an ERP over HTTP: the connection's concurrency limit, sign-in, limits of time
// and size, and an ErpError for everything that goes wrong. After a 401 it signs in again once; it retries
// nothing else, because backing off is up to the caller.
import type { Ctx } from '../../core/ctx.ts';
import { GuardedFetchError, type GuardedResponse } from '../../core/network/guarded-fetch.ts';
import type { Limiter } from '../../core/work/account-limits.ts';
import type { ErpError } from '../connector.ts';
import { httpError } from './errors.ts';
import { findAddressProblem, type SignIn } from './sign-in.ts';

export type Send = (
  url: string,
  headers: Readonly<Record<string, string>>,
  maxBytes: number,
  signal: AbortSignal,
  onPart?: (part: string) => void,
) => Promise<GuardedResponse>;

type Parts = {
  readonly ctx: Pick<Ctx, 'fetch' | 'clock' | 'log' | 'settings'>;
  /** The address that the settings of the connection name: it must be acceptable. */
  readonly address: string;
  readonly signIn: SignIn;
  readonly limiter: Limiter;
  /** The error where there is no complete response. */
  readonly toNetworkError: (error: GuardedFetchError, url: string) => ErpError;
  /** The error for a response whose status is not 2xx. */
  readonly toResponseError: (response: GuardedResponse, now: Date) => ErpError;
};

/**
 * Creates a function that sends GET requests to the connection's ERP. The function rejects with the error of
 * `toNetworkError` or `toResponseError`, with HOST_REFUSED for an address that isn't acceptable, as the sign-in
 * does, and with nothing but the signal's reason once that is aborted.
 */
export function createSend({ ctx, address, signIn, limiter, toNetworkError, toResponseError }: Parts): Send {
  const { requestTimeoutMs: timeoutMs, allowedHosts } = ctx.settings.erp;
  const problem = findAddressProblem(address, allowedHosts);
  const attempt = async (...[url, headers, maxBytes, signal, onPart]: Parameters<Send>) => {
    const signedIn = await signIn.headers(signal);
    const sent = { ...headers, ...signedIn };
    return {
      signedIn,
      response: await ctx.fetch(url, {
        headers: sent,
        timeoutMs,
        maxBytes,
        signal,
        ...(onPart && { onPart }),
      }),
    };
  };
  const attemptTwice = async (...request: Parameters<Send>): Promise<GuardedResponse> => {
    const first = await attempt(...request);
    if (first.response.status !== 401 || !signIn.renew(first.signedIn)) return first.response;
    return (await attempt(...request)).response;
  };
  return async (...request) => {
    const [url, , , signal] = request;
    if (problem !== null) throw httpError('query', 'HOST_REFUSED', problem);
    const startedMs = ctx.clock.monotonicMs();
    const response = await limiter
      .run(signal, () => attemptTwice(...request))
      .catch((error: unknown) => {
        if (signal.aborted) throw signal.reason;
        throw error instanceof GuardedFetchError ? toNetworkError(error, url) : error;
      });
    const durationMs = Math.round(ctx.clock.monotonicMs() - startedMs);
    ctx.log.debug({ path: new URL(url).pathname, status: response.status, durationMs }, 'the ERP responded');
    if (response.status < 200 || response.status > 299) throw toResponseError(response, ctx.clock.now());
    return response;
  };
}
