// The sources of an earlier commit of this repository, to run next to the present ones.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const readLockfile = (commit: string): Promise<string | undefined> =>
  run('git', ['show', `${commit}:package-lock.json`], { maxBuffer: 64 * 1024 * 1024 }).then(
    ({ stdout }) => stdout,
    () => undefined,
  );

/** Why the commit can't be run here; undefined when it can. */
export async function reasonAgainst(commit: string): Promise<string | undefined> {
  return (await readLockfile(commit)) === undefined
    ? `commit ${commit} is not in the history of this copy`
    : undefined;
}

/**
 * Unpacks the commit into a temporary folder. It uses the installed libraries, or its own from npm's registry
 * where it needs others.
 */
export async function unpackCommit(commit: string): Promise<{ root: string; remove(): Promise<void> }> {
  const root = await mkdtemp(path.join(tmpdir(), 'portal-version-'));
  await run('sh', ['-c', 'git archive "$1" | tar -x -C "$2"', 'sh', commit, root]);
  if ((await readLockfile(commit)) === (await readFile('package-lock.json', 'utf8')))
    await symlink(path.resolve('node_modules'), path.join(root, 'node_modules'));
  else
    await run(
      'npm',
      ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'],
      { cwd: root },
    );
  return { root, remove: () => rm(root, { recursive: true, force: true }) };
}
