// The public keys of the identity provider. Callers choose the key id in a token's header, so ids that the
// provider doesn't list must cost those that it lists nothing: known keys stay usable while they are fetched
// again, and unknown ids cause few requests.
import { createPublicKey } from 'node:crypto';
import { JwksClient, type SigningKey } from 'jwks-rsa';
import type { Ctx } from '../core/ctx.ts';
import { unavailable } from '../core/errors.ts';

export type SigningKeys = {
  /**
   * The keys with this id that may verify this algorithm, as PEM: keys of several types may have one id (RFC
   * 7517 4.5), and a key that names its algorithm verifies no other (RFC 8725 3.1). Rejects with 503 while
   * the provider's keys are unavailable.
   */
  find(kid: string, algorithm: string): Promise<readonly string[]>;
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

type Key = { readonly pem: string; readonly algorithms: readonly string[] };
type Fetched = { readonly keys: ReadonlyMap<string, readonly Key[]>; readonly atMs: number };

function toKey(key: SigningKey): Key {
  const pem = key.getPublicKey();
  const named = (key as { readonly alg?: string }).alg;
  if (named !== undefined) return { pem, algorithms: [named] };
  return {
    pem,
    algorithms: createPublicKey(pem).asymmetricKeyType === 'ec' ? ['ES256'] : ['RS256', 'PS256'],
  };
}

const listSuitable = (keys: readonly Key[], algorithm: string): string[] =>
  keys.flatMap(({ pem, algorithms }) => (algorithms.includes(algorithm) ? [pem] : []));

/** By their ids. */
function groupKeys(found: readonly SigningKey[]): Map<string, readonly Key[]> {
  return new Map([...Map.groupBy(found, ({ kid }) => kid)].map(([kid, same]) => [kid, same.map(toKey)]));
}

/** Entries that are no keys cost the others nothing. */
class LenientJwksClient extends JwksClient {
  override async getKeys(): Promise<unknown> {
    const keys = (await super.getKeys()) as unknown;
    return Array.isArray(keys) ? keys.filter((key) => typeof key === 'object' && key !== null) : keys;
  }
}

/** No request before the first `find`, which rejects with 503 while the provider's keys are unavailable. */
export function createSigningKeys(jwksUri: string, { clock, log }: Pick<Ctx, 'clock' | 'log'>): SigningKeys {
  const client = new LenientJwksClient({
    jwksUri,
    cache: false,
    rateLimit: false,
    timeout: providerTimeoutMs,
  });
  const unknown = createUnknownIds(clock);
  let fetched: Fetched | null = null;
  let failure: unknown = null;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let pending: Promise<Fetched> | null = null;

  const fetchKeys = async (): Promise<Fetched> => {
    triedAtMs = clock.monotonicMs();
    try {
      const keys = groupKeys(await client.getSigningKeys());
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
    async find(kid, algorithm) {
      const ageMs = fetched === null ? Number.POSITIVE_INFINITY : clock.monotonicMs() - fetched.atMs;
      const known = ageMs < usableMs ? fetched?.keys.get(kid) : undefined;
      if (known !== undefined) {
        if (ageMs >= freshMs && !isPausing()) refresh().catch(() => undefined);
        return listSuitable(known, algorithm);
      }
      if (ageMs < usableMs && unknown.has(kid)) return [];
      if (pending === null && isPausing()) {
        if (failure !== null) throw keysUnavailable(failure);
        return [];
      }
      const { keys } = await refresh();
      const found = keys.get(kid);
      if (found === undefined) unknown.add(kid);
      return listSuitable(found ?? [], algorithm);
    },
  };
}
