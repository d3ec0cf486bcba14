// Closes a test run with its time per folder, what failed, and one line of totals. The last two it also leaves for .ci/run, whose
// own last words they are: of a long output often only the end is kept.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, TestModule } from 'vitest/node';

type Trouble = { readonly name?: string; readonly message: string; readonly diff?: string; readonly stack?: string };
/** `where` is `file > suite > test`. A test that didn't run, because what prepares it failed, has no troubles of its own. */
type Failure = { readonly where: string; readonly troubles: readonly Trouble[] };

const [mostFailures, mostLines] = [20, 12];

function failuresIn(module: TestModule): Failure[] {
  const file = module.relativeModuleId;
  const failures: Failure[] = [];
  if (module.errors().length > 0) failures.push({ where: file, troubles: module.errors() });
  for (const suite of module.children.allSuites())
    if (suite.errors().length > 0) failures.push({ where: `${file} > ${suite.fullName}`, troubles: suite.errors() });
  for (const test of module.children.allTests()) {
    const { state, errors } = test.result();
    if (state !== 'passed') failures.push({ where: `${file} > ${test.fullName}`, troubles: errors ?? [] });
  }
  return failures;
}

function linesOf({ name, message, diff = '', stack = '' }: Trouble): string[] {
  const place = stack.split('\n').find((line) => /^\s*at .*\/(test|src)\//.test(line) && !line.includes('node_modules'));
  const words = `${name ?? 'Error'}: ${message}\n${diff}`.split('\n').filter((line) => line.trim() !== '');
  const lines = words.slice(0, place === undefined ? mostLines : mostLines - 1);
  return [...lines, ...(place === undefined ? [] : [place.trim()])].map((line) => `      ${stripVTControlCharacters(line).slice(0, 300)}`);
}

function describeFailures(failures: readonly Failure[]): string[] {
  // What says why comes before the tests that only didn't run for it.
  const told = failures.toSorted((a, b) => Number(a.troubles.length === 0) - Number(b.troubles.length === 0));
  const lines = told.slice(0, mostFailures).flatMap(({ where, troubles: [first] }) => {
    return [`FAIL  ${where}`, ...(first === undefined ? ['      did not run'] : linesOf(first))];
  });
  return failures.length > mostFailures ? [...lines, `and ${failures.length - mostFailures} more`] : lines;
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
    for (const [folder, spent] of secondsByFolder(modules)) console.log(`${spent.toFixed(1).padStart(7)} s  ${folder}`);
    const told = describeFailures(failures);
    if (told.length > 0) console.log(`\n${told.join('\n')}\n`);
    console.log(`${passed} passed, ${failures.length} failed`);
    const file = process.env['TEST_TOTALS'];
    if (file === undefined) return;
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, [`${passed} ${failures.length}`, ...told, ''].join('\n'));
  }
}
