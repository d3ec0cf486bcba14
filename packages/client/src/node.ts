// What needs a file system.
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { ChangeStore } from './changes.ts';

const isAbsent = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Keeps the position in a file of its own, which is replaced as a whole. Throws when it can't be read or written. */
export const fileStore = (path: string): ChangeStore => ({
  load: async () => {
    try {
      return (await readFile(path, 'utf8')).trim() || undefined;
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  },
  save: async (position) => {
    await writeFile(`${path}.new`, `${position}\n`, { flush: true });
    await rename(`${path}.new`, path);
  },
});
