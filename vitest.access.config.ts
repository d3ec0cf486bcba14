import { defineConfig } from 'vitest/config';

/**
 * What a limited reader is answered, next to the filtered answer of an unlimited one, at every door; and
 * doors without their scope.
 */
export default defineConfig({
  test: {
    globalSetup: ['test/setup/global.ts'],
    setupFiles: ['test/setup/seed.ts'],
    include: ['test/access/**/*.test.ts'],
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
