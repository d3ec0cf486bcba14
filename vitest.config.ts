import { defineConfig } from 'vitest/config';
import { SlowFirst } from './test/setup/slow-first.ts';

export default defineConfig({
  test: {
    globalSetup: ['test/setup/global.ts'],
    setupFiles: ['test/setup/seed.ts'],
    include: ['test/**/*.test.ts'],
    exclude: ['test/browser/**', 'test/ops/**', '**/node_modules/**'],
    // No test waits for these; they end what hangs, on a machine however busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    slowTestThreshold: 10_000,
    maxWorkers: 3,
    // Each file has a database of its own and shares nothing else; to load the whole service anew for each took a fifth of the time.
    isolate: false,
    sequence: { sequencer: SlowFirst },
    reporters: ['default', './test/setup/folder-reporter.ts'],
  },
});
