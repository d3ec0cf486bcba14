// Seconds of processor time that a piece of work took, here and in PostgreSQL: steadier than wall time on a machine that others
// use too. NaN where /proc is missing.
import { readFile } from 'node:fs/promises';
import type { Pool } from 'pg';

export type Cpu = { readonly here: number; readonly postgres: number };
const ticksPerSecond = 100;

async function postgresSeconds(admin: Pool): Promise<number> {
  const { rows } = await admin.query<{ pid: number }>('select pid from pg_stat_activity');
  const ticks = await Promise.all(
    rows.map(async ({ pid }) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
      if (stat === undefined) return Number.NaN;
      // Behind the name in parentheses: state is the first, user and system time the 12th and 13th.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(fields[11]) + Number(fields[12]);
    }),
  );
  return ticks.reduce((sum, value) => sum + value, 0) / ticksPerSecond;
}

/** Connections must neither come nor go meanwhile, but for those that come from nothing. */
export async function cpuOf(admin: Pool, work: () => Promise<unknown>): Promise<Cpu> {
  const [before, start] = [await postgresSeconds(admin), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(start);
  return { here: (user + system) / 1e6, postgres: (await postgresSeconds(admin)) - before };
}
