// The demo as a newcomer starts it: a process of its own, killed at every step of its first start, then used
// with the printed keys.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
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

const run = promisify(execFile);
const script = path.resolve('scripts/run.mjs');
let folder: string;
const alive = new Map<ChildProcess, Promise<unknown>>();

type Demo = {
  readonly process: ChildProcess;
  readonly output: () => string;
  seen(text: string): Promise<void>;
  ended(): Promise<number | null>;
};

function startDemo(environment: Record<string, string> = {}): Demo {
  const child = spawn(process.execPath, [script, 'demo'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  const watchers = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      for (const look of watchers) look();
    });
  }
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve)).finally(() =>
    alive.delete(child),
  );
  alive.set(child, exit);
  const seen = (wanted: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!text.includes(wanted)) return;
        watchers.delete(look);
        resolve();
      };
      watchers.add(look);
      look();
      exit.then(() => reject(new Error(`the demo ended without saying "${wanted}":\n${text}`)));
    });
  return { process: child, output: () => text, seen, ended: () => exit };
}

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
  for (const [child, exit] of alive) {
    child.kill('SIGTERM');
    await exit;
  }
  await rm(folder, { recursive: true, force: true });
});

describe('npm run demo', () => {
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
      killed.process.kill('SIGKILL');
      await killed.ended();
    }
    const first = startDemo();
    await first.seen('Stop with Ctrl-C');
    const demo = await readDemoFile();
    expect(await readBudget(demo)).toMatch(/^"60-in-1min"; r=59; /);
    const before = await readRecords(demo, 'invoices?pageSize=3');
    expect(before.status).toBe(200);
    expect(before.body.pagination.total).toBeGreaterThan(1_000);
    first.process.kill('SIGKILL');
    await first.ended();

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
    expect(second.output()).toContain(`${url}/#token=${token}`);
    expect((await fetch(`${url}/state`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);

    const commands = second
      .output()
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line.startsWith('curl '));
    expect(commands).toHaveLength(7);
    for (const command of commands) {
      const { stdout } = await run('bash', ['-c', command.replace('curl ', 'curl -sS --fail-with-body ')]);
      const answer = JSON.parse(stdout) as { data?: unknown[]; user?: unknown };
      expect(answer.user ?? answer.data?.length).toBeTruthy();
    }
    const asAgent = JSON.parse((await run('bash', ['-c', commands.at(-1) ?? ''])).stdout);
    expect(asAgent).toMatchObject({ user: { email: 'owner@demo.example' }, credential: { kind: 'oauth' } });
    expect(asAgent.permissions).not.toContain('api-key:create');
    const asking = /^ +CONVERSATION=[\s\S]*?"}'$/m.exec(second.output())?.[0] ?? '';
    const printed = (await run('bash', ['-c', asking])).stdout;
    expect(printed).toMatch(/event: message\ndata: .*"status":"complete"/);
    const signInPage = await fetch(`${again.baseUrl}/auth/login`, { redirect: 'manual' });
    expect([signInPage.status, new URL(signInPage.headers.get('location') ?? '').origin]).toEqual([
      302,
      again.identityProviderUrl,
    ]);
    expect(second.output()).toContain(`The console is at ${again.baseUrl}   (its first page signs you in)`);
    expect(await (await fetch(`${again.baseUrl}/`)).text()).toContain('action="/auth/demo"');
    const oneClick = { method: 'POST', headers: { origin: again.baseUrl }, redirect: 'manual' } as const;
    const signedIn = await fetch(`${again.baseUrl}/auth/demo`, oneClick);
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, '/console']);
    expect((await fetch(`${again.baseUrl}/console`)).status).toBe(200);
    const { client } = await signInMcpClient(`${again.baseUrl}/mcp`, 'demo-owner');
    const { value } = await call(client, 'query', {
      version: again.version,
      resource: 'invoices',
      pageSize: 1,
    });
    expect(value).toMatchObject({ data: [expect.any(Object)] });
    await client.close();
    second.process.kill('SIGTERM');
    expect(await second.ended()).toBe(0);
  });

  it('with DEMO_RECORD_TYPES=all it syncs every record type, also when it was killed meanwhile, and publishes the same', async () => {
    const data = path.join(folder, 'slice');
    await run(process.execPath, [
      path.resolve('demo/make-data-slice.mjs'),
      path.resolve('demo/data'),
      data,
      '40',
    ]);
    const all = { DATA_DIR: path.join(folder, 'all'), DEMO_DATA: data, DEMO_RECORD_TYPES: 'all' };
    const killed = startDemo(all);
    await killed.seen('Syncing every record type');
    killed.process.kill('SIGKILL');
    await killed.ended();
    const demo = startDemo(all);
    await demo.seen('Stop with Ctrl-C');
    const file = DemoFile.parse(JSON.parse(await readFile(path.join(all.DATA_DIR, 'demo.json'), 'utf8')));
    expect(file.resources).toEqual(['invoices', 'customers', 'items', 'credit-memos']);
    expect(await readBudget(file)).toMatch(/^"60-in-1min"; r=59; /);
    const configs = await readList(
      createManagementClient(file.baseUrl, file.managementKey),
      '/sync-configs',
      SyncConfig,
    );
    const types = configs.map(({ recordType }) => recordType);
    expect(types).toEqual(
      expect.arrayContaining([
        'purchaseOrder',
        'journalEntry',
        'account',
        'customrecord_warranty',
        'customlist_colour',
        'transactionaccountingline',
      ]),
    );
    expect(new Set(types).size).toBe(types.length);
    expect(configs.filter(({ lastRun }) => lastRun?.status === 'failed' || lastRun === null)).toEqual([]);
    demo.process.kill('SIGTERM');
    expect(await demo.ended()).toBe(0);
  });

  it('started twice at once, one of them says that another process is starting it', async () => {
    const DATA_DIR = path.join(folder, 'twice');
    const both = [startDemo({ DATA_DIR }), startDemo({ DATA_DIR })];
    const refused = await Promise.race(both.map(async (demo) => ({ demo, status: await demo.ended() })));
    expect(refused.status).toBe(1);
    expect(refused.demo.output()).toContain(`Another process is starting the demo in ${DATA_DIR}`);
    const [other] = both.filter((demo) => demo !== refused.demo);
    other?.process.kill('SIGINT');
    expect(await other?.ended()).toBe(0);
  });

  it('stopped during its start it leaves no process running', async () => {
    for (const step of choosePart(['Starting the simulated', 'Connecting', 'Syncing invoices'], 3)) {
      const stopped = startDemo({ DATA_DIR: path.join(folder, 'stopped') });
      // Steps that an earlier process completed before its signal aren't repeated.
      await Promise.race([stopped.seen(step), stopped.seen('Try it')]);
      stopped.process.kill('SIGINT');
      expect(await stopped.ended()).toBe(0);
      await expect(stat(path.join(folder, 'stopped/postgres-18/postmaster.pid'))).rejects.toThrow('ENOENT');
    }
  });

  it('protects its keys and reports what prevents a start', async () => {
    for (const file of ['demo.json', 'identity-provider.json'])
      expect((await stat(path.join(folder, '.data', file))).mode & 0o777).toBe(0o600);
    const first = startDemo();
    await first.seen('Stop with Ctrl-C');
    const { baseUrl } = await readDemoFile();
    for (const port of [new URL(baseUrl).port, '0']) {
      const second = startDemo({ PORT: port });
      expect(await second.ended()).toBe(1);
      expect(second.output()).toContain(`The demo is already running at ${baseUrl}`);
      expect(second.output()).not.toContain('could not start');
    }
    expect((await fetch(`${baseUrl}/api/platform/v1/health`)).status).toBeLessThan(500);
    const production = startDemo({
      NODE_ENV: 'production',
      DATABASE_URL: 'postgres://127.0.0.1/x',
      ENCRYPTION_KEY: `k:${randomBytes(32).toString('base64')}`,
      PUBLIC_URL: 'https://portal.example',
    });
    expect(await production.ended()).toBe(1);
    expect(production.output()).toContain('not for production');
    const badData = startDemo({ DEMO_DATA: '/nonexistent', DATA_DIR: path.join(folder, 'other') });
    expect(await badData.ended()).toBe(1);
    expect(badData.output()).toContain('/nonexistent');
    first.process.kill('SIGTERM');
    expect(await first.ended()).toBe(0);
  });
});
