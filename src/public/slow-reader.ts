// Whether a caller takes too little, over every stretch of the given length and not only over some: one that stops altogether is
// found that long after it did. Pure; whoever asks keeps the time.

export type PaceLimits = { readonly slowMs: number; readonly slowestBytesPerSecond: number };

export type Pace = {
  /** How often to look. */
  readonly lookEveryMs: number;
  /** Takes the bytes taken since the beginning; true when too few of them in the time that counts, never before that has passed. */
  isSlow(taken: number): boolean;
};

const looks = 12;

export function openPace({ slowMs, slowestBytesPerSecond }: PaceLimits): Pace {
  const least = (slowestBytesPerSecond * slowMs) / 1000;
  const seen = [0];
  return {
    lookEveryMs: slowMs / looks,
    isSlow(taken) {
      seen.push(taken);
      if (seen.length <= looks) return false;
      return taken - (seen.shift() ?? 0) < least;
    },
  };
}
