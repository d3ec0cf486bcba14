// Makes a cluster of servers that don't know each other yet: the database and the extension on each, the
// coordinator's own address, and the workers. What exists is left as it is.
import type { Knex } from 'knex';
import { escapeIdentifier } from 'pg';
import { sqlState } from '../../db/pg-errors.ts';
import { attempt, type Check } from './checks.ts';
import {
  type Address,
  formatAddress,
  listClusterNodes,
  parseDatabaseName,
  urlAt,
  withConnection,
} from './cluster.ts';

/** Creates the database of the address unless it exists. Rejects with the error of the server. */
export async function ensureDatabase(url: string, server: Address): Promise<'ok' | 'changed'> {
  const at = urlAt(url, server);
  const connected = await withConnection(at, (knex) => knex.raw('select')).catch((error: unknown) => {
    if (sqlState(error) !== '3D000') throw error;
    return undefined;
  });
  if (connected !== undefined) return 'ok';
  const create = `create database ${escapeIdentifier(parseDatabaseName(at))} encoding utf8 template template0`;
  await withConnection(urlAt(url, server, 'postgres'), (knex) => knex.raw(create));
  return 'changed';
}

async function ensureExtension(url: string): Promise<void> {
  await withConnection(url, (knex) => knex.raw('create extension if not exists citus'));
}

/** The coordinator's own address, under which the workers reach it. */
const registerCoordinator = (coordinator: Knex, server: Address): Promise<Check> =>
  attempt(
    formatAddress(server),
    'registered as coordinator',
    'pass the address under which the workers reach it as --coordinator <host:port>',
    async () => {
      if ((await listClusterNodes(coordinator)).some(({ isCoordinator }) => isCoordinator)) return 'ok';
      if (server.host.startsWith('/')) throw new Error(`${server.host} is a folder of this machine`);
      await coordinator.raw('select citus_set_coordinator_host(?, ?)', [server.host, server.port]);
      return 'changed';
    },
  );

/** A new worker needs the database and the extension before the coordinator can add it. */
const registerWorker = (coordinator: Knex, url: string, worker: Address): Promise<Check> =>
  attempt(
    formatAddress(worker),
    'part of the cluster',
    'start it with Citus loaded, and let the login of MIGRATION_DATABASE_URL log in from here and from the coordinator: docs/citus.md#let-the-nodes-log-in',
    async () => {
      const known = (await listClusterNodes(coordinator)).find(
        ({ host, port }) => host === worker.host && port === worker.port,
      );
      if (known?.isActive === true) return 'ok';
      await ensureDatabase(url, worker);
      await ensureExtension(urlAt(url, worker));
      // In one transaction, the default, the catalogue of some hundred organizations takes more locks than
      // PostgreSQL has by default.
      await coordinator.raw("set citus.metadata_sync_mode = 'nontransactional'");
      await coordinator.raw('select citus_add_node(?, ?)', [worker.host, worker.port]);
      return 'changed';
    },
  );

/** Registers the coordinator and these workers, in this order. Never rejects for a single one. */
export async function registerNodes(
  coordinator: Knex,
  url: string,
  self: Address,
  workers: readonly Address[],
): Promise<Check[]> {
  const checks = [await registerCoordinator(coordinator, self)];
  for (const worker of workers) checks.push(await registerWorker(coordinator, url, worker));
  return checks;
}
