import { defineConfig } from 'vitest/config';

/** Server processes of their own, as an operator runs them: started, signalled, killed. */
export default defineConfig({
  test: {
    globalSetup: ['test/setup/global.ts'],
    include: ['test/ops/**/*.test.ts'],
    // No test relies on these timeouts; they only end a test that hangs, also on a busy machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
    reporters: ['default', './test/setup/folder-reporter.ts'],
  },
});
