// Starts one Citus cluster for the whole run and migrates a template database once; every test file clones it
// on all nodes.
import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../../../src/db/migrate.ts';
import { ensureServiceLogin } from '../../../../src/db/service-login.ts';
import { templateName } from '../../../setup/global.ts';
import { createClusterDatabase, noCluster, startCluster } from './cluster.ts';

/** No test depends on the durability of this cluster, so it doesn't wait for the disk. */
const serverSettings = { synchronous_commit: 'off', autovacuum: 'off', max_connections: '600' };

export default async function setup(project: TestProject) {
  if (noCluster !== undefined) return undefined;
  const cluster = await startCluster({ serverSettings });
  const nodes = [cluster.coordinator, ...cluster.workers];
  const serviceLogin = { user: 'portal_login', password: randomBytes(18).toString('base64url') };
  try {
    await createClusterDatabase(nodes, templateName, { roles: true });
    const template = { ...cluster.coordinator.connection, database: templateName };
    await migrate(template);
    await ensureServiceLogin(template, serviceLogin, { overwrite: true });
    for (const { query } of nodes) {
      // A database can be cloned only while no session is connected to it, and Citus connects by itself
      // whenever that is allowed.
      await query(`alter database ${templateName} with allow_connections false`, [], 'postgres');
      await query(
        'select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = $1',
        [templateName],
        'postgres',
      );
    }
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  project.provide('pg', cluster.coordinator.connection);
  project.provide(
    'nodes',
    nodes.map(({ connection }) => connection),
  );
  project.provide('serviceLogin', serviceLogin);
  return () => cluster.stop();
}
