// Detects a client that reads too slowly, over every window of the given length: one that stops altogether is
// found one window later. Pure; the caller keeps the time.

export type SlowReaderLimits = { readonly maxSlowMs: number; readonly minBytesPerSecond: number };

export type SlowReaderCheck = {
  /** Interval between two calls of `isSlow`. */
  readonly checkEveryMs: number;
  /**
   * Call once per `checkEveryMs` with the total bytes taken so far. True when fewer than the minimum were
   * taken within the last window; never before the first window has passed.
   */
  isSlow(taken: number): boolean;
};

const checksPerWindow = 12;

export function createSlowReaderCheck({ maxSlowMs, minBytesPerSecond }: SlowReaderLimits): SlowReaderCheck {
  const minBytes = (minBytesPerSecond * maxSlowMs) / 1000;
  const history = [0];
  return {
    checkEveryMs: maxSlowMs / checksPerWindow,
    isSlow(taken) {
      history.push(taken);
      if (history.length <= checksPerWindow) return false;
      return taken - (history.shift() ?? 0) < minBytes;
    },
  };
}
