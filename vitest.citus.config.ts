import { defineConfig } from 'vitest/config';
import { SlowFirst } from './test/setup/slow-first.ts';

/**
 * What the service does, with its database on a Citus cluster, and what is different there: see
 * test/scale/citus/harness/cluster.ts.
 */
const folders = [
  'warehouse',
  'public',
  'story',
  'sync',
  'db',
  'platform',
  'admin',
  'mcp',
  'identity',
  'http',
  'operate',
];

export default defineConfig({
  test: {
    globalSetup: ['test/scale/citus/harness/global.ts'],
    setupFiles: ['test/setup/seed.ts'],
    include: [...folders.map((folder) => `test/${folder}/**/*.test.ts`), 'test/scale/citus/**/*.test.ts'],
    // What the commands of a cluster answer on one server.
    exclude: ['test/admin/placement.test.ts'],
    // No test relies on these timeouts; they only end a test that hangs, also on a busy machine.
    testTimeout: 600_000,
    hookTimeout: 300_000,
    slowTestThreshold: 30_000,
    maxWorkers: 2,
    isolate: false,
    experimental: { viteModuleRunner: false },
    sequence: { sequencer: SlowFirst },
    reporters: ['default', './test/setup/folder-reporter.ts'],
  },
});
