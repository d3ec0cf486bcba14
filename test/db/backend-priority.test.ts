// Exports of a PostgreSQL on this machine leave the processors to whoever reads a page.
import { readFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDb } from '../../src/db/connect.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { until } from '../setup/until.ts';

let database: TestDatabase;
const opened: ReturnType<typeof openDb>[] = [];

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => {
  for (const db of opened) await db.close();
  await database.close();
});

function open(isOwn: boolean): ReturnType<typeof openDb> {
  const db = openDb(database.address, database.address, { control: 1, data: 1 }, 5_000, { isOwn });
  opened.push(db);
  return db;
}
const backendOf = async (pool: Pool): Promise<number> =>
  (await pool.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0;

it("backends of exports have a lower priority than those of lists, on one's own server alone", async () => {
  const own = open(true);
  const usual = getPriority();
  const exporting = await backendOf(own.exports);
  expect([getPriority(exporting), getPriority(await backendOf(own.data))]).toEqual([Math.max(10, usual), usual]);
  expect(getPriority(await backendOf(open(false).exports))).toBe(usual);
  const groups = `/proc/${exporting}/autogroup`;
  const told = await readFile(groups, 'utf8').catch(() => '');
  // Not every Linux has these groups.
  if (told !== '') await until(async () => ((await readFile(groups, 'utf8')).endsWith('nice 10\n') ? true : undefined));
});
