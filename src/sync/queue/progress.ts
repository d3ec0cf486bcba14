// How far a run is, and how long the rest of its phase takes at the pace of this attempt. It is stored with
// each checkpoint, and a run that takes longer logs a line in words at most every ten seconds.
import type { Ctx } from '../../core/ctx.ts';

export type RunProgress = {
  readonly phase: 'reading' | 'proving' | 'publishing';
  /** Records that the run has read. */
  readonly fetched: number;
  /** Records that the phase has read or compared so far; `fetched` where the ERP counts nothing. */
  readonly done: number;
  /** Records that the ERP counted for the phase, at least `done`. */
  readonly expected: number | null;
  readonly pages: number;
  readonly percent: number | null;
  /** Null until the attempt has a pace, and where it is over or unknown how much is left. */
  readonly estimatedSecondsLeft: number | null;
};
type Measured = Omit<RunProgress, 'fetched' | 'pages'>;

export type ProgressMeter = {
  /** To be called when a phase begins and whenever it got further. Logs a line when one is due. */
  measure(phase: RunProgress['phase'], done: number, counted: number | null): Measured;
};

/** How much was done at a moment. */
type Mark = { readonly phase: string; readonly done: number; readonly atMs: number };

const logIntervalMs = 10_000;

const computePercent = (done: number, expected: number): number =>
  expected === 0 ? 100 : Math.floor((done / expected) * 100);

const inWords = (seconds: number): string => {
  const [count, unit] =
    seconds < 100
      ? [seconds, 'second']
      : seconds < 6_000
        ? [Math.round(seconds / 60), 'minute']
        : [Math.round(seconds / 3_600), 'hour'];
  return `about ${count} ${unit}${count === 1 ? '' : 's'}`;
};

/** Such as "20 of 100 records read (20 %), about 48 seconds left". */
function describe({ phase, done, expected, percent, estimatedSecondsLeft: left }: Measured): string {
  if (expected === null) return `${done} records read`;
  return `${done} of ${expected} records ${phase === 'proving' ? 'compared' : 'read'} (${percent} %)${left === null ? '' : `, ${inWords(left)} left`}`;
}

/** For one attempt of a run. */
export function createProgressMeter(
  { clock, log }: Pick<Ctx, 'clock' | 'log'>,
  recordType: string,
): ProgressMeter {
  let start: Mark | null = null;
  let last: Mark | null = null;
  let loggedAtMs = clock.monotonicMs();
  const secondsLeft = (phase: string, done: number, expected: number | null): number | null => {
    const now: Mark = { phase, done, atMs: clock.monotonicMs() };
    const isFurther = last?.phase === phase && done >= last.done;
    if (expected === null) start = null;
    // What was just done began with the call before: nothing was counted then, or the phase has begun again.
    else if (start === null || !isFurther)
      start = last?.phase === phase ? { ...last, done: isFurther ? last.done : 0 } : now;
    last = now;
    if (expected === null || start === null || done <= start.done || done >= expected) return null;
    return Math.ceil(((now.atMs - start.atMs) / 1_000 / (done - start.done)) * (expected - done));
  };
  return {
    measure(phase, done, counted) {
      const expected = counted === null ? null : Math.max(counted, done);
      const percent = expected === null ? null : computePercent(done, expected);
      const measured = {
        phase,
        done,
        expected,
        percent,
        estimatedSecondsLeft: secondsLeft(phase, done, expected),
      };
      if (phase !== 'publishing' && clock.monotonicMs() - loggedAtMs >= logIntervalMs) {
        loggedAtMs = clock.monotonicMs();
        log.info({ step: 'progress', ...measured }, `${recordType}: ${describe(measured)}`);
      }
      return measured;
    },
  };
}
