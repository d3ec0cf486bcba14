// The commands as an operator runs them, each in a process of its own on the test's database.
import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand, useOpsDatabase } from './server-process.ts';

const database = useOpsDatabase(null);

describe('the commands', () => {
  let key = '';

  it('admin create-organization prints the id and a key once, and protects the encryption key that it creates', async () => {
    const named = ['--name', 'Wholesale & Co', '--owner-email', 'Ada@example.test'];
    const made = await database.run(['admin', 'create-organization', ...named]);
    expect([made.code, made.stderr]).toEqual([0, '']);
    expect(made.stdout).toMatch(/id +[0-9a-f-]{36}\n/);
    expect(made.stdout).toMatch(/slug +wholesale-co\n/);
    key = /psk_[0-9A-Za-z]{49}/.exec(made.stdout)?.[0] ?? '';
    expect(key).not.toBe('');
    const file = path.join(database.folder, 'encryption-key');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(Buffer.from(await readFile(file, 'utf8'), 'base64')).toHaveLength(32);
  });

  it('admin explains what is wrong with its arguments', async () => {
    const create = ['admin', 'create-organization', '--name', 'X', '--owner-email'];
    const refusals = await Promise.all([
      database.run([...create, 'nobody']),
      database.run([...create, 'a@example.test', '--slug', 'wholesale-co']),
      database.run(['admin', 'drop-everything']),
    ]);
    const unknown = /Unknown command: drop-everything[\s\S]*rotate-encryption-key/;
    expect(refusals).toEqual([
      { code: 2, stdout: '', stderr: expect.stringContaining('--owner-email <address>: ') },
      { code: 1, stdout: '', stderr: expect.stringContaining('Another organization has this slug') },
      { code: 2, stdout: '', stderr: expect.stringMatching(unknown) },
    ]);
    for (const { stderr } of refusals) expect(stderr).not.toMatch(/\n\s+at /);
  });

  it('serve listens, accepts the printed key, and stops cleanly on SIGTERM', async () => {
    const running = await database.start();
    const { url } = running;
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
    expect(await running.stop()).toBe(0);
    const { stdout, stderr } = running.output();
    expect(stderr).toMatch(/^\nTo sign in as ada@example\.test, open this link [\w ]+:\nhttp:\S+\n\n$/);
    expect(stdout).not.toContain(key);
    for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg');
  });

  it('a start that cannot succeed prints the reason in one line', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const port = String((taken.address() as { port: number }).port);
    const away = { url: 'postgres://nobody@127.0.0.1:1/none', folder: database.folder };
    const starts = await Promise.all([
      database.run(['serve'], { PORT: port }),
      database.run(['serve'], { PORT: 'x', LOG_LEVEL: 'y' }),
      database.run(['serve'], { NODE_ENV: 'production' }),
      runCommand(away, ['serve']),
    ]);
    taken.close();
    const reasons = [
      new RegExp(`Port ${port} is in use`),
      /PORT: [\s\S]*LOG_LEVEL: /,
      /ENCRYPTION_KEY: is required in production[\s\S]*PUBLIC_URL: is required in production/,
      /ECONNREFUSED/,
    ];
    expect(starts).toMatchObject(
      reasons.map((reason) => ({ code: 1, stderr: expect.stringMatching(reason) })),
    );
  });
});
