// On the embedded PostgreSQL, exports leave processor time to page reads.
import { readFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import type { Pool } from 'pg';
import { afterAll, expect, it } from 'vitest';
import { openDb } from '../../src/db/connect.ts';
import { until } from '../setup/until.ts';
import { useDatabase } from '../setup/use-database.ts';

const database = useDatabase();
const opened: ReturnType<typeof openDb>[] = [];
afterAll(async () => {
  for (const db of opened) await db.close();
});

function open(isEmbedded: boolean): ReturnType<typeof openDb> {
  const db = openDb(database.address, database.address, { control: 1, data: 1 }, 5_000, { isEmbedded });
  opened.push(db);
  return db;
}
const readBackendPid = async (pool: Pool): Promise<number> =>
  (await pool.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0;

it('backends of exports have a lower priority than those of lists, on the embedded server only', async () => {
  const embedded = open(true);
  const normal = getPriority();
  const exporting = await readBackendPid(embedded.exports);
  expect([getPriority(exporting), getPriority(await readBackendPid(embedded.data))]).toEqual([
    Math.max(10, normal),
    normal,
  ]);
  expect(getPriority(await readBackendPid(open(false).exports))).toBe(normal);
  const autogroup = `/proc/${exporting}/autogroup`;
  const supported = (await readFile(autogroup, 'utf8').catch(() => '')) !== '';
  // Not every Linux has autogroups.
  if (supported) await until(async () => (await readFile(autogroup, 'utf8')).endsWith('nice 10\n'));
});
