// Runs PostgreSQL's programs as the right user and gives them access to a folder.
import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';

export type Account = { uid: number; gid: number };

export const WINDOWS = process.platform === 'win32';
export const ownUid = (): number => process.getuid?.() ?? 0;

/** For PostgreSQL's programs: in English, in UTC, without this process's environment (secrets). */
export function childOptions(account: Account | undefined) {
  const isolated = WINDOWS ? {} : { cwd: '/', env: { LC_ALL: 'C', TZ: 'UTC' } };
  return { ...account, ...isolated, windowsHide: true };
}

/**
 * Runs a program and returns its combined output; `inherited` becomes its file descriptor 3. Rejects with the
 * output when it can't be started or doesn't exit with 0.
 */
export function runProgram(
  file: string,
  args: readonly string[],
  account: Account | undefined,
  inherited: readonly number[] = [],
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      ...childOptions(account),
      stdio: ['ignore', 'pipe', 'pipe', ...inherited],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve(output);
      else
        reject(
          new Error(`${path.basename(file)} failed (${signal ?? `exit code ${code}`}): ${output.trim()}`),
        );
    });
  });
}

/**
 * Gives a program access to `folder`. As root it passes an open descriptor: `nobody` then needs no access to
 * the parent folders (/root, a private temporary folder), and the folder can't be replaced after it was
 * opened. Rejects with the error of `use`.
 */
export async function withView<T>(
  folder: string,
  account: Account | undefined,
  use: (view: string, inherited: number[]) => Promise<T> | T,
): Promise<T> {
  if (!account) return use(folder, []);
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    return await use('/proc/self/fd/3', [handle.fd]);
  } finally {
    await handle.close();
  }
}
