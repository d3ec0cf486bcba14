// The demo as a newcomer starts it: a process of its own, killed at every step of its first start, then used
// with the printed keys.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DemoFile } from '../../demo/keys.ts';
import { createManagementClient } from '../../demo/management-client.ts';
import { readList } from '../../demo/set-up.ts';
import { call } from '../mcp/fixture.ts';
import { choosePart } from '../setup/choose-part.ts';
import { signInMcpClient } from '../setup/mcp-client.ts';
import { type ServerProcess, startScript } from './server-process.ts';

const run = promisify(execFile);
let folder: string;
const started: ServerProcess[] = [];

function startDemo(environment: Record<string, string> = {}, args = ['--verbose']): ServerProcess {
  const demo = startScript(['demo', ...args], folder, { HOME: folder, PORT: '0', ...environment });
  started.push(demo);
  return demo;
}
const print = (demo: ServerProcess): string => Object.values(demo.output()).join('');

const SyncConfig = z.object({ recordType: z.string(), lastRun: z.object({ status: z.string() }).nullable() });
const readDemoFile = async (): Promise<DemoFile> =>
  DemoFile.parse(JSON.parse(await readFile(path.join(folder, '.data/demo.json'), 'utf8')));
const readRecords = async (demo: DemoFile, address: string) => {
  const response = await fetch(`${demo.baseUrl}/api/public/${demo.version}/${address}`, {
    headers: { authorization: `Bearer ${demo.apiKey}`, 'x-tenant-id': demo.tenantId },
  });
  return {
    status: response.status,
    etag: response.headers.get('etag'),
    body: (await response.json()) as { pagination: { total: number } },
  };
};

/** What the management key may still request in this minute, after this request. */
const readBudget = async ({ baseUrl, managementKey }: DemoFile) => {
  const response = await fetch(`${baseUrl}/api/platform/v1/whoami`, {
    headers: { authorization: `Bearer ${managementKey}` },
  });
  return response.headers.get('ratelimit');
};

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'portal-demo-'));
});
afterAll(async () => {
  // A demo that a failed test left running has a PostgreSQL in this folder, which it stops before it ends.
  for (const demo of started) await demo.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('npm run demo', () => {
  let running: ServerProcess;

  it('killed at any step it resumes there and serves v1; killed again it serves the same', {
    timeout: 400_000,
  }, async () => {
    const steps = [
      'Starting the simulated',
      'Starting the service',
      'Connecting',
      'Reading its metadata',
      'Syncing customers',
      'Syncing invoices',
      'Publishing',
    ];
    for (const step of choosePart(steps, 3)) {
      const killed = startDemo();
      await Promise.race([killed.seen(step), killed.seen('Try it')]);
      await killed.kill();
    }
    const first = startDemo();
    await first.seen('Stop with Ctrl-C');
    const demo = await readDemoFile();
    expect(await readBudget(demo)).toMatch(/^"60-in-1min"; r=59; /);
    const before = await readRecords(demo, 'invoices?pageSize=3');
    expect(before.status).toBe(200);
    expect(before.body.pagination.total).toBeGreaterThan(1_000);
    await first.kill();

    const second = startDemo();
    await second.seen('Stop with Ctrl-C');
    const again = await readDemoFile();
    const withoutAddresses = (file: DemoFile) => ({
      ...file,
      baseUrl: '',
      netsuiteUrl: '',
      identityProviderUrl: '',
      erpControl: {},
    });
    expect(withoutAddresses(again)).toEqual(withoutAddresses(demo));
    expect(await readRecords(again, 'invoices?pageSize=3')).toEqual(before);
    const { url = '', token = '' } = again.erpControl ?? {};
    expect(print(second)).toContain(`${url}/#token=${token}`);
    expect((await fetch(`${url}/state`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
    running = second;
  });

  it('prints commands that work, and where to sign in', async () => {
    const again = await readDemoFile();
    const lines = print(running).split('\n');
    const commands = lines.map((line) => line.trim()).filter((line) => line.startsWith('curl '));
    expect(commands).toHaveLength(7);
    for (const command of commands) {
      const { stdout } = await run('bash', ['-c', command.replace('curl ', 'curl -sS --fail-with-body ')]);
      const answer = JSON.parse(stdout) as { data?: unknown[]; user?: unknown };
      expect(answer.user ?? answer.data?.length).toBeTruthy();
    }
    const asAgent = JSON.parse((await run('bash', ['-c', commands.at(-1) ?? ''])).stdout);
    expect(asAgent).toMatchObject({ user: { email: 'owner@demo.example' }, credential: { kind: 'oauth' } });
    expect(asAgent.permissions).not.toContain('api-key:create');
    const asking = /^ +CONVERSATION=[\s\S]*?"}'$/m.exec(print(running))?.[0] ?? '';
    const printed = (await run('bash', ['-c', asking])).stdout;
    expect(printed).toMatch(/event: message\ndata: .*"status":"complete"/);
    const signInPage = await fetch(`${again.baseUrl}/auth/login`, { redirect: 'manual' });
    expect([signInPage.status, new URL(signInPage.headers.get('location') ?? '').origin]).toEqual([
      302,
      again.identityProviderUrl,
    ]);
    expect(print(running)).toContain(`The console is at ${again.baseUrl}   (its first page signs you in)`);
    expect(await (await fetch(`${again.baseUrl}/`)).text()).toContain('action="/auth/demo"');
    const oneClick = { method: 'POST', headers: { origin: again.baseUrl }, redirect: 'manual' } as const;
    const signedIn = await fetch(`${again.baseUrl}/auth/demo`, oneClick);
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, '/console']);
    expect((await fetch(`${again.baseUrl}/console`)).status).toBe(200);
    const { client } = await signInMcpClient(`${again.baseUrl}/mcp`, 'demo-owner');
    const { version } = again;
    const { value } = await call(client, 'query', { version, resource: 'invoices', pageSize: 1 });
    expect(value).toMatchObject({ data: [expect.any(Object)] });
    await client.close();
  });

  it('protects its keys and reports what prevents another start, and ends cleanly', async () => {
    for (const file of ['demo.json', 'identity-provider.json'])
      expect((await stat(path.join(folder, '.data', file))).mode & 0o777).toBe(0o600);
    const { baseUrl } = await readDemoFile();
    for (const port of [new URL(baseUrl).port, '0']) {
      const second = startDemo({ PORT: port });
      expect(await second.ended).toBe(1);
      expect(print(second)).toContain(`The demo is already running at ${baseUrl}`);
      expect(print(second)).not.toContain('could not start');
    }
    expect((await fetch(`${baseUrl}/api/platform/v1/health`)).status).toBeLessThan(500);
    const production = startDemo({
      NODE_ENV: 'production',
      DATABASE_URL: 'postgres://127.0.0.1/x',
      ENCRYPTION_KEY: `k:${randomBytes(32).toString('base64')}`,
      PUBLIC_URL: 'https://portal.example',
    });
    expect(await production.ended).toBe(1);
    expect(print(production)).toContain('not for production');
    const badData = startDemo({ DEMO_DATA: '/nonexistent', DATA_DIR: path.join(folder, 'other') });
    expect(await badData.ended).toBe(1);
    expect(print(badData)).toContain('/nonexistent');
    expect(await running.stop()).toBe(0);
  });

  it('with DEMO_RECORD_TYPES=all it syncs every record type, also when it was killed meanwhile, and publishes the same', async () => {
    const data = path.join(folder, 'slice');
    const slicer = path.resolve('demo/make-data-slice.mjs');
    await run(process.execPath, [slicer, path.resolve('demo/data'), data, '40']);
    const all = { DATA_DIR: path.join(folder, 'all'), DEMO_DATA: data, DEMO_RECORD_TYPES: 'all' };
    const killed = startDemo(all);
    await killed.seen('Syncing every record type');
    await killed.kill();
    const demo = startDemo(all, []);
    await demo.seen('The console is at');
    // Lines of progress appear only in steps that take longer than ten seconds.
    const lines = print(demo).trim().split('\n');
    expect(lines.filter((line) => !/ of \d+/.test(line)).length).toBeLessThanOrEqual(10);
    const file = DemoFile.parse(JSON.parse(await readFile(path.join(all.DATA_DIR, 'demo.json'), 'utf8')));
    expect(lines.at(-1)).toContain(`The console is at ${file.baseUrl}`);
    expect(file.resources).toEqual(['invoices', 'customers', 'items', 'credit-memos']);
    expect(await readBudget(file)).toMatch(/^"60-in-1min"; r=59; /);
    const client = createManagementClient(file.baseUrl, file.managementKey);
    const configs = await readList(client, '/sync-configs', SyncConfig);
    const types = configs.map(({ recordType }) => recordType);
    for (const type of 'purchaseOrder journalEntry account customrecord_warranty customlist_colour'.split(
      ' ',
    ))
      expect(types).toContain(type);
    expect(types).toContain('transactionaccountingline');
    expect(new Set(types).size).toBe(types.length);
    expect(configs.filter(({ lastRun }) => lastRun?.status === 'failed' || lastRun === null)).toEqual([]);
    expect(await demo.stop()).toBe(0);
  });

  it('started twice at once, one of them says that another process is starting it', async () => {
    const DATA_DIR = path.join(folder, 'twice');
    const both = [startDemo({ DATA_DIR }), startDemo({ DATA_DIR })];
    const refused = await Promise.race(both.map(async (demo) => ({ demo, status: await demo.ended })));
    expect(refused.status).toBe(1);
    expect(print(refused.demo)).toContain(`Another process is starting the demo in ${DATA_DIR}`);
    const [other] = both.filter((demo) => demo !== refused.demo);
    other?.child.kill('SIGINT');
    expect(await other?.ended).toBe(0);
  });

  it('stopped during its start it leaves no process running', async () => {
    for (const step of choosePart(['Starting the simulated', 'Connecting', 'Syncing invoices'], 3)) {
      const stopped = startDemo({ DATA_DIR: path.join(folder, 'stopped') });
      // Steps that an earlier process completed before its signal aren't repeated.
      await Promise.race([stopped.seen(step), stopped.seen('Try it')]);
      stopped.child.kill('SIGINT');
      expect(await stopped.ended).toBe(0);
      await expect(stat(path.join(folder, 'stopped/postgres-18/postmaster.pid'))).rejects.toThrow('ENOENT');
    }
  });
});
