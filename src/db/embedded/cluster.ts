// The database cluster in the data folder, and how to connect to its server.
import { createHash } from 'node:crypto';
import { chown, open, rename, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { assertOwnFolder, buildAtomically, ensureSecureFolder, exists, removeAbandoned } from './folders.ts';
import {
  createPassword,
  readServicePassword,
  readSuperuserPassword,
  superuserPasswordFile,
} from './passwords.ts';
import { type Programs, ROOT_FOLDER } from './programs.ts';
import { type Account, ownUid, runProgram, WINDOWS, withView } from './run-program.ts';

/** node-postgres connection settings of the cluster's superuser. */
export type ClusterConnection = {
  host: string;
  port: number;
  user: string;
  database: string;
  password: string;
};
export type Cluster = {
  programs: Programs;
  folder: string;
  logFile: string;
  connection: ClusterConnection;
  /** Of the service; the login itself is created when the database is opened. */
  serviceLogin: { user: string; password: string };
};

const SUPERUSER = 'postgres';
const SERVICE_LOGIN = 'portal_login';
const CLUSTER_OPTIONS = [
  '--encoding=UTF8',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--locale=C',
  '--no-instructions',
];

/** Creates the cluster unless it exists. Rejects when its folder is another user's or open to others. */
export async function prepareCluster(
  dataDir: string,
  programs: Programs,
  onProgress: (step: string) => void,
): Promise<Cluster> {
  // As root, reject group-writable folders too; a normal user's group often may write by default.
  await ensureSecureFolder(dataDir, 0o755, programs.account ? 0o022 : 0o002);
  const folder = path.join(dataDir, `postgres-${programs.major}`);
  await removeAbandoned(folder);
  if (!(await exists(folder))) {
    onProgress('creating the database cluster');
    await buildAtomically(folder, (fresh) => initializeCluster(fresh, programs));
  }
  await assertOwnFolder(folder, programs.account?.uid ?? ownUid(), 0o077);
  const serviceLogin = { user: SERVICE_LOGIN, password: await readServicePassword(folder) };
  return {
    programs,
    folder,
    logFile: `${folder}.log`,
    connection: await connectionTo(folder, programs.account),
    serviceLogin,
  };
}

/** Creates a new database cluster in the empty folder `fresh`. Rejects with initdb's output. */
async function initializeCluster(fresh: string, programs: Programs): Promise<void> {
  const { account } = programs;
  const passwordFile = `${fresh}.password`;
  await writeFile(passwordFile, createPassword(), { mode: 0o600, flag: 'wx' });
  if (account) await Promise.all([fresh, passwordFile].map((file) => chown(file, account.uid, account.gid)));
  const handle = await open(passwordFile);
  try {
    await withView(fresh, account, (view, inherited) => {
      // Like the folder, `nobody` gets the file as an open descriptor.
      const [password, descriptors] = account
        ? ['/proc/self/fd/4', [...inherited, handle.fd]]
        : [passwordFile, inherited];
      const authentication = ['--auth=scram-sha-256', `--pwfile=${password}`];
      return runProgram(
        programs.initdb,
        ['-D', view, '-U', SUPERUSER, ...authentication, ...CLUSTER_OPTIONS],
        account,
        descriptors,
      );
    });
  } finally {
    await handle.close();
  }
  if (account) await chown(passwordFile, ownUid(), process.getgid?.() ?? 0);
  await rename(passwordFile, superuserPasswordFile(fresh));
}

/**
 * How to connect to the cluster in `folder`: over a unix socket inside it, which only its owner can enter
 * (Windows: loopback TCP). Rejects with an Error when the path is too long and the folder for a shorter alias
 * is unsafe, and when the password is missing.
 */
async function connectionTo(folder: string, account: Account | undefined): Promise<ClusterConnection> {
  const digest = createHash('sha256').update(folder).digest('hex');
  const superuser = {
    user: SUPERUSER,
    database: 'postgres',
    password: await readSuperuserPassword(folder, account),
  };
  if (WINDOWS)
    return {
      host: '127.0.0.1',
      port: 49_152 + (Number.parseInt(digest.slice(0, 8), 16) % 16_000),
      ...superuser,
    };
  const unix = { port: 5432, ...superuser };
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
