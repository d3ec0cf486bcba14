import type { GuardedResponse } from './guarded-fetch.ts';

/** From `Retry-After`, which is in seconds or a date; empty when it is absent or unreadable. */
export function readRetryAfter(
  { headers }: Pick<GuardedResponse, 'headers'>,
  now: Date,
): { retryAfterMs?: number } {
  const value = headers['retry-after']?.trim() ?? '';
  const waitMs = /^\d{1,6}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now.getTime();
  return Number.isFinite(waitMs) ? { retryAfterMs: Math.max(0, waitMs) } : {};
}
