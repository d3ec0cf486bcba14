// A migrated database on a Citus cluster, with a ctx as `testDatabase` gives it, so that fixtures which take
// a database run there.
import { randomBytes } from 'node:crypto';
import { migrate } from '../../../../src/db/migrate.ts';
import { ensureServiceLogin } from '../../../../src/db/service-login.ts';
import {
  openTestCtx,
  type TestCtx,
  type TestDatabase,
  type TestDatabaseOptions,
} from '../../../setup/database.ts';
import { type Cluster, type ClusterOptions, type Node, startCluster } from './cluster.ts';

export type CitusDatabase = TestDatabase & {
  readonly ctx: TestCtx;
  readonly cluster: Cluster;
  /** The address with the login of the service, at the coordinator or at this node. */
  serviceUrl(node?: Node): string;
  /** The node that has the records of an organization, by the name of its schema. Throws when none has. */
  getNode(schema: string): Promise<Node>;
};

export async function citusDatabase({
  workers,
  ...options
}: TestDatabaseOptions & ClusterOptions = {}): Promise<CitusDatabase> {
  const cluster = await startCluster({ ...(workers !== undefined && { workers }) });
  const { coordinator } = cluster;
  const address = { ...coordinator.connection, database: cluster.database };
  const login = {
    user: `portal_login_${randomBytes(4).toString('hex')}`,
    password: randomBytes(18).toString('base64url'),
  };
  const service = { ...address, ...login };
  await migrate(cluster.databaseUrl);
  await ensureServiceLogin(cluster.databaseUrl, login);
  const ctx = openTestCtx(service, options);
  return {
    ctx,
    address,
    service,
    cluster,
    serviceUrl: (node = coordinator) => cluster.url(node, login),
    getNode: async (schema) => {
      const [row] = await coordinator.query<{ port: number }>(
        `select n.nodeport as port from pg_class c join pg_dist_shard s on s.logicalrelid = c.oid join pg_dist_placement p using (shardid)
         join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary' where c.relnamespace = to_regnamespace($1) limit 1`,
        [schema],
      );
      const node = [coordinator, ...cluster.workers].find(({ connection }) => connection.port === row?.port);
      if (node === undefined) throw new Error(`no node has the schema ${schema}`);
      return node;
    },
    close: async () => {
      await ctx.db.close();
      await coordinator.query(`drop role if exists ${login.user}`).catch(() => undefined);
      await cluster.stop();
    },
  };
}
