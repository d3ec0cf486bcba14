// A Citus cluster of one coordinator and some workers for tests. The kit whose folder CITUS_KIT names starts
// one of its own on loopback; with CITUS_URL, the address of a superuser at the coordinator of a real
// cluster, tests get a database there, and those that kill servers are not run.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { findPrograms } from '../../../../src/db/embedded/programs.ts';
import { databaseUrl } from '../../../setup/database-url.ts';
import { openScratchFolder } from '../../../setup/scratch-folder.ts';
import { asSuperuser } from '../../../setup/superuser.ts';
import {
  type Connection,
  describeServer,
  type Place,
  type Server,
  startStandby,
} from '../../harness/server.ts';

const root = path.join(import.meta.dirname, '../../../..');
const realUrl = process.env['CITUS_URL'];
const givenKit = process.env['CITUS_KIT'];
const kit = givenKit === undefined || givenKit === '' ? undefined : path.resolve(givenKit);

/** Why tests that need a cluster can't run, for `describeIf`; undefined when they can. */
export const noCluster: string | undefined =
  kit === undefined && realUrl === undefined ? 'no CITUS_KIT' : undefined;
/** The same for tests that kill servers or add standbys. */
export const noLocalCluster: string | undefined =
  realUrl === undefined ? noCluster : 'CITUS_URL names a cluster that tests must not kill';

/**
 * The superuser's `connection` has the database `postgres`; `query` runs one statement, by default in the
 * cluster's database.
 */
export type Node = Pick<Server, 'name' | 'connection' | 'query'>;

export type Cluster = {
  readonly coordinator: Node;
  readonly workers: readonly Node[];
  /** The name of the database that has the extension and knows the nodes. */
  readonly database: string;
  /** The superuser's address at the coordinator: DATABASE_URL and MIGRATION_DATABASE_URL. */
  readonly databaseUrl: string;
  /** The address of a node, with the superuser's login or another one. */
  url(node: Node, login?: Partial<Pick<Connection, 'user' | 'password' | 'database'>>): string;
  /** A node or standby by its name: `coordinator`, `worker1`, … Throws for an unknown one. */
  node(name: string): Node;
  /** Ends a node at once, without a checkpoint, as a failure of the machine would. */
  kill(name: string): Promise<void>;
  start(name: string): Promise<void>;
  /**
   * Copies a running node into a streaming hot standby, called `<name>-standby`, which the cluster doesn't
   * know yet.
   */
  addStandby(name: string): Promise<Node>;
  stop(): Promise<void>;
};

export type ClusterOptions = {
  readonly workers?: number;
  /** Whether the service's roles are made on all nodes, as `prepare-citus` makes them (true). */
  readonly roles?: boolean;
  /**
   * An empty folder for its data, which is removed by `stop`; by default in memory if there is enough of it.
   */
  readonly folder?: string;
  /** Settings of all servers. */
  readonly serverSettings?: Readonly<Record<string, string>>;
};

export const serviceRoles = ['portal_owner', 'portal_service', 'portal_simulator'];

const clusterDatabase = 'portal';

/** Defaults that the service must not depend on, on any node. */
const foreignDefaults = { timezone: 'America/New_York', datestyle: 'ISO, DMY' };

/** Starts a cluster. Rejects with the kit's output, or when neither a kit nor a cluster is given. */
export async function startCluster({
  workers = 2,
  roles = true,
  folder: given,
  serverSettings,
}: ClusterOptions = {}): Promise<Cluster> {
  if (realUrl !== undefined) return joinRealCluster(realUrl, roles);
  if (kit === undefined) throw new Error('neither CITUS_KIT nor CITUS_URL is set');
  const { folder, remove } = await openScratchFolder('portal-citus-', given);
  await chmod(folder, 0o755);
  const conf = Object.entries({ ...foreignDefaults, ...serverSettings })
    .map(([name, value]) => `${name} = '${value}'`)
    .join(';');
  const options: Record<string, string> = {
    '--node-modules': path.join(root, 'node_modules'),
    '--folder': folder,
    '--workers': String(workers),
    '--extra-conf': conf,
    '--database': clusterDatabase,
    ...(roles && { '--roles': serviceRoles.join() }),
  };
  const program = path.join(kit, 'start-cluster.ts');
  const started = await promisify(execFile)(process.execPath, [program, ...Object.entries(options).flat()]);
  const made = JSON.parse(started.stdout) as {
    programs: string;
    nodes: { name: string; port: number; data: string; log: string }[];
  };
  const npm = await findPrograms(() => undefined);
  const bin = (name: string): string => path.join(made.programs, 'bin', name);
  const programs = { ...npm, postgres: bin('postgres'), initdb: bin('initdb'), pg_ctl: bin('pg_ctl') };
  const place = (name: string): Place => ({ programs, folder, name });
  const servers = new Map<string, Server>();
  for (const { name, port, data, log } of made.nodes)
    servers.set(name, await describeServer(place(name), 'trusted', { dataFolder: data, logFile: log, port }));
  const server = (name: string): Server => {
    const found = servers.get(name);
    if (found === undefined) throw new Error(`there is no node ${name}`);
    return found;
  };
  return {
    ...describeCluster([...servers.values()], clusterDatabase, (name) =>
      inDatabase(server(name), clusterDatabase),
    ),
    kill: (name) => server(name).kill(),
    start: (name) => server(name).start(),
    addStandby: async (name) => {
      const standby = await startStandby(place(`${name}-standby`), server(name));
      servers.set(standby.name, standby);
      return inDatabase(standby, clusterDatabase);
    },
    stop: async () => {
      for (const { kill } of servers.values()) await kill();
      await remove();
    },
  };
}

function inDatabase(node: Node, database: string): Node {
  return { ...node, query: (sql, values, other = database) => node.query(sql, values, other) };
}

function describeCluster(nodes: readonly Node[], database: string, node: Cluster['node']) {
  const [coordinator, ...workers] = nodes.map((each) => inDatabase(each, database));
  if (coordinator === undefined) throw new Error('the cluster has no nodes');
  const url: Cluster['url'] = ({ connection }, login = {}) =>
    databaseUrl({ ...connection, database, ...login });
  return { coordinator, workers, database, databaseUrl: url(coordinator), url, node };
}

/** A server that isn't ours to start or stop, with the login of `url`. */
function describeNode(name: string, connection: Connection): Node {
  return {
    name,
    connection,
    query: <Row extends object>(
      sql: string,
      values: readonly unknown[] = [],
      database = connection.database,
    ) =>
      asSuperuser(
        { ...connection, database },
        async (client) => (await client.query<Row>(sql, [...values])).rows,
      ),
  };
}

async function joinRealCluster(url: string, roles: boolean): Promise<Cluster> {
  const given = new URL(url);
  const login = {
    user: decodeURIComponent(given.username),
    password: decodeURIComponent(given.password),
    database: 'postgres',
  };
  const first = describeNode('coordinator', {
    host: given.hostname,
    port: Number(given.port || 5432),
    ...login,
  });
  const known = await first.query<{ host: string; port: number }>(
    `select nodename as host, nodeport as port from pg_dist_node where noderole = 'primary' and groupid > 0 order by groupid`,
    [],
    given.pathname.slice(1) || 'postgres',
  );
  const nodes = [
    first,
    ...known.map(({ host, port }, index) => describeNode(`worker${index + 1}`, { host, port, ...login })),
  ];
  const database = `portal_test_${randomBytes(6).toString('hex')}`;
  await createClusterDatabase(nodes, database, { roles });
  const unavailable = (): never => {
    throw new Error('the servers of a real cluster are not the tests’ to start or to stop');
  };
  const find = (name: string): Node => nodes.find((node) => node.name === name) ?? unavailable();
  return {
    ...describeCluster(nodes, database, (name) => inDatabase(find(name), database)),
    kill: unavailable,
    start: unavailable,
    addStandby: unavailable,
    stop: async () => {
      for (const node of nodes)
        await node.query(`drop database if exists ${database} with (force)`, [], 'postgres');
    },
  };
}

/**
 * Makes a database on all nodes that has the extension and in which they know each other; the first one is
 * the coordinator.
 */
export async function createClusterDatabase(
  nodes: readonly Node[],
  database: string,
  { roles }: { roles: boolean },
): Promise<void> {
  const [coordinator, ...workers] = nodes;
  if (coordinator === undefined) throw new Error('the cluster has no nodes');
  for (const node of nodes) {
    await node.query(`create database ${database}`, [], 'postgres');
    await node.query('create extension citus', [], database);
  }
  const { host, port } = coordinator.connection;
  const inIt = (sql: string, values: readonly unknown[] = []) => coordinator.query(sql, values, database);
  await inIt('select citus_set_coordinator_host($1, $2)', [host, port]);
  for (const { connection } of workers)
    await inIt('select citus_add_node($1, $2)', [connection.host, connection.port]);
  await inIt(`select citus_set_node_property($1, $2, 'shouldhaveshards', $3)`, [
    host,
    port,
    workers.length === 0,
  ]);
  if (!roles) return;
  for (const role of serviceRoles)
    await inIt(
      `do $$ begin create role ${role} login noinherit; exception when duplicate_object then null; end $$`,
    );
  for (const node of nodes) {
    await node.query(
      'set citus.enable_ddl_propagation to off; create extension if not exists pg_trgm',
      [],
      database,
    );
    await node.query(`grant create on schema public to portal_owner`, [], database);
    await node.query(`grant usage on schema public to ${serviceRoles.join()}`, [], database);
  }
}
