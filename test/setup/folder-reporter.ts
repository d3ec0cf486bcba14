// Closes a test run with its time per folder and one line of totals, which it also leaves for .ci/run to add up.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

export default class FolderReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const seconds = new Map<string, number>();
    let passed = 0;
    let failed = 0;
    for (const module of modules) {
      const folder = path.dirname(module.relativeModuleId);
      const { duration, setupDuration, collectDuration } = module.diagnostic();
      seconds.set(folder, (seconds.get(folder) ?? 0) + (duration + setupDuration + collectDuration) / 1000);
      for (const test of module.children.allTests()) {
        if (test.result().state === 'passed') passed += 1;
        else failed += 1;
      }
      if (module.errors().length > 0) failed += 1;
    }
    for (const [folder, spent] of [...seconds].sort((a, b) => b[1] - a[1])) console.log(`${spent.toFixed(1).padStart(7)} s  ${folder}`);
    console.log(`${passed} passed, ${failed} failed`);
    const file = process.env['TEST_TOTALS'];
    if (file !== undefined) {
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, `${passed} ${failed}\n`);
    }
  }
}
