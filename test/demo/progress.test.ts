// What the demo's start shows on a terminal while it syncs.
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createProgressDisplay } from '../../demo/progress.ts';

function open(isTTY: boolean, verbose = false) {
  const written: string[] = [];
  const out = new Writable({
    write: (text, _, done) => {
      written.push(String(text));
      done();
    },
  });
  return {
    written,
    display: createProgressDisplay(Object.assign(out, { isTTY }) as unknown as NodeJS.WriteStream, verbose),
  };
}

describe('the progress display', () => {
  it('has a bar with the total and the time left on a terminal', () => {
    const { written, display } = open(true);
    display.startStep('Syncing invoices');
    display.showPart(0, 1_000, null);
    display.showPart(250, 1_000, 48);
    expect(written.slice(1)).toEqual([
      `\r\x1b[K… Syncing invoices [${'.'.repeat(24)}] 0/1000`,
      `\r\x1b[K… Syncing invoices [${'#'.repeat(6)}${'.'.repeat(18)}] 250/1000, about 48 s left`,
    ]);
  });

  it.each([
    [true, false, '\r\x1b[K'],
    [false, false, ''],
    [false, true, 'Syncing invoices\n'],
  ])('leaves after a short step, on a terminal: %j, with --verbose: %j', (isTTY, verbose, left) => {
    const { written, display } = open(isTTY, verbose);
    display.startStep('Syncing invoices');
    display.showPart(250, 1_000, 48);
    display.end();
    expect(written.join('').split('48 s left').at(-1)).toBe(left);
  });
});
