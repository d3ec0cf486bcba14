// Builds the console once for all browser tests, into a folder of this run; CONSOLE_DIST names one that is
// built already.
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { createScratchFolder } from '../../setup/scratch-folder.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The built files of the console. */
    consoleFolder: string;
  }
}

const script = fileURLToPath(new URL('../../../scripts/build-console.mjs', import.meta.url));

export default async function setup(project: TestProject) {
  const built = process.env['CONSOLE_DIST'];
  if (built !== undefined) return project.provide('consoleFolder', path.resolve(built));
  const scratch = await createScratchFolder('portal-console-');
  const folder = path.join(scratch, 'dist');
  await promisify(execFile)(process.execPath, [script, folder]);
  project.provide('consoleFolder', folder);
  return () => rm(scratch, { recursive: true, force: true });
}
