// Log lines that a process wrote before it ended are not lost, however it ended.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const source = fileURLToPath(new URL('../../src/core/log.ts', import.meta.url));
const program = `
  const { createLog } = await import(${JSON.stringify(source)});
  const log = createLog('info');
  log.info({ password: 'hunter2' }, 'one');
  setImmediate(() => {
    log.info('two');
    log.info('x'.repeat(20_000));
    log.error('last words');
    process.exit(3);
  });`;

it('all lines are written, in order, also when the process exits at once', async () => {
  const ended = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]).catch(
    (error: unknown) => error,
  );
  const { code, stdout } = ended as { code: number; stdout: string };
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string; password?: string });
  expect(code).toBe(3);
  expect(lines.map(({ msg }) => msg.slice(0, 10))).toEqual(['one', 'two', 'xxxxxxxxxx', 'last words']);
  expect(lines[0]?.password).toBe('[redacted]');
});
