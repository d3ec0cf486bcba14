// PostgreSQL's client programs, which npm doesn't bring: those that are installed, or the first in PATH.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type ClientPrograms = { readonly dump: string; readonly restore: string; readonly baseBackup: string };

/** The major version of each program; undefined when one is missing or they differ. */
async function readMajorVersion({ dump, restore, baseBackup }: ClientPrograms): Promise<string | undefined> {
  const printed = await Promise.all(
    [dump, restore, baseBackup].map((program) =>
      run(program, ['--version']).then(
        ({ stdout }) => /(\d+)\.\d+/.exec(stdout)?.[1],
        () => undefined,
      ),
    ),
  );
  return new Set(printed).size === 1 ? printed[0] : undefined;
}

/** The programs of this major version, or the reason why they can't be used. */
export async function findClientPrograms(major: string): Promise<ClientPrograms | string> {
  const found: string[] = [];
  for (const folder of [`/usr/lib/postgresql/${major}/bin/`, `/usr/pgsql-${major}/bin/`, '']) {
    const programs = {
      dump: `${folder}pg_dump`,
      restore: `${folder}pg_restore`,
      baseBackup: `${folder}pg_basebackup`,
    };
    const version = await readMajorVersion(programs);
    if (version === major) return programs;
    if (version !== undefined) found.push(version);
  }
  return `pg_dump, pg_restore and pg_basebackup of PostgreSQL ${major} are needed, and there are ${found.length === 0 ? 'none' : `those of ${found.join(', ')}`}`;
}
