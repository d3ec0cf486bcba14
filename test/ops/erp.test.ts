// `npm run erp` as a process of its own: where it says it is, what it keeps, and how it ends.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../setup/until.ts';

type ErpFile = { accountId: string; netsuiteUrl: string; erpControl: { url: string; token: string } };
const script = path.resolve('scripts/run.mjs');
let folder: string;
const alive = new Map<ChildProcess, Promise<Ended>>();
type Ended = { code: number | null; output: string };

function startErp(...args: string[]): { process: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [script, 'erp', ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
  const ended = Promise.all([exit, text(child.stdout), text(child.stderr)]).then(([code, out, err]) => ({
    code,
    output: out + err,
  }));
  alive.set(child, ended);
  return { process: child, ended };
}

const erpFile = () => path.join(folder, '.data/erp.json');
async function startServing(): Promise<{ process: ChildProcess; ended: Promise<Ended>; file: ErpFile }> {
  await rm(erpFile(), { force: true });
  const erp = startErp('--port', '0', '--control-port', '0', '--account-id', '1234567_SB1');
  const read = () => readFile(erpFile(), 'utf8').catch(() => undefined);
  const content = await until(() =>
    Promise.race([read(), erp.ended.then(({ output }) => Promise.reject(new Error(output)))]),
  );
  return { ...erp, file: JSON.parse(content) as ErpFile };
}
const setUp = async (
  { erpControl: { url, token } }: ErpFile,
  method = 'GET',
  body?: object,
): Promise<{ integrations: unknown[] }> => {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/set-up/integrations`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  return (await response.json()) as { integrations: unknown[] };
};

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'portal-erp-'));
});
afterAll(async () => {
  for (const [child, ended] of alive) {
    child.kill('SIGTERM');
    await ended;
  }
  await rm(folder, { recursive: true, force: true });
});

describe('npm run erp', () => {
  it('serves the account and its control interface, keeps what was set up, and ends cleanly', async () => {
    const first = await startServing();
    expect((await stat(erpFile())).mode & 0o777).toBe(0o600);
    expect(first.file.accountId).toBe('1234567_SB1');
    expect((await fetch(`${first.file.netsuiteUrl}/services/rest/system/v1/serverTime`)).status).toBe(401);
    await setUp(first.file, 'POST', { name: 'Portal Service' });
    first.process.kill('SIGKILL');
    await first.ended;

    const second = await startServing();
    expect(second.file.erpControl.token).not.toBe(first.file.erpControl.token);
    expect((await setUp(second.file)).integrations).toMatchObject([{ name: 'Portal Service' }]);
    second.process.kill('SIGTERM');
    const { code, output } = await second.ended;
    expect(code).toBe(0);
    expect(output).toContain(`${second.file.erpControl.url}/set-up#token=${second.file.erpControl.token}`);
    await expect(stat(path.join(folder, '.data/erp/postgres-18/postmaster.pid'))).rejects.toThrow('ENOENT');
  });

  it('reports what prevents a start', async () => {
    expect(await startErp('--colour', 'red').ended).toMatchObject({
      code: 1,
      output: expect.stringContaining('Usage: npm run erp'),
    });
    expect(await startErp('--port', '70000').ended).toMatchObject({
      code: 1,
      output: expect.stringContaining('must be a port, not 70000'),
    });
    expect(await startErp('--data', '/nonexistent').ended).toMatchObject({
      code: 1,
      output: expect.stringContaining('/nonexistent'),
    });
  });
});
