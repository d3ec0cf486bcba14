// Suites that need something that isn't everywhere.
import { describe } from 'vitest';
import { notRun } from './not-run.ts';

/** A suite that is not run for this reason, if there is one. */
export function describeIf(name: string, reason: string | undefined, suite: () => void): void {
  if (reason === undefined) describe(name, suite);
  else describe.skip(`${name} (${notRun(reason)})`, suite);
}
