// The processes of this machine, read from /proc (Linux).
import { readdir, readFile } from 'node:fs/promises';
import { until } from '../setup/until.ts';

type Process = {
  readonly pid: number;
  readonly parent: number /** `T`: stopped by a signal. */;
  readonly state: string;
};

export async function processes(): Promise<Process[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      // The second field is the program's name in parentheses, which may contain any character.
      const text = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
      const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
      return { pid: Number(name), parent: Number(parent), state: state ?? '' };
    }),
  );
  return found.filter(({ state }) => state !== '');
}

/** False when the process doesn't exist any more. */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Suspends a PostgreSQL server, as when its host freezes. Returns the function that resumes it. */
export async function freezeServer(postmaster: number): Promise<() => void> {
  // First, so that it starts no more processes.
  signal(postmaster, 'SIGSTOP');
  await until(async () => (await processes()).find(({ pid }) => pid === postmaster)?.state === 'T');
  const children = (await processes()).filter(({ parent }) => parent === postmaster).map(({ pid }) => pid);
  for (const pid of children) signal(pid, 'SIGSTOP');
  return () => {
    for (const pid of [postmaster, ...children]) signal(pid, 'SIGCONT');
  };
}
