// The embedded PostgreSQL, from npm: creates the cluster inside the data folder, attaches to its server or
// starts it, and stops it when no other process uses it. All data stays inside the data folder. Must never
// stop a server that another process is attached to.
import path from 'node:path';
import { type Cluster, type ClusterConnection, prepareCluster } from './cluster.ts';
import { requirePasswords } from './passwords.ts';
import { findPrograms } from './programs.ts';
import { serverSettings } from './server-settings.ts';
import { attachOrStart } from './start-server.ts';
import { stopServer } from './stop-server.ts';

export type EmbeddedDatabase = {
  /** The superuser, over a private unix socket (Windows: loopback TCP). Nothing that serves uses it. */
  readonly connection: ClusterConnection;
  /** Name and password for the login of the service, which the caller creates with `ensureServiceLogin`. */
  readonly serviceLogin: Cluster['serviceLogin'];
  readonly startedHere: boolean;
  /**
   * Stops the server unless another client is connected; the caller must have closed its own connections.
   * Returns whether it did. Rejects when the server doesn't stop within two minutes.
   */
  stop(): Promise<boolean>;
};
export type EmbeddedOptions = { settings?: Record<string, string>; onProgress?: (step: string) => void };

/**
 * Attaches to the server of `dataDir`, or starts it (`settings` then apply). Rejects when a setting isn't
 * allowed, the folder belongs to another user or is writable by others, the programs are missing, or the
 * server doesn't start within two minutes.
 */
export async function startEmbedded(
  dataDir: string,
  options: EmbeddedOptions = {},
): Promise<EmbeddedDatabase> {
  const onProgress = options.onProgress ?? (() => {});
  const settings = serverSettings(options.settings ?? {});
  const programs = await findPrograms(onProgress);
  const cluster = await prepareCluster(path.resolve(dataDir), programs, onProgress);
  const { presence, startedHere } = await attachOrStart(cluster, settings, onProgress);
  // Only a server that this process started: another one may be used by processes of an earlier version,
  // which have no password.
  const { folder, connection, serviceLogin } = cluster;
  if (startedHere)
    await requirePasswords(folder, programs.account, presence.client, connection).catch(
      async (error: unknown) => {
        await stopServer(cluster, presence);
        throw error;
      },
    );
  // The presence connection alone must not keep the process alive.
  presence.socket.unref();
  return { connection, serviceLogin, startedHere, stop: () => stopServer(cluster, presence) };
}
