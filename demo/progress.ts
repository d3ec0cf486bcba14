// Shows the progress of the demo's start: on a terminal one line that is redrawn, elsewhere a line every ten
// seconds within a step. With `verbose` each step has a line that stays.

export type ProgressDisplay = {
  /** Ends the previous step and starts this one. */
  startStep(text: string): void;
  /** Progress within the step; `secondsLeft` is null while unknown. */
  showPart(done: number, total: number, secondsLeft?: number | null): void;
  /** Ends the last step. */
  end(): void;
};

const width = 24;
const lineIntervalMs = 10_000;

export function createProgressDisplay(out: NodeJS.WriteStream, verbose = false): ProgressDisplay {
  let current = '';
  let startedMs = 0;
  let shownMs = 0;
  const finish = () => {
    if (current === '') return;
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    if (out.isTTY) out.write(`\r\x1b[K${verbose ? `✓ ${current} (${seconds} s)\n` : ''}`);
    current = '';
  };
  return {
    startStep: (text) => {
      finish();
      current = text;
      startedMs = performance.now();
      shownMs = startedMs;
      if (out.isTTY || verbose) out.write(out.isTTY ? `… ${text}` : `${text}\n`);
    },
    showPart: (done, total, secondsLeft = null) => {
      if (total <= 0) return;
      const left = secondsLeft === null ? '' : `, about ${secondsLeft} s left`;
      if (out.isTTY) {
        const filled = Math.round((Math.min(done, total) / total) * width);
        out.write(
          `\r\x1b[K… ${current} [${'#'.repeat(filled)}${'.'.repeat(width - filled)}] ${done}/${total}${left}`,
        );
      } else if (performance.now() - shownMs >= lineIntervalMs) {
        shownMs = performance.now();
        out.write(`${verbose ? ' ' : current} ${done} of ${total}${left}\n`);
      }
    },
    end: finish,
  };
}
