// What continuous integration runs of the suites that are too long to run whole: chosen by the hash of the
// commit's tree, so that the same commit gives the same answer. SLICE=<hash> repeats another commit's.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

export type Slice = {
  readonly hash: string;
  /** A number from 0 up to below this, another one for each purpose. */
  pick(purpose: string, below: number): number;
  /** Whether all profiles of the simulated account play, or the one that is picked. */
  readonly isWhole: boolean;
};

/** What the profiles try. */
const sources = ['src/sync', 'src/connectors', 'src/warehouse', 'migrations', 'packages'];

/** Empty where the folder has no Git history. */
function git(...args: readonly string[]): string {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return '';
  }
}

/** What commits of the last day before the current one changed; everything where the history is cut off. */
function hasChanged(paths: readonly string[]): boolean {
  const before = Number(git('log', '-1', '--format=%ct')) - 86_400;
  const base = git('rev-list', '-1', `--before=${before}`, 'HEAD');
  return base === '' || git('diff', '--name-only', base, 'HEAD', '--', ...paths) !== '';
}

export function chooseSlice(): Slice {
  const hash = process.env['SLICE'] || git('rev-parse', 'HEAD^{tree}');
  return {
    hash,
    isWhole: hasChanged(sources),
    pick: (purpose, below) =>
      createHash('sha256').update(`${hash} ${purpose}`).digest().readUInt32BE() % below,
  };
}
