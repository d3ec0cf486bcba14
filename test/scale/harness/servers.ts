// A primary and streaming standbys of it, from the npm package. A failover is `killPrimary` and `promote`;
// one that loses commits has `stopReceiving` before these commits. After `promote`, `primary` is the promoted
// server.
import { chmod } from 'node:fs/promises';
import { findPrograms } from '../../../src/db/embedded/programs.ts';
import { until } from '../../setup/until.ts';
import { buildConninfo, removeServer, type Server, startPrimary, startStandby } from './server.ts';

export type { Server } from './server.ts';

export type Servers = {
  /** The server that takes writes; after `promote` it is another one. */
  readonly primary: Server;
  readonly standbys: readonly Server[];
  /** The first standby. Throws when there is none. */
  readonly standby: Server;
  /** Copies the primary into one more standby, and returns it when it streams. */
  addStandby(): Promise<Server>;
  /** Ends the primary at once; without `promote`, `primary.start()` brings it back. */
  killPrimary(): Promise<void>;
  /**
   * Makes a standby (the first one) the primary; all others follow it. The former primary, which must not
   * run, is removed.
   */
  promote(standby?: Server): Promise<void>;
  /**
   * An orderly switchover: the primary is stopped when the standby has received everything, then `promote`.
   */
  switchOver(standby?: Server): Promise<void>;
  /** The standby still receives, but shows an older state until `resumeReplay`. */
  pauseReplay(standby?: Server): Promise<void>;
  resumeReplay(standby?: Server): Promise<void>;
  /**
   * Cuts a standby off from the primary until `startReceiving`: what is committed from now on is lost when it
   * is promoted.
   */
  stopReceiving(standby?: Server): Promise<void>;
  startReceiving(standby?: Server): Promise<void>;
  /** Whether a commit waits until a standby has it. A promoted server doesn't wait at first. */
  setSynchronous(isSynchronous: boolean): Promise<void>;
  /** Resolves when a standby shows everything that is committed now. */
  caughtUp(standby?: Server): Promise<void>;
  stop(): Promise<void>;
};

export type ServersOptions = { readonly standbys?: number; readonly settings?: Record<string, string> };

/**
 * Starts one primary with `standbys` (1) standbys in an empty `folder`, which becomes readable to the user
 * that runs PostgreSQL.
 */
export async function startPair(
  folder: string,
  { standbys: count = 1, settings = {} }: ServersOptions = {},
): Promise<Servers> {
  await chmod(folder, 0o755);
  const programs = await findPrograms(() => undefined);
  let made = 0;
  const place = () => ({ programs, folder, name: `server${++made}` });
  let primary = await startPrimary(place(), settings);
  let standbys: Server[] = [];
  const first = (): Server => {
    const [standby] = standbys;
    if (standby === undefined) throw new Error('there is no standby');
    return standby;
  };
  const receiveFrom = async (standby: Server, from: Server | null): Promise<void> => {
    await standby.query(
      `alter system set primary_conninfo = '${from === null ? '' : buildConninfo(from, standby.name)}'`,
    );
    await standby.query('select pg_reload_conf()');
    await until(
      async () => (await standby.query('select from pg_stat_wal_receiver')).length > 0 === (from !== null),
    );
  };
  const servers: Servers = {
    get primary() {
      return primary;
    },
    get standbys() {
      return standbys;
    },
    get standby() {
      return first();
    },
    addStandby: async () => {
      const standby = await startStandby(place(), primary);
      standbys = [...standbys, standby];
      await servers.caughtUp(standby);
      return standby;
    },
    killPrimary: () => primary.kill(),
    promote: async (standby = first()) => {
      await standby.query('select pg_promote()');
      const former = primary;
      primary = standby;
      standbys = standbys.filter((other) => other !== standby);
      for (const other of standbys) await receiveFrom(other, primary);
      await former.kill();
      await removeServer(former);
    },
    switchOver: async (standby = first()) => {
      await primary.stop();
      await servers.promote(standby);
    },
    pauseReplay: async (standby = first()) => {
      await standby.query('select pg_wal_replay_pause()');
      await until(async () => {
        const [row] = await standby.query<{ state: string }>(
          'select pg_get_wal_replay_pause_state() as state',
        );
        return row?.state === 'paused';
      });
    },
    resumeReplay: async (standby = first()) => {
      await standby.query('select pg_wal_replay_resume()');
    },
    stopReceiving: (standby = first()) => receiveFrom(standby, null),
    startReceiving: (standby = first()) => receiveFrom(standby, primary),
    setSynchronous: async (isSynchronous) => {
      await primary.query(`alter system set synchronous_standby_names = '${isSynchronous ? '*' : ''}'`);
      await primary.query('select pg_reload_conf()');
      await until(async () => {
        const [row] = await primary.query<{ now: string }>(
          "select current_setting('synchronous_standby_names') as now",
        );
        return (row?.now === '*') === isSynchronous;
      });
    },
    caughtUp: async (standby = first()) => {
      const [now] = await primary.query<{ lsn: string }>('select pg_current_wal_lsn()::text as lsn');
      await until(async () => {
        const [row] = await standby.query<{ done: boolean }>(
          'select pg_last_wal_replay_lsn() >= $1::pg_lsn as done',
          [now?.lsn],
        );
        return row?.done === true;
      });
    },
    stop: async () => {
      for (const server of [...standbys, primary]) await server.kill();
    },
  };
  for (let standby = 0; standby < count; standby += 1) await servers.addStandby();
  return servers;
}
