// How many processes serve requests: the value of PROCESSES, as far as PostgreSQL has connections for them.
import { availableParallelism } from 'node:os';
import type { Config } from '../config.ts';
import { openKnex } from '../db/connect.ts';
import { UnusableDatabase } from '../db/unusable-database.ts';
import type { OpenedDatabase } from '../open-database.ts';
import { countConnections } from './divide.ts';

/** Without those that PostgreSQL keeps for superusers, and those that are open, one of which is this query's. */
const freeSql = `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
  - coalesce(current_setting('reserved_connections', true), '0')::int
  - (select coalesce(sum(numbackends), 0) from pg_stat_database)::int + 1 as free`;

async function readFreeConnections({ control }: OpenedDatabase): Promise<number> {
  const knex = openKnex(control, 'portal_service', 1);
  try {
    const { rows } = await knex.raw<{ rows: { free: number }[] }>(freeSql);
    return rows[0]?.free ?? 0;
  } finally {
    await knex.destroy();
  }
}

/**
 * The number of processes for `free` connections. Throws UnusableDatabase when PROCESSES is a number that needs
 * more of them; `auto` is then a smaller number.
 */
export function chooseProcesses(config: Config, free: number, cores: number, holdsRecords: boolean): number {
  const { PROCESSES } = config;
  const need = (processes: number): number => countConnections(config, processes, holdsRecords);
  if (PROCESSES === 'auto') {
    let processes = cores;
    while (processes > 1 && need(processes) > free) processes -= 1;
    return processes;
  }
  if (PROCESSES === 1 || need(PROCESSES) <= free) return PROCESSES;
  throw new UnusableDatabase(
    `PROCESSES=${PROCESSES} needs ${need(PROCESSES)} connections to PostgreSQL, with one process more during a rolling restart; ` +
      `${free} of its max_connections are free. Raise max_connections, or lower PROCESSES or the sizes of the pools.`,
  );
}

/**
 * Rejects with UnusableDatabase when PROCESSES is a number for which PostgreSQL hasn't enough connections, and
 * with the database's error when it doesn't respond.
 */
export async function countProcesses(config: Config, opened: OpenedDatabase): Promise<number> {
  const free = await readFreeConnections(opened);
  return chooseProcesses(config, free, availableParallelism(), opened.data === opened.control);
}
