// Folders that only this service's user can have created or changed. A folder that another user created, owns
// or can write to is refused.
import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { ownUid, WINDOWS } from './run-program.ts';

/** The alternative that error messages offer to the operator. */
export const ownDatabaseAdvice = 'or set DATABASE_URL to your own PostgreSQL server';

const isMissing = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Whether something exists at the path, links included. Rejects with errors of lstat other than ENOENT. */
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
 * Rejects with an Error that tells the operator what to do unless `folder` is a directory (no symbolic link)
 * that belongs to the user id `owner` and has none of the `forbidden` mode bits.
 */
export async function assertOwnFolder(folder: string, owner: number, forbidden: number): Promise<void> {
  if (WINDOWS) return;
  const found = await lstat(folder);
  let problem = '';
  if (found.isSymbolicLink()) problem = 'is a symbolic link';
  else if (!found.isDirectory()) problem = 'is not a folder';
  else if (found.uid !== owner) problem = `belongs to user id ${found.uid} instead of ${owner}`;
  else if ((found.mode & forbidden) !== 0)
    problem = `is open to other users (mode ${(found.mode & 0o777).toString(8)})`;
  if (problem !== '') {
    throw new Error(
      `Refusing to use ${folder}: it ${problem}. Correct this, choose another folder, ${ownDatabaseAdvice}.`,
    );
  }
}

/** Creates `folder` unless it exists. Rejects as `assertOwnFolder` when an existing one is unsafe. */
export async function ensureSecureFolder(folder: string, mode: number, forbidden: number): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true });
  await mkdir(folder, { mode }).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  });
  await assertOwnFolder(folder, ownUid(), forbidden);
}

const inProgress = new Set<string>();

/** Removes the temporary folders and files that killed processes left next to `final` while building it. */
export async function removeAbandoned(final: string): Promise<void> {
  const prefix = `${path.basename(final)}.new-`;
  for (const name of await readdir(path.dirname(final))) {
    const file = path.join(path.dirname(final), name);
    if (!name.startsWith(prefix) || [...inProgress].some((folder) => file.startsWith(folder))) continue;
    const builder = Number.parseInt(name.slice(prefix.length), 10);
    // An initdb that outlived its killed parent may still be writing; the next start removes what remains.
    if (builder === process.pid || !isAlive(builder))
      await rm(file, { recursive: true, force: true }).catch(() => {});
  }
}

/**
 * Builds `final` in a temporary folder next to it and renames that. With several concurrent builders one
 * wins, and a killed one leaves no incomplete folder at `final`. Rejects with the error of `build`.
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
