// Watches the Date header of every answer, log-ins included: a wrong clock here is a common reason for a refused log-in, and
// then no other question can be asked.
import type { Clock } from '../../core/clock.ts';
import type { GuardedFetch } from '../../core/guarded-fetch.ts';

export type ClockWatch = {
  readonly fetch: GuardedFetch;
  /** How far this machine's clock is ahead of NetSuite's, in ms, by the last answer; null before one. */
  aheadMs(): number | null;
};

export function watchClock(fetch: GuardedFetch, clock: Clock): ClockWatch {
  let aheadMs: number | null = null;
  return {
    aheadMs: () => aheadMs,
    async fetch(url, request) {
      const response = await fetch(url, request);
      const date = Date.parse(response.headers['date'] ?? '');
      if (!Number.isNaN(date)) aheadMs = clock.now().getTime() - date;
      return response;
    },
  };
}
