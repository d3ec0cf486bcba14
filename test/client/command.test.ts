// The package as a developer gets it: installed from the address of the service, run by npx, and small.
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { listen } from '../contract/http.ts';
import { openOrganization } from '../public/fixture.ts';
import { testDatabase } from '../setup/database.ts';
import { makeKey } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import { useStarted } from '../setup/use-started.ts';
import { type ClientProject, createClientProject } from './project.ts';

const database = useStarted(testDatabase);
const server = useStarted(() => listen(createApp(database.ctx)));
let project: ClientProject;
let organization: Awaited<ReturnType<typeof openOrganization>>;
let environment: Record<string, string>;

beforeAll(async () => {
  project = await createClientProject();
  const rows = [{ id: 1, tranid: 'INV-1', total: '12.5', seq: '9007199254740993' }];
  organization = await openOrganization(database.ctx, createApp(database.ctx), { rows });
  environment = { PORTAL_URL: server.url, PORTAL_KEY: (await organization.key()).secret };
});
afterAll(() => project.remove());

/** `npx` of an installed package, which fetches none. */
const npx = (args: readonly string[], env = environment) =>
  project.run('npx', ['--no', 'portal', ...args], env);
const lock = async () => JSON.parse(await readFile(path.join(project.folder, 'portal.lock.json'), 'utf8'));
describe('the package', () => {
  it('is installed from the service, has no dependencies, and is at most 80 kB', async () => {
    await rm(path.join(project.folder, 'node_modules'));
    const installed = await project.run('npm', [
      'install',
      '--no-audit',
      '--no-fund',
      `${server.url}/client.tgz`,
    ]);
    expect(installed).toMatchObject({ code: 0 });
    expect(
      (await readdir(path.join(project.folder, 'node_modules'))).filter((name) => name[0] !== '.'),
    ).toEqual(['portal-service-client']);
    const { headers } = await server.send({ method: 'GET', path: '/client.tgz' });
    expect(headers).toMatchObject({ 'content-type': 'application/gzip', etag: expect.any(String) });
    expect(Number(headers['content-length'])).toBeLessThan(80_000);
    const cached = await server.send({
      ...{ method: 'GET', path: '/client.tgz' },
      headers: { 'if-none-match': String(headers.etag) },
    });
    expect(cached).toMatchObject({ status: 304, text: '' });
  });

  it('has a runtime of at most 30 kB that needs nothing of Node.js', async () => {
    const folder = path.join(project.folder, 'node_modules/portal-service-client/dist');
    const read = new Set<string>();
    const visit = async (file: string): Promise<void> => {
      if (read.has(file)) return;
      read.add(file);
      const code = await readFile(file, 'utf8');
      const targets = [...code.matchAll(/from ["']([^"']+)["']/g)].map(([, target = '']) => target);
      expect(targets.filter((target) => !target.startsWith('./'))).toEqual([]);
      for (const target of targets) await visit(path.resolve(path.dirname(file), target));
    };
    await visit(path.join(folder, 'index.js'));
    expect(read.size).toBeGreaterThan(10);
    const sizes = await Promise.all([...read].map(async (file) => (await stat(file)).size));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(30_000);
  });
});

describe('portal pull', () => {
  it('writes the newest version that is not deprecated, its lock, and the Python files', async () => {
    await organization.publish({ version: 'v2', status: 'deprecated', sunsetAt: '2027-01-31T00:00:00Z' });
    expect(await npx(['pull'])).toEqual({
      ...{ code: 0, stderr: '' },
      stdout: 'Wrote src/portal/v1.ts\nWrote portal.lock.json\n',
    });
    expect(await npx(['pull', '--lang', 'python', '--version', 'v2', '--out', 'portal'])).toMatchObject({
      code: 0,
      stdout:
        'Wrote portal/__init__.py\nWrote portal/_runtime.py\nWrote portal/v2.py\nWrote portal.lock.json\n',
    });
    const description = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(await lock()).toEqual({
      clients: [
        { version: 'v2', lang: 'python', out: 'portal', integers: 'text', description },
        { version: 'v1', lang: 'ts', out: 'src/portal', integers: 'text', description },
      ],
    });
  });

  it('keeps an own __init__.py, and writes the same file again', async () => {
    const own = path.join(project.folder, 'portal/__init__.py');
    await writeFile(own, '# ours\n');
    const before = await readFile(path.join(project.folder, 'portal/v2.py'), 'utf8');
    expect((await npx(['pull', '--lang', 'python', '--version', 'v2', '--out', './portal/'])).code).toBe(0);
    expect(await readFile(own, 'utf8')).toBe('# ours\n');
    expect(await readFile(path.join(project.folder, 'portal/v2.py'), 'utf8')).toBe(before);
    expect((await lock()).clients).toHaveLength(2);
  });

  it('gives bigint values where it is asked to', async () => {
    expect((await npx(['pull', '--integers', 'bigint', '--out', 'src/big'])).code).toBe(0);
    await project.write({
      'main.ts': `import { connect } from './src/big/v1.ts';
const { invoices } = connect({ baseUrl: process.env['PORTAL_URL'] ?? '', key: process.env['PORTAL_KEY'] ?? '' });
const { seq } = await invoices.get('1');
if (typeof seq !== 'bigint') throw new Error('no bigint');
const [found] = (await invoices.list({ seq, seq_gte: seq }).page()).data;
console.log(String(seq + 1n), found?.total);
`,
    });
    expect(await project.run(process.execPath, ['main.ts'], environment)).toMatchObject({
      stdout: '9007199254740994 12.5\n',
    });
  });
});

describe('portal check', () => {
  it('passes while the versions are published, and says what ends', async () => {
    expect(await npx(['check'])).toEqual({
      ...{ code: 1, stderr: '' },
      stdout: [
        'portal (python): Version v2 is deprecated and may be retired from 2027-01-31T00:00:00.000Z on.\n',
        'src/big (ts): version v1 is up to date.\nsrc/portal (ts): version v1 is up to date.\n',
      ].join(''),
    });
  });

  it('fails when the key reads something else than was pulled, and pull writes what it reads', async () => {
    const { secret } = await makeKey(database.ctx, organization.organizationId, {
      fields: { invoices: ['number', 'seq'] },
    });
    const narrow = { ...environment, PORTAL_KEY: secret };
    const { code, stdout } = await npx(['check'], narrow);
    expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringContaining('Pull again.') });
    expect((await npx(['pull', '--out', 'src/narrow'], narrow)).code).toBe(0);
    const written = await readFile(path.join(project.folder, 'src/narrow/v1.ts'), 'utf8');
    expect([...written.matchAll(/^ {2}readonly (\w+): [^$]/gm)].map(([, name]) => name)).toEqual([
      'id',
      'number',
      'seq',
    ]);
  });

  it.each([
    [['check'], { PORTAL_KEY: '' }, 'Set PORTAL_KEY to an API key.'],
    [['check'], { PORTAL_URL: '' }, 'Set PORTAL_URL to the address of the service.'],
    [['check'], { PORTAL_URL: 'ftp://example.com' }, 'http or https'],
    [['pull'], { PORTAL_KEY: 'psk_unknown' }, '401'],
    [['check'], { PORTAL_KEY: 'psk_broken\nline' }, 'The key is empty, or has characters that no key has'],
    [['config', 'export'], { PORTAL_KEY: 'psk_broken\nline' }, 'The key is empty, or has characters'],
    [['pull', '--version', 'v9'], {}, 'The key reads no version v9. It reads: v1, v2'],
    [['pull', '--lang', 'cobol'], {}, '--lang must be ts or python.'],
    [['pull', '--langg', 'ts'], {}, "'--langg'"],
    [['push'], {}, ''],
  ])('%j with %j ends with 2 and says why', async (args, more, message) => {
    const { code, stderr } = await npx(args, { ...environment, ...more });
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    expect(stderr).not.toContain('psk_');
  });

  it('says that nothing was pulled, or that the lock is damaged', async () => {
    const file = path.join(project.folder, 'portal.lock.json');
    await rm(file);
    expect(await npx(['check'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('run "portal pull"'),
    });
    await writeFile(file, '{"clients":[{}]}');
    expect(await npx(['check'])).toMatchObject({ code: 2, stderr: expect.stringContaining('damaged') });
  });

  it('fails when a version was retired', async () => {
    await rm(path.join(project.folder, 'portal.lock.json'));
    expect((await npx(['pull'])).code).toBe(0);
    await organization.inTransaction((tx) =>
      tx('api_schemas').where({ version: 'v1' }).update({ status: 'retired' }),
    );
    // The service trusts what it knows of a version for a second.
    const { code, stdout } = await until(async () => {
      const ran = await npx(['check']);
      return ran.code !== 0 && ran;
    });
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout:
        "src/portal (ts): Version v1 can't be read: This version has been retired and is no longer available.\n",
    });
  });
});
