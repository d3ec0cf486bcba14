// The demo's days, entered one by one with a run of each sync after each: `npm run bench -- replay` compares
// all that is served with the account's own records. REPLAY_DAYS=all replays them from the first one.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('end with every field as the ERP has it, and full runs change nothing', {
  timeout: 3_600_000,
}, async () => {
  const days = process.env['REPLAY_DAYS'] ?? '10';
  const args = ['scripts/run.mjs', 'bench', 'replay', 'demo/data', days, '--check-every', '5'];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toMatch(/^equal after /m);
});
