// Reads the Date header of every response, logins included: a wrong clock on this machine is a common reason
// for a refused login, and then no other request can measure it.
import type { Clock } from '../../../core/clock.ts';
import type { GuardedFetch } from '../../../core/network/guarded-fetch.ts';

export type ClockSkewMonitor = {
  /** The wrapped fetch: use it for every request to the account. */
  readonly fetch: GuardedFetch;
  /**
   * How far this machine's clock is ahead of NetSuite's, by the last response; negative when behind, null
   * before the first response.
   */
  skewMs(): number | null;
};

export function monitorClockSkew(fetch: GuardedFetch, clock: Clock): ClockSkewMonitor {
  let skewMs: number | null = null;
  return {
    skewMs: () => skewMs,
    async fetch(url, request) {
      const response = await fetch(url, request);
      const date = Date.parse(response.headers['date'] ?? '');
      if (!Number.isNaN(date)) skewMs = clock.now().getTime() - date;
      return response;
    },
  };
}
