// Public requests look up API keys, their tokens and published versions at DATABASE_URL. While that database
// is unreachable, these stay trusted for TRUST_DURING_OUTAGE_SECONDS after they were last looked up, so that
// reads from another server (WAREHOUSE_URL) go on. A key that is revoked meanwhile works until then. Keys
// that the database rejects, or that this process has never looked up, are not trusted.
import type { Ctx } from '../../core/ctx.ts';
import { type AppError, unavailable } from '../../core/errors.ts';
import type { FoundApiKey } from '../../identity/api-key.store.ts';
import { unauthorized } from '../../identity/principal.ts';
import type { VersionState } from './versions.store.ts';

/** The values that stay trusted. Those of tokens of API keys still end when the token expires. */
type Trusted = FoundApiKey | VersionState;

export type OutageTrust = {
  /** How long a looked-up value is fresh at this moment. */
  freshMs(): number;
  /**
   * Runs a lookup. While the database is unreachable, also when it becomes so during the lookup, resolves
   * with what `findFresh` finds instead; rejects with 503 when that is nothing.
   */
  lookUp<V extends Trusted>(lookup: () => Promise<V>, findFresh: () => V | undefined): Promise<V>;
  /** Throws 401 for a key that has expired during the outage: the database would no longer return it. */
  assertNotExpired(key: FoundApiKey): void;
};

const unreachable = (): AppError => unavailable('The database is temporarily unavailable; try again', 2);

/**
 * Watches and logs outages when TRUST_DURING_OUTAGE_SECONDS is set; otherwise lookups simply run. The
 * returned `lookUp` rejects with 503, and `assertNotExpired` throws 401.
 */
export function createOutageTrust({
  db,
  clock,
  log,
  settings,
}: Pick<Ctx, 'db' | 'clock' | 'log' | 'settings'>): OutageTrust {
  const { cacheTtlMs, trustDuringOutageMs } = settings;
  if (trustDuringOutageMs === 0)
    return { freshMs: () => cacheTtlMs, lookUp: (lookup) => lookup(), assertNotExpired: () => undefined };
  const { controlAvailability } = db;
  const isOutage = (): boolean => controlAvailability.unreachableForMs() !== undefined;
  controlAvailability.watch((isUnreachable) => {
    if (isUnreachable)
      log.warn(
        { seconds: trustDuringOutageMs / 1_000 },
        'DATABASE_URL is unreachable: known API keys stay trusted',
      );
    else log.warn('DATABASE_URL responds again: API keys are looked up again');
  });
  const runUntilOutage = <V>(lookup: () => Promise<V>): Promise<V> =>
    new Promise((resolve, reject) => {
      const stopWatching = controlAvailability.watch(
        (isUnreachable) => isUnreachable && reject(unreachable()),
      );
      lookup()
        .catch(async (error: unknown) => {
          await controlAvailability.confirm(error);
          throw error;
        })
        .finally(stopWatching)
        .then(resolve, reject);
    });
  return {
    freshMs: () => (isOutage() ? Math.max(cacheTtlMs, trustDuringOutageMs) : cacheTtlMs),
    lookUp: async (lookup, findFresh) => {
      try {
        if (isOutage()) throw unreachable();
        return await runUntilOutage(lookup);
      } catch (error) {
        const trusted = isOutage() ? findFresh() : undefined;
        if (trusted === undefined) throw error;
        return trusted;
      }
    },
    assertNotExpired: ({ expiresAt }) => {
      if (expiresAt !== null && expiresAt <= clock.now() && isOutage()) throw unauthorized();
    },
  };
}
