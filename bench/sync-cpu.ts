// CPU time in seconds of a piece of work, in this process and in PostgreSQL: steadier than wall time on a
// shared machine. PostgreSQL's part is NaN where /proc is missing.
import { readFile } from 'node:fs/promises';
import type { Pool } from 'pg';

export type Cpu = { readonly node: number; readonly postgres: number };
const ticksPerSecond = 100;

async function postgresSeconds(admin: Pool): Promise<number> {
  const { rows } = await admin.query<{ pid: number }>('select pid from pg_stat_activity');
  const ticks = await Promise.all(
    rows.map(async ({ pid }) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
      if (stat === undefined) return Number.NaN;
      // Fields after the name in parentheses, counted from 0: state is 0, user time 11, system time 12
      // (proc(5)).
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(fields[11]) + Number(fields[12]);
    }),
  );
  return ticks.reduce((sum, value) => sum + value, 0) / ticksPerSecond;
}

/** The work must not close connections. Those it opens count in full, as their processes start at zero. */
export async function measureCpu(admin: Pool, work: () => Promise<unknown>): Promise<Cpu> {
  const [before, start] = [await postgresSeconds(admin), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(start);
  return { node: (user + system) / 1e6, postgres: (await postgresSeconds(admin)) - before };
}
