// The processes of this machine, as Linux tells of them.
import { readdir, readFile } from 'node:fs/promises';

type Process = { readonly pid: number; readonly parent: number /** `T`: it was stopped. */; readonly state: string };

export async function processes(): Promise<Process[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      // The second word is the program's name in parentheses, which may hold anything.
      const told = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
      const [state, parent] = told.slice(told.lastIndexOf(')') + 2).split(' ');
      return { pid: Number(name), parent: Number(parent), state: state ?? '' };
    }),
  );
  return found.filter(({ state }) => state !== '');
}

/** False when there is no such process any more. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
