// Calls a provider, with retries and backoff while it is busy or failing and the time limit allows. Nothing
// is retried once a response has begun. Redirects are not followed, so that the key is sent only to the
// configured address. Bodies are limited in bytes, whatever they hold.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { ModelError } from './model.ts';

const maxAttempts = 3;
const initialBackoffMs = 500;
const retryableStatuses = new Set([429, 500, 502, 503, 504, 529]);

/** The wait that `Retry-After` requests, in seconds or as a date; undefined when absent or malformed. */
function retryAfterMs(response: Response, clock: Clock): number | undefined {
  const text = response.headers.get('retry-after');
  if (text === null) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - clock.now().getTime());
}

/** The response, whose body fails with a ModelError beyond `maxBytes`, counted after decompression. */
function limitBody({ body, status, statusText, headers }: Response, maxBytes: number): Response {
  let bytes = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > maxBytes)
        controller.error(
          new ModelError('limit-reached', `The model's provider sent more than ${maxBytes} bytes`),
        );
      else controller.enqueue(chunk);
    },
  });
  return new Response(body?.pipeThrough(limit) ?? null, { status, statusText, headers });
}

/**
 * Creates a fetch for one answer. `deadlineMs` is in the clock's monotonic time: if a wait would exceed it,
 * the error response is returned immediately. `maxBytes` limits each body. Rejects as fetch does, also when
 * its signal is aborted during a wait.
 */
export function createProviderFetch(clock: Clock, deadlineMs: number, maxBytes: number): typeof fetch {
  return async (input, init) => {
    for (let attempt = 1; ; attempt += 1) {
      const response = await fetch(input, { ...init, redirect: 'error' });
      if (!retryableStatuses.has(response.status) || attempt === maxAttempts)
        return limitBody(response, maxBytes);
      const waitMs = retryAfterMs(response, clock) ?? initialBackoffMs * 2 ** (attempt - 1);
      if (clock.monotonicMs() + waitMs >= deadlineMs) return limitBody(response, maxBytes);
      await response.body?.cancel();
      await sleep(waitMs, undefined, init?.signal ? { signal: init.signal } : {});
    }
  };
}
