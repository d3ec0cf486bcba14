import { defineConfig } from 'vitest/config';

/** The simulated account's own tests, without those of its profiles. */
export default defineConfig({
  test: {
    globalSetup: ['test/setup/global.ts'],
    setupFiles: ['test/setup/seed.ts'],
    include: ['packages/netsuite-simulator/test/*.test.ts'],
    // No test relies on these timeouts; they only end a test that hangs, also on a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    slowTestThreshold: 10_000,
    maxWorkers: 3,
    isolate: false,
    experimental: { viteModuleRunner: false },
    reporters: ['default', './test/setup/folder-reporter.ts'],
  },
});
