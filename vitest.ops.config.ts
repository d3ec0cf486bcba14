import { defineConfig } from 'vitest/config';

/** Server processes of their own, as an operator runs them: started, signalled, killed. */
export default defineConfig({
  test: {
    globalSetup: ['test/setup/global.ts'],
    include: ['test/ops/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    reporters: ['default', './test/setup/folder-reporter.ts'],
  },
});
