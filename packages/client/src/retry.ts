// Decides what is tried again, and when.

/** A failure that may pass. `cause` is what callers see when it doesn't. */
export class PassingFailure extends Error {
  /** What the service asked for. */
  readonly afterMs: number | undefined;
  constructor(cause: unknown, afterMs?: number) {
    super('', { cause });
    this.afterMs = afterMs;
  }
}

const firstDelayMs = 250;
const maxBackoffMs = 8_000;
const defaultMaxDelayMs = 60_000;

/** 429, and what a service or a proxy before it answers while it is overloaded or restarts. */
export const isPassingStatus = (status: number): boolean => [429, 502, 503, 504].includes(status);

export function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

const wait = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    signal?.addEventListener('abort', end, { once: true });
  });

export type BackOffOptions = {
  readonly maxRetries: number;
  readonly signal: AbortSignal | undefined;
  /** The longest `Retry-After` that is waited for. Default: a minute. */
  readonly maxDelayMs?: number;
  readonly onWait?: (ms: number, error: unknown) => void;
};

/**
 * Waits after failure `count` (from 1), with jitter. Rejects with the error itself when it can't pass, has
 * come too often or asks for more than `maxDelayMs`, and with the signal's reason.
 */
export async function backOff(
  error: unknown,
  count: number,
  { maxRetries, signal, maxDelayMs = defaultMaxDelayMs, onWait }: BackOffOptions,
): Promise<void> {
  if (!(error instanceof PassingFailure)) throw error;
  const slotMs = Math.min(maxBackoffMs, firstDelayMs * 2 ** (count - 1));
  const { afterMs = 0 } = error;
  if (count > maxRetries || afterMs > maxDelayMs) throw error.cause;
  const ms = Math.max(afterMs, slotMs / 2) + (Math.random() * slotMs) / 2;
  onWait?.(ms, error.cause);
  await wait(ms, signal);
}
