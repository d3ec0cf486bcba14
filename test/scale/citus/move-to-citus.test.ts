// A move from a plain PostgreSQL to a Citus cluster, killed at several moments, while the records are read.
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findPrograms } from '../../../src/db/embedded/programs.ts';
import { describeMove, type Sites } from '../../ops/move-story.ts';
import { databaseUrl } from '../../setup/database-url.ts';
import { openScratchFolder } from '../../setup/scratch-folder.ts';
import { startPrimary } from '../harness/server.ts';
import { noCluster, startCluster } from './harness/cluster.ts';

async function openSites(): Promise<Sites> {
  const cluster = await startCluster();
  const { folder: servers, remove } = await openScratchFolder('portal-former-');
  await chmod(servers, 0o755);
  const plain = await startPrimary(
    { programs: await findPrograms(() => undefined), folder: servers, name: 'former' },
    {},
  );
  const folder = await mkdtemp(path.join(tmpdir(), 'portal-move-'));
  return {
    former: { url: databaseUrl(plain.connection), folder },
    target: { url: cluster.databaseUrl, folder },
    isPlaced: async (schema) => {
      const tables = await cluster.coordinator.query<{ type: string | null }>(
        `select t.citus_table_type::text as type from pg_class c left join citus_tables t on t.table_name = c.oid
         where c.relnamespace = to_regnamespace($1) and c.relkind = 'r'`,
        [schema],
      );
      return tables.length > 10 && tables.every(({ type }) => type === 'schema');
    },
    close: async () => {
      await cluster.stop();
      await plain.kill();
      await remove();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

describeMove('a move to Citus', openSites, noCluster);
