// Backs up and restores a database as docs/backup.md describes: by copying a stopped cluster, and with
// pg_dump and pg_restore if the programs of the server's major version are installed.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { openKnex } from '../../src/db/connect.ts';
import { type EmbeddedDatabase, startEmbedded } from '../../src/db/embedded/embedded.ts';
import type { ClientPrograms } from '../setup/client-programs.ts';

const run = promisify(execFile);

/** Keeps owners and permissions. The server must be stopped. */
export const copyCluster = (from: string, to: string) => run('cp', ['-a', from, to]);

type Connection = EmbeddedDatabase['connection'];
/** pg_dump and pg_restore take the password from the environment. */
const runOn = ({ host, port, user, password }: Connection, program: string, ...args: string[]) =>
  run(program, ['-h', host, '-p', String(port), '-U', user, '-d', 'portal', ...args], {
    env: { PATH: process.env['PATH'] ?? '', PGPASSWORD: password },
  });

export const dumpDatabase = ({ dump }: ClientPrograms, from: Connection, file: string) =>
  runOn(from, dump, '-Fc', '-f', file);

/** Restores into a new server in the data directory `to`. */
export async function restoreDump({ restore }: ClientPrograms, file: string, to: string): Promise<void> {
  const server = await startEmbedded(to);
  try {
    const admin = openKnex(server.connection, null, 1);
    try {
      for (const role of ['portal_owner', 'portal_service', 'portal_simulator'])
        await admin.raw(`create role ${role} nologin noinherit`);
      await admin.raw('create database portal');
    } finally {
      await admin.destroy();
    }
    await runOn(server.connection, restore, '--exit-on-error', file);
  } finally {
    await server.stop();
  }
}

export async function serverMajor(connection: Connection): Promise<string> {
  const admin = openKnex(connection, null, 1);
  const { rows } = await admin
    .raw<{ rows: { major: string }[] }>("select current_setting('server_version_num')::int / 10000 as major")
    .finally(() => admin.destroy());
  return String(rows[0]?.major);
}
