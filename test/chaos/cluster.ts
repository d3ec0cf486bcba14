// A PostgreSQL of its own, with the durability that it has unless told otherwise, that can be stopped as if the power had failed.
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { openKnex } from '../../src/db/connect.ts';
import { type EmbeddedDatabase, startEmbedded } from '../../src/db/embedded.ts';

export type Cluster = {
  readonly connection: EmbeddedDatabase['connection'];
  /** What durability it runs with, in PostgreSQL's own words. */
  readonly durability: string;
  /** Stops it at once: no checkpoint, no farewell to anybody; and starts it again, which recovers from the log. */
  crash(): Promise<void>;
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

export async function startCluster(folder: string): Promise<Cluster> {
  let server = await startEmbedded(folder, { settings: { max_connections: '200' } });
  const { connection } = server;
  return {
    connection,
    durability: await describeDurability(connection),
    async crash() {
      const pid = await postmasterPid(folder);
      process.kill(pid, 'SIGQUIT'); // what `pg_ctl stop -m immediate` sends
      for (const end = performance.now() + goneWithinMs; isAlive(pid); ) {
        if (performance.now() > end) throw new Error('PostgreSQL did not stop');
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      server = await startEmbedded(folder, { settings: { max_connections: '200' } });
    },
    stop: async () => {
      await server.stop();
    },
  };
}
