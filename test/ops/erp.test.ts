// `npm run erp` as a process of its own: where it says it is, what it keeps, and how it ends.
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../setup/until.ts';
import { type ServerProcess, startScript } from './server-process.ts';

type ErpFile = { accountId: string; netsuiteUrl: string; erpControl: { url: string; token: string } };
let folder: string;
const started: ServerProcess[] = [];
function startErp(...args: string[]): ServerProcess {
  const erp = startScript(['erp', ...args], folder, { HOME: folder });
  started.push(erp);
  return erp;
}
const end = async (erp: ServerProcess) => ({
  code: await erp.ended,
  output: Object.values(erp.output()).join(''),
});

const erpFile = () => path.join(folder, '.data/erp.json');
async function startServing(): Promise<ServerProcess & { file: ErpFile }> {
  await rm(erpFile(), { force: true });
  const erp = startErp('--port', '0', '--control-port', '0', '--account-id', '1234567_SB1');
  const read = () => readFile(erpFile(), 'utf8').catch(() => undefined);
  const ended = end(erp).then(({ output }) => Promise.reject(new Error(output)));
  const content = await until(() => Promise.race([read(), ended]));
  ended.catch(() => undefined);
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
  for (const erp of started) await erp.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('npm run erp', () => {
  it('serves the account and its control interface, keeps what was set up, and ends cleanly', async () => {
    const first = await startServing();
    expect((await stat(erpFile())).mode & 0o777).toBe(0o600);
    expect(first.file.accountId).toBe('1234567_SB1');
    expect((await fetch(`${first.file.netsuiteUrl}/services/rest/system/v1/serverTime`)).status).toBe(401);
    await setUp(first.file, 'POST', { name: 'Portal Service' });
    await first.kill();

    const second = await startServing();
    expect(second.file.erpControl.token).not.toBe(first.file.erpControl.token);
    expect((await setUp(second.file)).integrations).toMatchObject([{ name: 'Portal Service' }]);
    expect(await second.stop()).toBe(0);
    const { output } = await end(second);
    expect(output).toContain(`${second.file.erpControl.url}/set-up#token=${second.file.erpControl.token}`);
    await expect(stat(path.join(folder, '.data/erp/postgres-18/postmaster.pid'))).rejects.toThrow('ENOENT');
  });

  it('reports what prevents a start', async () => {
    const refused = [
      ['--colour', 'red', 'Usage: npm run erp'],
      ['--port', '70000', 'must be a port, not 70000'],
      ['--data', '/nonexistent', '/nonexistent'],
    ] as const;
    const ended = await Promise.all(refused.map(([option, value]) => end(startErp(option, value))));
    expect(ended).toEqual(
      refused.map(([, , words]) => ({ code: 1, output: expect.stringContaining(words) })),
    );
  });
});
