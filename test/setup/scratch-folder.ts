// Where the tests' PostgreSQL clusters are: in memory if there is enough of it. Each test file creates a
// thousand files with its database, which took a fifth of the processor time of the suite on a disk.
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startCleanupWatcher } from './cleanup-watcher.ts';

const memoryFolder = '/dev/shm';
/** A run uses less than one gigabyte at a time. */
const minFreeBytes = 4 * 2 ** 30;

async function hasRoomInMemory(): Promise<boolean> {
  if (process.platform !== 'linux' || process.availableMemory() < minFreeBytes) return false;
  const free = await statfs(memoryFolder).catch(() => null);
  return free !== null && free.bavail * free.bsize >= minFreeBytes;
}

/** Creates an empty folder whose name begins with `prefix`; the caller removes it. */
export async function createScratchFolder(prefix: string): Promise<string> {
  return mkdtemp(path.join((await hasRoomInMemory()) ? memoryFolder : tmpdir(), prefix));
}

/**
 * The same for clusters in folders of it, which are stopped when this process is killed; or an empty folder that
 * exists already.
 */
export async function openScratchFolder(
  prefix: string,
  given?: string,
): Promise<{ readonly folder: string; remove(): Promise<void> }> {
  const folder = given ?? (await createScratchFolder(prefix));
  const stopWatcher = startCleanupWatcher(folder);
  const remove = async () => {
    await rm(folder, { recursive: true, force: true });
    stopWatcher();
  };
  return { folder, remove };
}
