// Ends a test run with the time per folder, the failures, and one line of totals. The failures and totals are
// also written to a file for .ci/run, which prints them last, because often only the end of a long output is
// kept.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { reasonNotRun } from './not-run.ts';

type Trouble = {
  readonly name?: string;
  readonly message: string;
  readonly diff?: string;
  readonly stack?: string;
};
/**
 * `where` is `file > suite > test`. A test that didn't run because its hooks failed has no troubles of its
 * own.
 */
type Failure = { readonly where: string; readonly troubles: readonly Trouble[] };

const [maxFailures, maxLines] = [20, 12];

/** Why a test was not run: what it needs isn't here, and it says so. */
function findReason(test: TestCase): string | undefined {
  const result = test.result();
  return result.state === 'skipped'
    ? (reasonNotRun(result.note ?? '') ?? reasonNotRun(test.fullName))
    : undefined;
}

/** One line for each file and reason. */
function describeNotRun(tests: readonly TestCase[]): string[] {
  const counts = Map.groupBy(
    tests.filter((test) => findReason(test) !== undefined),
    (test) => `${test.module.relativeModuleId}: ${findReason(test)}`,
  );
  return [...counts].map(([why, { length }]) => `NOT RUN  ${length} of ${why}`);
}

function failuresIn(module: TestModule): Failure[] {
  const file = module.relativeModuleId;
  const failures: Failure[] = [];
  if (module.errors().length > 0) failures.push({ where: file, troubles: module.errors() });
  for (const suite of module.children.allSuites())
    if (suite.errors().length > 0)
      failures.push({ where: `${file} > ${suite.fullName}`, troubles: suite.errors() });
  for (const test of module.children.allTests()) {
    const { state, errors } = test.result();
    if (state !== 'passed' && findReason(test) === undefined)
      failures.push({ where: `${file} > ${test.fullName}`, troubles: errors ?? [] });
  }
  return failures;
}

function formatTrouble({ name, message, diff = '', stack = '' }: Trouble): string[] {
  const place = stack
    .split('\n')
    .find((line) => /^\s*at .*\/(test|src)\//.test(line) && !line.includes('node_modules'));
  const text = `${name ?? 'Error'}: ${message}\n${diff}`.split('\n').filter((line) => line.trim() !== '');
  const lines = text.slice(0, place === undefined ? maxLines : maxLines - 1);
  return [...lines, ...(place === undefined ? [] : [place.trim()])].map(
    (line) => `      ${stripVTControlCharacters(line).slice(0, 300)}`,
  );
}

function describeFailures(failures: readonly Failure[]): string[] {
  // Causes come before the tests that didn't run because of them.
  const sorted = failures.toSorted(
    (a, b) => Number(a.troubles.length === 0) - Number(b.troubles.length === 0),
  );
  const lines = sorted.slice(0, maxFailures).flatMap(({ where, troubles: [first] }) => {
    return [`FAIL  ${where}`, ...(first === undefined ? ['      did not run'] : formatTrouble(first))];
  });
  return failures.length > maxFailures ? [...lines, `and ${failures.length - maxFailures} more`] : lines;
}

function secondsByFolder(modules: readonly TestModule[]): [string, number][] {
  const seconds = new Map<string, number>();
  for (const module of modules) {
    const folder = path.dirname(module.relativeModuleId);
    const { duration, setupDuration, collectDuration } = module.diagnostic();
    seconds.set(folder, (seconds.get(folder) ?? 0) + (duration + setupDuration + collectDuration) / 1000);
  }
  return [...seconds].sort((a, b) => b[1] - a[1]);
}

export default class FolderReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly Trouble[]): void {
    const failures = [
      ...unhandled.map((error) => ({ where: 'outside of any test', troubles: [error] })),
      ...modules.flatMap((module) => failuresIn(module)),
    ];
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const passed = tests.filter((test) => test.result().state === 'passed').length;
    for (const [folder, spent] of secondsByFolder(modules))
      console.log(`${spent.toFixed(1).padStart(7)} s  ${folder}`);
    const described = [...describeNotRun(tests), ...describeFailures(failures)];
    if (described.length > 0) console.log(`\n${described.join('\n')}\n`);
    console.log(`${passed} passed, ${failures.length} failed`);
    const file = process.env['TEST_TOTALS'];
    if (file === undefined) return;
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, [`${passed} ${failures.length}`, ...described, ''].join('\n'));
  }
}
