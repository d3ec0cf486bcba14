import { defineConfig } from 'vitest/config';

/**
 * Without ERP_PROFILE what the profiles of the simulated account promise; with it, the service against an
 * account of that profile.
 */
const include = process.env['ERP_PROFILE']
  ? ['test/connectors/netsuite/**/*.test.ts', 'test/ops/chaos.test.ts', 'test/profiles/**/*.test.ts']
  : ['packages/netsuite-simulator/test/profiles/**/*.test.ts'];

export default defineConfig({
  test: {
    globalSetup: ['test/setup/global.ts'],
    setupFiles: ['test/setup/seed.ts'],
    include,
    // No test relies on these timeouts; they only end a test that hangs, also on a busy machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    slowTestThreshold: 30_000,
    maxWorkers: 2,
    isolate: false,
    experimental: { viteModuleRunner: false },
    reporters: ['default', './test/setup/folder-reporter.ts'],
  },
});
