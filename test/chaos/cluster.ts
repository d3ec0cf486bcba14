// A separate PostgreSQL with its default durability, which can be stopped as in a power failure, and replaced
// by a standby.
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { openKnex } from '../../src/db/connect.ts';
import { type EmbeddedDatabase, startEmbedded } from '../../src/db/embedded/embedded.ts';
import { copyCluster, type Standby, startStandby } from './standby.ts';

export type Cluster = {
  readonly connection: EmbeddedDatabase['connection'];
  /** Its durability settings, as PostgreSQL reports them. */
  readonly durability: string;
  /**
   * Stops it immediately, without a checkpoint or closing connections, and starts it again, which recovers
   * from the WAL.
   */
  crash(): Promise<void>;
  /**
   * Ends it and waits: SIGINT stops it after rolling back its transactions, SIGQUIT immediately, SIGKILL
   * leaves its backends orphaned.
   */
  down(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>;
  up(): Promise<void>;
  /** The pid of the postmaster. */
  pid(): Promise<number>;
  /** A standby that has every commit until now at least, and receives nothing more. */
  addStandby(): Promise<Standby>;
  /**
   * Ends the server at once and promotes the standby, which is reached at the same address from then on: the
   * commits it lacks are lost.
   */
  failOver(standby: Standby): Promise<void>;
  stop(): Promise<void>;
};

async function postmasterPid(folder: string): Promise<number> {
  const name = (await readdir(folder)).find((entry) => /^postgres-\d+$/.test(entry));
  const text = await readFile(path.join(folder, name ?? '', 'postmaster.pid'), 'utf8');
  return Number.parseInt(text, 10);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function describeDurability(connection: EmbeddedDatabase['connection']): Promise<string> {
  const admin = openKnex(connection, null, 1);
  try {
    const names = ['fsync', 'full_page_writes', 'synchronous_commit'];
    const { rows } = await admin.raw<{ rows: { name: string; setting: string }[] }>(
      'select name, setting from pg_settings where name = any(?) order by name',
      [names],
    );
    return rows.map(({ name, setting }) => `${name}=${setting}`).join(' ');
  } finally {
    await admin.destroy();
  }
}

const goneWithinMs = 60_000;

export async function startCluster(folder: string, given: Record<string, string> = {}): Promise<Cluster> {
  const settings = { max_connections: '200', wal_level: 'replica', max_wal_senders: '2', ...given };
  let server = await startEmbedded(folder, { settings });
  const { connection } = server;
  const up = async (): Promise<void> => {
    server = await startEmbedded(folder, { settings });
  };
  const down = async (signal: NodeJS.Signals): Promise<void> => {
    const pid = await postmasterPid(folder);
    process.kill(pid, signal);
    for (const end = performance.now() + goneWithinMs; isAlive(pid); ) {
      if (performance.now() > end) throw new Error('PostgreSQL did not stop');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  return {
    connection,
    durability: await describeDurability(connection),
    async crash() {
      await down('SIGQUIT'); // what `pg_ctl stop -m immediate` sends
      await up();
    },
    down,
    up,
    pid: () => postmasterPid(folder),
    async addStandby() {
      const copy = `${folder}-standby`;
      await copyCluster(connection, folder, copy);
      return startStandby(copy, settings);
    },
    async failOver(standby) {
      await down('SIGQUIT');
      await standby.promote(folder);
      await up();
    },
    stop: async () => {
      await server.stop();
    },
  };
}
