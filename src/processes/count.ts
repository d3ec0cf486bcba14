// How many processes serve requests: the value of PROCESSES, as far as PostgreSQL has connections for them.
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { systemClock } from '../core/clock.ts';
import { createLog, type Log } from '../core/log.ts';
import { openKnex } from '../db/connect.ts';
import { UnusableDatabase } from '../db/unusable-database.ts';
import type { OpenedDatabase } from '../open-database.ts';
import { countConnections } from './divide.ts';

/** `all`: without those that PostgreSQL keeps for superusers; `free`: without those that are open either. */
type Connections = { readonly all: number; readonly free: number };
/** One of the open ones is this query's. */
const connectionsSql = `select *, "all" + 1 - (select coalesce(sum(numbackends), 0) from pg_stat_database)::int as free
  from (select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
    - coalesce(current_setting('reserved_connections', true), '0')::int as "all") as settings`;

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

const askEveryMs = 1_000;
/** How much longer than its deadline a service that ends may hold connections. */
const graceMs = 5_000;

/** As `chooseProcesses`, after waiting for connections in use: an old instance that still drains frees its own. */
export async function waitForConnections(
  config: Config,
  read: () => Promise<Connections>,
  cores: number,
  holdsRecords: boolean,
  log: Log,
): Promise<number> {
  const { PROCESSES, SHUTDOWN_SECONDS } = config;
  const deadlineMs = systemClock.monotonicMs() + SHUTDOWN_SECONDS * 1_000 + graceMs;
  let { all, free } = await read();
  const wanted = PROCESSES === 'auto' ? chooseProcesses(config, all, cores, holdsRecords) : PROCESSES;
  const needed = wanted === 1 ? 0 : countConnections(config, wanted, holdsRecords);
  const mayBecomeFree = (): boolean => free < needed && needed <= all;
  if (mayBecomeFree()) log.info({ needed, free }, 'waiting for connections to PostgreSQL that are in use');
  while (mayBecomeFree() && systemClock.monotonicMs() < deadlineMs) {
    await sleep(askEveryMs);
    ({ all, free } = await read());
  }
  const processes = chooseProcesses(config, free, cores, holdsRecords);
  if (PROCESSES === 'auto' && processes < cores)
    log.warn({ processes, cores, free }, 'PROCESSES=auto: PostgreSQL has too few connections for all cores');
  return processes;
}

/**
 * Rejects with UnusableDatabase when PROCESSES is a number for which PostgreSQL hasn't enough connections, also
 * after a service that ends has had time to close its own, and with the database's error when it doesn't respond.
 */
export async function countProcesses(config: Config, { control, data }: OpenedDatabase): Promise<number> {
  const knex = openKnex(control, 'portal_service', 1);
  const read = async (): Promise<Connections> => {
    const { rows } = await knex.raw<{ rows: Connections[] }>(connectionsSql);
    return rows[0] ?? { all: 0, free: 0 };
  };
  const cores = availableParallelism();
  return waitForConnections(config, read, cores, data === control, createLog(config.LOG_LEVEL)).finally(() =>
    knex.destroy(),
  );
}
