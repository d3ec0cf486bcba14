// `npm run test:profiles`: what the profiles of the simulated account promise; then, on an account of each
// profile, the connector's tests, the slice of the simulation of syncs, the tests of any record type and of
// the trial balance in this folder, and the demo's last ten days replayed. `-- oneworld` leaves the other
// profile out.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PROFILES, parseProfile } from 'netsuite-simulator';

const root = path.join(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'portal-profiles-'));
const wanted = process.argv.slice(2).map((name) => parseProfile(name) ?? 'single');
const profiles = PROFILES.filter((name) => wanted.length === 0 || wanted.includes(name));

type Outcome = { readonly passed: number; readonly failed: number; readonly lines: readonly string[] };

/** Far more than a part takes on a busy machine: ends what hangs. */
const maxPartMs = 20 * 60_000;

/** Whether the program ended with code 0. */
const run = (
  script: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): boolean =>
  spawnSync(process.execPath, [path.join(root, script), ...args], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: 'inherit',
    timeout: maxPartMs,
  }).status === 0;

/** `profile` is empty for the account's own tests. */
function runTests(profile: string): Outcome {
  const totals = path.join(folder, `totals-${profile}`);
  const name = `the tests${profile === '' ? ' of the profiles' : ` on the profile ${profile}`}`;
  const isSound = run('node_modules/vitest/vitest.mjs', ['run', '--config', 'vitest.profiles.config.ts'], {
    ERP_PROFILE: profile,
    TEST_TOTALS: totals,
  });
  if (!existsSync(totals)) return { passed: 0, failed: 1, lines: [`FAIL  ${name} did not run`] };
  const [counts = '', ...lines] = readFileSync(totals, 'utf8').trimEnd().split('\n');
  const [passed = 0, failed = 0] = counts.split(' ').map(Number);
  return isSound || failed > 0
    ? { passed, failed, lines }
    : { passed, failed: 1, lines: [...lines, `FAIL  ${name} ended with an error`] };
}

function replay(profile: string): Outcome {
  const isEqual = run('bench/replay-days.ts', ['demo/data', '10', '--check-every', '5'], {
    ERP_PROFILE: profile,
  });
  return isEqual
    ? { passed: 1, failed: 0, lines: [] }
    : { passed: 0, failed: 1, lines: [`FAIL  the demo's days on the profile ${profile}`] };
}

const outcomes = [runTests(''), ...profiles.flatMap((profile) => [runTests(profile), replay(profile)])];
rmSync(folder, { recursive: true, force: true });
const sum = (count: 'passed' | 'failed'): number =>
  outcomes.reduce((total, outcome) => total + outcome[count], 0);
const lines = outcomes.flatMap((outcome) => outcome.lines);
console.log(['', ...lines, `${sum('passed')} passed, ${sum('failed')} failed`].join('\n'));
const file = process.env['TEST_TOTALS'];
if (file !== undefined) writeFileSync(file, [`${sum('passed')} ${sum('failed')}`, ...lines, ''].join('\n'));
process.exitCode = sum('failed') === 0 ? 0 : 1;
