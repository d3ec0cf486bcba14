// What a person reads whose Node.js is too old: the minimum that is checked.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);

/** What `npm run admin` prints without arguments under this version, as far as a script can tell. */
async function printedBy(version: string): Promise<string> {
  const versions = `Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`;
  const imported = `data:text/javascript,${encodeURIComponent(versions)}`;
  const ended = run(process.execPath, ['--import', imported, path.resolve('scripts/run.mjs'), 'admin']);
  return ended.then(
    ({ stderr }) => stderr,
    (error: { stderr: string }) => error.stderr,
  );
}

it('scripts/run.mjs names the first version that it accepts to every older one', async () => {
  const needed = /^Node\.js (\d+)\.(\d+) or later is needed to run the service; this is 20\.19\.0\.$/m.exec(
    await printedBy('20.19.0'),
  );
  const [major, minor] = [Number(needed?.[1]), Number(needed?.[2])];
  expect(await printedBy(`${major}.${minor - 1}.9`)).toContain(`Node.js ${major}.${minor} or later`);
  expect(await printedBy(`${major - 1}.99.0`)).toContain('is needed to run the service');
  expect(await printedBy(`${major}.${minor}.0`)).not.toContain('is needed');
});
