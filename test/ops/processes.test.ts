// The commands as an operator runs them, each in a process of its own on the test's database.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openKnex } from '../../src/db/connect.ts';
import { databaseUrl } from '../setup/database-url.ts';
import { until } from '../setup/until.ts';

const server = inject('pg');
const database = `processes_${randomBytes(6).toString('hex')}`;
let folder: string;
let address: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'portal-process-'));
  const admin = openKnex(server, null, 1);
  await admin.raw(`create database ${database}`);
  await admin.destroy();
  address = databaseUrl({ ...server, database });
});
afterAll(async () => {
  const admin = openKnex(server, null, 1);
  await admin.raw(`drop database if exists ${database} with (force)`);
  await admin.destroy();
  await rm(folder, { recursive: true, force: true });
});

function start(args: readonly string[], environment: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['scripts/run.mjs', ...args], {
    env: {
      PATH: process.env['PATH'] ?? '',
      DATA_DIR: folder,
      DATABASE_URL: address,
      PORT: '0',
      LOG_LEVEL: 'info',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const running = {
    child,
    stdout: '',
    stderr: '',
    ended: new Promise<number | null>((resolve) => child.once('close', resolve)),
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (running.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (running.stderr += text));
  return running;
}
async function run(args: readonly string[], environment: Record<string, string> = {}) {
  const running = start(args, environment);
  return { code: await running.ended, stdout: running.stdout, stderr: running.stderr };
}
async function serving(running: ReturnType<typeof start>): Promise<string> {
  return until(async () => {
    if (running.child.exitCode !== null) throw new Error(`it ended: ${running.stdout}${running.stderr}`);
    const whole = running.stdout.slice(0, running.stdout.lastIndexOf('\n') + 1);
    const line = whole.split('\n').find((text) => text.includes('"listening"'));
    return line === undefined ? undefined : (JSON.parse(line) as { url: string }).url;
  });
}

describe('the commands', () => {
  let key = '';

  it('admin create-organization prints the id and a key once, and protects the encryption key that it creates', async () => {
    const made = await run([
      'admin',
      'create-organization',
      '--name',
      'Wholesale & Co',
      '--owner-email',
      'Ada@example.test',
    ]);
    expect([made.code, made.stderr]).toEqual([0, '']);
    expect(made.stdout).toMatch(/id +[0-9a-f-]{36}\n/);
    expect(made.stdout).toMatch(/slug +wholesale-co\n/);
    key = /psk_[0-9A-Za-z]{49}/.exec(made.stdout)?.[0] ?? '';
    expect(key).not.toBe('');
    const file = path.join(folder, 'encryption-key');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(Buffer.from(await readFile(file, 'utf8'), 'base64')).toHaveLength(32);
  });

  it('admin explains what is wrong with its arguments', async () => {
    const refusals = await Promise.all([
      run(['admin', 'create-organization', '--name', 'X']),
      run(['admin', 'create-organization', '--name', 'X', '--owner-email', 'nobody']),
      run([
        'admin',
        'create-organization',
        '--name',
        'X',
        '--owner-email',
        'a@example.test',
        '--slug',
        'wholesale-co',
      ]),
      run(['admin', 'drop-everything']),
      run(['admin', 'create-organization', '--colour', 'red']),
    ]);
    expect(refusals.map(({ code }) => code)).toEqual([2, 2, 1, 2, 2]);
    expect(refusals.map(({ stdout }) => stdout).join('')).toBe('');
    expect(refusals[0]?.stderr).toContain('--owner-email <address> is missing');
    expect(refusals[1]?.stderr).toContain('--owner-email <address>: ');
    expect(refusals[2]?.stderr).toContain('Another organization has this slug');
    expect(refusals[3]?.stderr).toMatch(/Unknown command: drop-everything[\s\S]*rotate-encryption-key/);
    expect(refusals[4]?.stderr).toContain('--colour');
    for (const { stderr } of refusals) expect(stderr).not.toMatch(/\n\s+at /);
  });

  it('serve listens, accepts the printed key, and stops cleanly on SIGTERM', async () => {
    const running = start(['serve']);
    const url = await serving(running);
    const answer = await fetch(`${url}/api/platform/v1/whoami`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      user: { email: 'ada@example.test' },
      membership: { role: { name: 'owner' } },
    });
    const described = (await (await fetch(`${url}/api/platform/v1/openapi`)).json()) as { servers: unknown };
    expect(described.servers).toEqual([{ url: `${url}/api/platform/v1` }]);
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
    expect(running.stderr).toBe('');
    expect(running.stdout).not.toContain(key);
    for (const line of running.stdout.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg');
  });

  it('a start that cannot succeed prints the reason in one line', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const port = String((taken.address() as { port: number }).port);
    const [busy, wrong, unsafe, away] = await Promise.all([
      run(['serve'], { PORT: port }),
      run(['serve'], { PORT: 'x', LOG_LEVEL: 'y' }),
      run(['serve'], { NODE_ENV: 'production' }),
      run(['serve'], { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }),
    ]);
    taken.close();
    expect([busy?.code, wrong?.code, unsafe?.code, away?.code]).toEqual([1, 1, 1, 1]);
    expect(busy?.stderr).toContain(`Port ${port} is in use`);
    expect(wrong?.stderr).toMatch(/PORT: [\s\S]*LOG_LEVEL: /);
    expect(unsafe?.stderr).toMatch(
      /ENCRYPTION_KEY: is required in production[\s\S]*PUBLIC_URL: is required in production/,
    );
    expect(away?.stderr).toContain('ECONNREFUSED');
  });
});
