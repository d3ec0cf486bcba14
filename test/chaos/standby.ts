// A standby of the simulation's PostgreSQL: a copy of its running server that receives nothing more from the
// moment it was made.
import { execFile } from 'node:child_process';
import { chown, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { type EmbeddedDatabase, startEmbedded } from '../../src/db/embedded/embedded.ts';
import { until } from '../setup/until.ts';

type Connection = EmbeddedDatabase['connection'];
export type Standby = {
  /** To the database `postgres`; it shows the commits that it has. */
  readonly connection: Connection;
  /**
   * Makes it a primary, stops it, and moves its files to where those of the former primary are, which must
   * not run.
   */
  promote(folder: string): Promise<void>;
};

const run = promisify(execFile);

async function withClient<T>(connection: Connection, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(connection);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function clusterIn(folder: string): Promise<string> {
  return (await readdir(folder)).find((entry) => /^postgres-\d+$/.test(entry)) ?? '';
}

/** What is dropped meanwhile may be missing in the copy: the recovery drops it as well. */
async function copyFiles(from: string, names: readonly string[], to: string): Promise<void> {
  const sources = names.map((name) => path.join(from, name));
  await run('cp', ['-a', ...sources, to]).catch((error: Error & { stderr?: string }) => {
    const others = (error.stderr ?? error.message)
      .split('\n')
      .filter((line) => line !== '' && !line.includes('No such file'));
    if (others.length > 0) throw error;
  });
}

/** The log is copied last; a server of its own writes the rest. */
const isCopied = (name: string): boolean => !/^(pg_wal$|postmaster\.|\.s\.PGSQL)/.test(name);

/**
 * Copies the files of the running server in `folder` while it works, with the log that makes them consistent,
 * as those of a standby.
 */
export async function copyCluster(connection: Connection, folder: string, copy: string): Promise<void> {
  const name = await clusterIn(folder);
  const [from, to] = [path.join(folder, name), path.join(copy, name)];
  await rm(copy, { recursive: true, force: true });
  await mkdir(copy);
  const { uid, gid } = await stat(from);
  const make = async (file: string): Promise<void> => {
    await mkdir(path.join(to, file), { mode: 0o700 });
    await chown(path.join(to, file), uid, gid);
  };
  const write = async (file: string, text: string): Promise<void> => {
    await writeFile(path.join(to, file), text, { mode: 0o600 });
    await chown(path.join(to, file), uid, gid);
  };
  await make('');
  await withClient(connection, async (client) => {
    // Both calls need the same session.
    const { rows } = await client.query<{ first: string }>(
      "select pg_walfile_name(pg_backup_start('standby', fast => true)) as first",
    );
    await copyFiles(from, (await readdir(from)).filter(isCopied), to);
    const stopped = await client.query<{ label: string }>(
      'select labelfile as label from pg_backup_stop(wait_for_archive => false)',
    );
    await write('backup_label', stopped.rows[0]?.label ?? '');
    await make('pg_wal');
    const isNeeded = (file: string): boolean => /^[0-9A-F]{24}$/.test(file) && file >= (rows[0]?.first ?? '');
    await copyFiles(
      path.join(from, 'pg_wal'),
      (await readdir(path.join(from, 'pg_wal'))).filter(isNeeded),
      path.join(to, 'pg_wal'),
    );
  });
  await write('standby.signal', '');
}

/** Starts the copy, and resolves when it has replayed all that it has. */
export async function startStandby(copy: string, settings: Record<string, string>): Promise<Standby> {
  const server = await startEmbedded(copy, { settings });
  const { connection } = server;
  await withClient(connection, (client) =>
    until(async () => {
      const { rows } = await client.query<{ activity: string }>(
        "select wait_event as activity from pg_stat_activity where backend_type = 'startup'",
      );
      // It waits for more of the log, which never comes.
      return rows[0]?.activity === 'RecoveryRetrieveRetryInterval' ? true : undefined;
    }),
  );
  return {
    connection,
    async promote(folder) {
      await withClient(connection, (client) => client.query('select pg_promote()'));
      if (!(await server.stop())) throw new Error('the promoted server is still used');
      const name = await clusterIn(copy);
      await rm(path.join(folder, name), { recursive: true });
      await rename(path.join(copy, name), path.join(folder, name));
      await rm(copy, { recursive: true });
    },
  };
}
