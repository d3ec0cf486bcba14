// The public keys of the identity provider. Callers choose the key id in a token's header, so ids that the provider doesn't list must cost
// those that it lists nothing: known keys stay usable while they are fetched again, and unknown ids cause few requests.
import { JwksClient } from 'jwks-rsa';
import type { Ctx } from '../core/ctx.ts';
import { unavailable } from '../core/errors.ts';

export type SigningKeys = {
  /** The key with this id as PEM; undefined where the provider lists none. Rejects with 503 while the provider's keys are unavailable. */
  find(kid: string): Promise<string | undefined>;
};

const providerTimeoutMs = 5_000;
/** After this time keys are fetched again in the background, with the next token. */
const freshMs = 600_000;
/** Keys are used no longer than this while the provider can't be reached. */
const usableMs = 3_600_000;
/** Between two requests that an unknown id or a failed request causes. */
const pauseMs = 6_000;
/** How long an id that the provider doesn't list causes no further request. */
const unknownMs = 60_000;
const maxUnknown = 1_000;

const keysUnavailable = (cause: unknown) =>
  unavailable("The identity provider's signing keys are unavailable. Try again in a few seconds.", 10, cause);

/** Ids that the provider didn't list a moment ago, the latest ones. */
function createUnknownIds({ monotonicMs }: Ctx['clock']) {
  const seen = new Map<string, number>();
  return {
    has: (kid: string): boolean => monotonicMs() - (seen.get(kid) ?? Number.NEGATIVE_INFINITY) < unknownMs,
    add(kid: string): void {
      seen.delete(kid);
      seen.set(kid, monotonicMs());
      const [oldest] = seen.keys();
      if (seen.size > maxUnknown && oldest !== undefined) seen.delete(oldest);
    },
  };
}

type Fetched = { readonly keys: ReadonlyMap<string, string>; readonly atMs: number };

/** Makes no request before the first `find`, which rejects with 503 while the provider's keys are unavailable. */
export function createSigningKeys(jwksUri: string, { clock, log }: Pick<Ctx, 'clock' | 'log'>): SigningKeys {
  const client = new JwksClient({ jwksUri, cache: false, rateLimit: false, timeout: providerTimeoutMs });
  const unknown = createUnknownIds(clock);
  let fetched: Fetched | null = null;
  let failure: unknown = null;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let pending: Promise<Fetched> | null = null;

  const fetchKeys = async (): Promise<Fetched> => {
    triedAtMs = clock.monotonicMs();
    try {
      const keys = new Map((await client.getSigningKeys()).map((key) => [key.kid, key.getPublicKey()]));
      fetched = { keys, atMs: clock.monotonicMs() };
      failure = null;
      return fetched;
    } catch (error) {
      failure = error;
      log.warn({ err: error }, "the identity provider's signing keys could not be fetched");
      throw keysUnavailable(error);
    } finally {
      pending = null;
    }
  };
  /** Callers that wait for keys share one request. */
  const refresh = (): Promise<Fetched> => {
    pending ??= fetchKeys();
    return pending;
  };
  const isPausing = (): boolean => clock.monotonicMs() - triedAtMs < pauseMs;

  return {
    async find(kid) {
      const ageMs = fetched === null ? Number.POSITIVE_INFINITY : clock.monotonicMs() - fetched.atMs;
      const known = ageMs < usableMs ? fetched?.keys.get(kid) : undefined;
      if (known !== undefined) {
        if (ageMs >= freshMs && !isPausing()) refresh().catch(() => undefined);
        return known;
      }
      if (ageMs < usableMs && unknown.has(kid)) return undefined;
      if (pending === null && isPausing()) {
        if (failure !== null) throw keysUnavailable(failure);
        return undefined;
      }
      const { keys } = await refresh();
      const key = keys.get(kid);
      if (key === undefined) unknown.add(kid);
      return key;
    },
  };
}
