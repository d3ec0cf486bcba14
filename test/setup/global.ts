// Starts one PostgreSQL for the whole run and migrates a template database once; every test file clones it.
// Builds what tests of processes start, the portal's pages and the client, where they are not of today's sources.
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { openKnex } from '../../src/db/connect.ts';
import { type EmbeddedDatabase, startEmbedded } from '../../src/db/embedded/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import { ensureServiceLogin } from '../../src/db/service-login.ts';
import { startCleanupWatcher } from './cleanup-watcher.ts';
import { createScratchFolder } from './scratch-folder.ts';

/** With the login of the cluster's superuser. */
export type TestServer = EmbeddedDatabase['connection'];
declare module 'vitest' {
  export interface ProvidedContext {
    pg: TestServer;
    /** The servers on which a test's database must be made: that one or, on Citus, all nodes. */
    nodes: readonly TestServer[];
    /** With which the service connects: a plain member of portal_service. */
    serviceLogin: EmbeddedDatabase['serviceLogin'];
  }
}

export const templateName = 'portal_template';

/** No test depends on the durability of this cluster, so it doesn't wait for the disk. */
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  max_connections: '300',
};

const buildScript = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url));

export default async function setup(project: TestProject) {
  for (const name of ['portal', 'client', 'service'])
    await promisify(execFile)(process.execPath, [buildScript, name]);
  const folder = await createScratchFolder('portal-test-');
  const stopWatcher = startCleanupWatcher(folder);
  const server = await startEmbedded(path.join(folder, 'data'), { settings });
  try {
    const admin = openKnex(server.connection, null, 1);
    await admin.raw(`create database ${templateName}`);
    await admin.destroy();
    const template = { ...server.connection, database: templateName };
    await migrate(template);
    await ensureServiceLogin(template, server.serviceLogin, { overwrite: true });
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide('pg', server.connection);
  project.provide('nodes', [server.connection]);
  project.provide('serviceLogin', server.serviceLogin);
  return async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
    stopWatcher();
  };
}
