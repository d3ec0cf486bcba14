// What a process wrote to its log before it ended is there, however it ended.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const source = fileURLToPath(new URL('../../src/core/log.ts', import.meta.url));
const program = `
  const { openLog } = await import(${JSON.stringify(source)});
  const log = openLog('info');
  log.info({ password: 'hunter2' }, 'one');
  setImmediate(() => {
    log.info('two');
    log.info('x'.repeat(20_000));
    log.error('last words');
    process.exit(3);
  });`;

it('every line comes out, in order, also when the process ends at once', async () => {
  const ended = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]).catch((error: unknown) => error);
  const { code, stdout } = ended as { code: number; stdout: string };
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string; password?: string });
  expect(code).toBe(3);
  expect(lines.map(({ msg }) => msg.slice(0, 10))).toEqual(['one', 'two', 'xxxxxxxxxx', 'last words']);
  expect(lines[0]?.password).toBe('[redacted]');
});
