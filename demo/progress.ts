// Shows the progress of the demo's start: one bar that is redrawn on a terminal, plain lines elsewhere.

export type ProgressDisplay = {
  /** Ends the previous step and starts this one. */
  startStep(text: string): void;
  /** Progress within the step; drawn only on a terminal. */
  showPart(done: number, total: number): void;
  /** Ends the last step. */
  end(): void;
};

const width = 24;

export function createProgressDisplay(out: NodeJS.WriteStream): ProgressDisplay {
  let current = '';
  let startedMs = 0;
  const finish = () => {
    if (current === '') return;
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    out.write(out.isTTY ? `\r\x1b[K✓ ${current} (${seconds} s)\n` : '');
    current = '';
  };
  return {
    startStep: (text) => {
      finish();
      current = text;
      startedMs = performance.now();
      out.write(out.isTTY ? `… ${text}` : `${text}\n`);
    },
    showPart: (done, total) => {
      if (!out.isTTY || total <= 0) return;
      const filled = Math.round((Math.min(done, total) / total) * width);
      out.write(`\r\x1b[K… ${current} [${'#'.repeat(filled)}${'.'.repeat(width - filled)}] ${done}/${total}`);
    },
    end: finish,
  };
}
