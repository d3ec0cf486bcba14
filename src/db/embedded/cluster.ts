// The database cluster in the data folder, and how to connect to its server.
import { createHash, randomBytes } from 'node:crypto';
import { chown, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { assertOwnFolder, buildAtomically, ensureSecureFolder, exists, removeAbandoned } from './folders.ts';
import { type Programs, ROOT_FOLDER } from './programs.ts';
import { ownUid, runProgram, WINDOWS, withView } from './run-program.ts';

/** node-postgres connection settings of the cluster's superuser. */
export type ClusterConnection = { host: string; port: number; user: string; database: string };
export type Cluster = { programs: Programs; folder: string; logFile: string; connection: ClusterConnection };

const SUPERUSER = 'postgres';
const PASSWORD_FILE = 'portal.password';
const CLUSTER_OPTIONS = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C', '--no-instructions'];

/** Creates the cluster unless it exists. Rejects when its folder belongs to another user or is open to others. */
export async function prepareCluster(dataDir: string, programs: Programs, onProgress: (step: string) => void): Promise<Cluster> {
  // As root, reject group-writable folders too; a normal user's own group often has write permission by default.
  await ensureSecureFolder(dataDir, 0o755, programs.account ? 0o022 : 0o002);
  const folder = path.join(dataDir, `postgres-${programs.major}`);
  await removeAbandoned(folder);
  if (!(await exists(folder))) {
    onProgress('creating the database cluster');
    await buildAtomically(folder, (fresh) => initializeCluster(fresh, programs));
  }
  await assertOwnFolder(folder, programs.account?.uid ?? ownUid(), 0o077);
  return { programs, folder, logFile: `${folder}.log`, connection: await connectionTo(folder) };
}

/** Creates a new database cluster in the empty folder `fresh`. Rejects with initdb's output. */
async function initializeCluster(fresh: string, programs: Programs): Promise<void> {
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
async function connectionTo(folder: string): Promise<ClusterConnection> {
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
