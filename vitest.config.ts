import { defineConfig } from 'vitest/config';
import { SlowFirst } from './test/setup/slow-first.ts';

export default defineConfig({
  test: {
    globalSetup: ['test/setup/global.ts'],
    setupFiles: ['test/setup/seed.ts'],
    include: ['test/**/*.test.ts'],
    exclude: [
      'test/access/**',
      'test/browser/**',
      'test/green/**',
      'test/ops/**',
      '**/test/profiles/**',
      'test/scale/**',
      '**/node_modules/**',
    ],
    // No test relies on these timeouts; they only end a test that hangs, also on a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    slowTestThreshold: 10_000,
    maxWorkers: 3,
    // Each file has its own database and shares nothing else. Loading the whole service for each file would
    // take an eighth of the time.
    isolate: false,
    // Node.js runs the sources as it does in production; nothing is mocked.
    experimental: { viteModuleRunner: false },
    sequence: { sequencer: SlowFirst },
    reporters: ['default', './test/setup/folder-reporter.ts'],
  },
});
