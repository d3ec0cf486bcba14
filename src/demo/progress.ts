// Shows a newcomer what is going on: one bar that is drawn over on a terminal, plain lines elsewhere.

export type Progress = {
  /** A step begins. */
  step(text: string): void;
  /** How far the step is; drawn only on a terminal. */
  part(done: number, total: number): void;
  /** The last step is done. */
  end(): void;
};

const width = 24;

export function showProgress(out: NodeJS.WriteStream): Progress {
  let current = '';
  let startedMs = 0;
  const finish = () => {
    if (current === '') return;
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    out.write(out.isTTY ? `\r\x1b[K✓ ${current} (${seconds} s)\n` : '');
    current = '';
  };
  return {
    step: (text) => {
      finish();
      current = text;
      startedMs = performance.now();
      out.write(out.isTTY ? `… ${text}` : `${text}\n`);
    },
    part: (done, total) => {
      if (!out.isTTY || total <= 0) return;
      const filled = Math.round((Math.min(done, total) / total) * width);
      out.write(`\r\x1b[K… ${current} [${'#'.repeat(filled)}${'.'.repeat(width - filled)}] ${done}/${total}`);
    },
    end: finish,
  };
}
