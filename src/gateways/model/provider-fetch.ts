// How providers are called: a busy or failing one is asked again as long as the time limit allows. Nothing is repeated once an
// answer has begun. No redirect is followed, so that a key goes to the configured address alone.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';

const mostAttempts = 3;
const firstWaitMs = 500;
const passing = new Set([429, 500, 502, 503, 504, 529]);

/** What `Retry-After` asks for, as seconds or a date; undefined when it is absent or unreadable. */
function askedWaitMs(response: Response, clock: Clock): number | undefined {
  const text = response.headers.get('retry-after');
  if (text === null) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - clock.now().getTime());
}

/** `deadlineMs` is by the clock's monotonic time. A wait that would pass it is not begun: the provider's refusal is given at once. */
export function openProviderFetch(clock: Clock, deadlineMs: number): typeof fetch {
  return async (input, init) => {
    for (let attempt = 1; ; attempt += 1) {
      const response = await fetch(input, { ...init, redirect: 'error' });
      if (!passing.has(response.status) || attempt === mostAttempts) return response;
      const waitMs = askedWaitMs(response, clock) ?? firstWaitMs * 2 ** (attempt - 1);
      if (clock.monotonicMs() + waitMs >= deadlineMs) return response;
      await response.body?.cancel();
      await sleep(waitMs, undefined, init?.signal ? { signal: init.signal } : {});
    }
  };
}
