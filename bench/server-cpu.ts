// CPU time of whole PostgreSQL servers, from /proc: of the postmaster, of its processes, and of those that
// have ended.
import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = 100;

/**
 * Fields of /proc/<pid>/stat after the name in parentheses, counted from 0: parent 1, times 11 to 14;
 * undefined when it has ended.
 */
function readStat(pid: number): readonly number[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
  } catch {
    return undefined;
  }
}

/** The processes of the server with this postmaster. */
export const listBackends = (postmaster: number): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => !Number.isNaN(pid) && readStat(pid)?.[1] === postmaster);

/** CPU seconds of the server with this postmaster since it was started. */
export function serverCpuSeconds(postmaster: number): number {
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = readStat(postmaster)?.slice(11, 15) ?? [];
  const running = listBackends(postmaster).map((pid) => readStat(pid)?.slice(11, 13) ?? []);
  return (
    [user, system, endedUser, endedSystem, ...running.flat()].reduce((sum, ticks) => sum + ticks, 0) /
    ticksPerSecond
  );
}
