import { defineConfig } from 'vitest/config';

/**
 * Whether a run that says `succeeded` is right: served values next to a simulated account's own records,
 * under faults and edits.
 */
export default defineConfig({
  test: {
    globalSetup: ['test/setup/global.ts'],
    setupFiles: ['test/setup/seed.ts'],
    include: ['test/green/**/*.test.ts'],
    // No test relies on these timeouts; they only end a test that hangs, also on a busy machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    slowTestThreshold: 30_000,
    maxWorkers: 3,
    isolate: false,
    experimental: { viteModuleRunner: false },
    reporters: ['default', './test/setup/folder-reporter.ts'],
  },
});
