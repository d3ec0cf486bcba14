// The passwords of the embedded server: of its superuser, and of the login with which the service connects.
// Each is in a file inside the cluster's folder that only the service's user can read.
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Client, escapeIdentifier, escapeLiteral } from 'pg';
import { exists } from './folders.ts';
import { type Account, ownUid } from './run-program.ts';

export const createPassword = (): string => randomBytes(24).toString('base64url');
export const superuserPasswordFile = (folder: string): string => path.join(folder, 'portal.password');
const rulesFile = (folder: string): string => path.join(folder, 'pg_hba.conf');
const readRules = (folder: string, account: Account | undefined): Promise<string> =>
  readOwned(rulesFile(folder), account?.uid ?? ownUid());

/** `trust` in a line of pg_hba.conf that isn't a comment. */
const trust = /^([^#\n]*\s)trust\b/m;

/** Reads a file of the user `owner`. Rejects when it is a symbolic link or belongs to another user. */
async function readOwned(file: string, owner: number): Promise<string> {
  const handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    const { uid } = await handle.stat();
    if (uid !== owner)
      throw new Error(`Refusing to use ${file}: it belongs to user id ${uid} instead of ${owner}.`);
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/**
 * Writes a file that only its owner can read next to `file` and returns its path. It is on disk, even if the
 * machine fails right after.
 */
async function writePrivate(file: string, text: string, owner: Account | undefined): Promise<string> {
  const fresh = `${file}.${process.pid}-${randomBytes(4).toString('hex')}`;
  const handle = await open(fresh, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    if (owner) await handle.chown(owner.uid, owner.gid);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return fresh;
}

/**
 * Reads the password in the file, and creates the file first if it doesn't exist. Several processes at once
 * create one password.
 */
async function readOrCreatePassword(file: string): Promise<string> {
  if (!(await exists(file))) {
    const fresh = await writePrivate(file, createPassword(), undefined);
    await link(fresh, file).catch(async (error: unknown) => {
      if (!(await exists(file))) throw error;
    });
    await rm(fresh);
  }
  return readOwned(file, ownUid());
}

export const readServicePassword = (folder: string): Promise<string> =>
  readOrCreatePassword(path.join(folder, 'service.password'));

/**
 * Reads the superuser's password. A cluster of an earlier version, which trusted everyone who reached its
 * socket, gets one. Rejects with an Error when the file is missing although the server asks for a password.
 */
export async function readSuperuserPassword(folder: string, account: Account | undefined): Promise<string> {
  const file = superuserPasswordFile(folder);
  if ((await exists(file)) || trust.test(await readRules(folder, account))) return readOrCreatePassword(file);
  throw new Error(
    `${file} is missing: it has the password of the embedded PostgreSQL. Restore it from a copy of the folder.`,
  );
}

/**
 * Makes the server of an earlier version ask for passwords: sets the superuser's, then replaces `trust` in
 * pg_hba.conf. After an interruption the next start repeats it. Rejects with the error of the file system or
 * of PostgreSQL.
 */
export async function requirePasswords(
  folder: string,
  account: Account | undefined,
  superuser: Client,
  { user, password }: { readonly user: string; readonly password: string },
): Promise<void> {
  const rules = await readRules(folder, account);
  if (!trust.test(rules)) return;
  await superuser.query(`alter role ${escapeIdentifier(user)} password ${escapeLiteral(password)}`);
  const strict = rules
    .split('\n')
    .map((line) => line.replace(trust, '$1scram-sha-256'))
    .join('\n');
  await rename(await writePrivate(rulesFile(folder), strict, account), rulesFile(folder));
  await superuser.query('select pg_reload_conf()');
}
