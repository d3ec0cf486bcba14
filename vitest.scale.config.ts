import { defineConfig } from 'vitest/config';

/** Several database servers, poolers and processes: failover, replicas, rolling upgrades. */
export default defineConfig({
  test: {
    globalSetup: ['test/setup/global.ts'],
    setupFiles: ['test/setup/seed.ts'],
    include: ['test/scale/**/*.test.ts'],
    // On Citus: vitest.citus.config.ts.
    exclude: ['test/scale/citus/**'],
    // No test relies on these timeouts; they only end a test that hangs, also on a busy machine.
    testTimeout: 600_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
    experimental: { viteModuleRunner: false },
    reporters: ['default', './test/setup/folder-reporter.ts'],
  },
});
