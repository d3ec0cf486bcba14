// Answers a proxy in front that asks before it obtains a certificate for a hostname, as Caddy does with on-demand
// TLS: without it, anyone could have the proxy request certificates for any names.
import type { Log } from '../core/log.ts';
import { anyOwner, Semaphore } from '../core/work/semaphore.ts';

export type TlsAnswer = { readonly status: 200 | 400 | 403 | 503; readonly text: string };

const timeoutMs = 2_000;
/** Handshakes with made-up names must not take the connections to the database from everything else. */
const maxRunning = 4;
const maxWaiting = 32;

function rejectAfter(ms: number): { readonly expired: Promise<never>; clear(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  return { expired: promise, clear: () => clearTimeout(timer) };
}

/**
 * `isServed` says whether a portal is served at a hostname. The returned function takes the values of the
 * parameter `domain`, answers within two seconds, and never rejects.
 */
export function createTlsCheck(
  isServed: (hostname: string) => Promise<boolean>,
  log: Pick<Log, 'warn'>,
): (domains: readonly string[]) => Promise<TlsAnswer> {
  const limit = new Semaphore({ maxRunning, maxWaiting, maxWaitMs: timeoutMs });
  return async ([hostname = '', ...others]) => {
    if (hostname === '' || others.length > 0)
      return { status: 400, text: 'Name one hostname: GET /tls-allowed?domain=portal.acme.com\n' };
    const { expired, clear } = rejectAfter(timeoutMs);
    try {
      const served = limit.run(anyOwner, () => isServed(hostname));
      return (await Promise.race([served, expired]))
        ? { status: 200, text: 'A portal is served at this hostname.\n' }
        : { status: 403, text: 'This hostname is not the primary domain of a portal that is on.\n' };
    } catch (error) {
      log.warn({ err: error }, 'could not look up whether a hostname may have a certificate');
      return { status: 503, text: 'The database does not answer. Try again.\n' };
    } finally {
      clear();
    }
  };
}
