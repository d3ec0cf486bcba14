// Starts Chromium once and builds the console once for all browser tests, into a folder of this run.
// CHROMIUM names the program, CONSOLE_DIST a folder with a console that is built already.
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';
import { createScratchFolder } from '../setup/scratch-folder.ts';
import { portalHost } from './chromium.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The built files of the console. */
    consoleFolder: string;
    /** Where Chromium takes connections. */
    chromium: string;
  }
}

const script = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url));

const launchChromium = () =>
  chromium.launchServer({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    headless: true,
    chromiumSandbox: false,
    timeout: 120_000, // generous for busy machines
    host: '127.0.0.1',
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--host-resolver-rules=MAP ${portalHost} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`,
    ],
  });

export default async function setup(project: TestProject) {
  const browser = await launchChromium();
  project.provide('chromium', browser.wsEndpoint());
  const built = process.env['CONSOLE_DIST'];
  if (built !== undefined) {
    project.provide('consoleFolder', path.resolve(built));
    return () => browser.close();
  }
  const scratch = await createScratchFolder('portal-console-');
  const folder = path.join(scratch, 'dist');
  await promisify(execFile)(process.execPath, [script, 'console', folder]);
  project.provide('consoleFolder', folder);
  return async () => {
    await browser.close();
    await rm(scratch, { recursive: true, force: true });
  };
}
