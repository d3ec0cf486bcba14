import { chmod, rename, writeFile } from 'node:fs/promises';

/**
 * Replaces the JSON file atomically, readable by its owner only. Rejects with the file system's error when it
 * can't be written.
 */
export async function writePrivateJson(file: string, value: object): Promise<void> {
  const fresh = `${file}.${process.pid}`;
  await writeFile(fresh, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await chmod(fresh, 0o600);
  await rename(fresh, file);
}
