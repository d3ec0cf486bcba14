// PostgreSQL's client programs, which npm doesn't bring: those that are installed, or those of a kit next to the project.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type ClientPrograms = { readonly dump: string; readonly restore: string; readonly baseBackup: string };

const kit = path.resolve('../shared/engines/citus-kit/pg18-client-linux-x64.tar.xz');

/** The kit's folder of programs, ending with a slash; it is unpacked once. Undefined without a kit. */
async function unpackKit(): Promise<string | undefined> {
  if (!(await stat(kit).catch(() => undefined))) return undefined;
  const cache = path.resolve('node_modules/.cache');
  const folder = path.join(cache, path.basename(kit, '.tar.xz'));
  if (!(await stat(folder).catch(() => undefined))) {
    await mkdir(cache, { recursive: true });
    const fresh = await mkdtemp(path.join(cache, 'unpacking-'));
    await run('tar', ['-xJf', kit, '-C', fresh]);
    // Another test may have unpacked it meanwhile.
    await rename(fresh, folder).catch(() => rm(fresh, { recursive: true }));
  }
  return `${folder}/bin/`;
}

/** The major version of each program; undefined when one is missing or they differ. */
async function majorOf({ dump, restore, baseBackup }: ClientPrograms): Promise<string | undefined> {
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
  const folders = [`/usr/lib/postgresql/${major}/bin/`, `/usr/pgsql-${major}/bin/`, '', unpackKit] as const;
  for (const given of folders) {
    const folder = typeof given === 'string' ? given : await given();
    if (folder === undefined) continue;
    const programs = { dump: `${folder}pg_dump`, restore: `${folder}pg_restore`, baseBackup: `${folder}pg_basebackup` };
    const version = await majorOf(programs);
    if (version === major) return programs;
    if (version !== undefined) found.push(version);
  }
  return `pg_dump, pg_restore and pg_basebackup of PostgreSQL ${major} are needed, and there are ${found.length === 0 ? 'none' : `those of ${found.join(', ')}`}`;
}
