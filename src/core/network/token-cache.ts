// An access token that is requested once, however many requests wait for it, and again before it expires.
import type { Clock } from '../clock.ts';

/** `renewAt`: from when on another one is requested, in milliseconds since 1970. */
export type AccessToken = { readonly header: string; readonly renewAt: number };
export type TokenCache = {
  /** The Authorization header. Rejects as the request for a token does, or with the signal's reason. */
  header(signal: AbortSignal): Promise<string>;
  /** This header was refused: the next one is another. */
  invalidate(refusedHeader: string): void;
};

/** Makes the first request with the first `header`. */
export function createTokenCache(clock: Pick<Clock, 'now'>, request: () => Promise<AccessToken>): TokenCache {
  let current: AccessToken | null = null;
  let pending: Promise<AccessToken> | null = null;
  // Not bound to one caller's signal: others wait for the same token.
  const renew = (): Promise<AccessToken> => {
    pending ??= request()
      .then((token) => (current = token))
      .finally(() => (pending = null));
    return pending;
  };
  return {
    async header(signal) {
      if (current !== null && clock.now().getTime() < current.renewAt) return current.header;
      signal.throwIfAborted();
      return (await untilAborted(renew(), signal)).header;
    },
    invalidate(refusedHeader) {
      if (current?.header === refusedHeader) current = null;
    },
  };
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
