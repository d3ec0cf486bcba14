// Which processes live on a database, and which of its encryption keys they hold.
import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openKeyring } from '../../src/core/keyring.ts';
import { type OpenDb, openDb, openKnex } from '../../src/db/connect.ts';
import { findWithoutKey } from '../../src/db/presence.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { until } from '../setup/until.ts';

const key = (id: string) => ({ id, bytes: randomBytes(32) });
const [old, young, namesake] = [key('old'), key('young'), key('young')] as const;
const oldMark = openKeyring([old]).marks[0];
const youngMark = openKeyring([young]).marks[0];

let database: TestDatabase;
let neighbour: TestDatabase;
let owner: Knex;
const open = new Set<OpenDb>();

beforeAll(async () => {
  [database, neighbour] = await Promise.all([testDatabase(), testDatabase()]);
  owner = openKnex(database.address, 'portal_owner', 1);
});
afterAll(async () => {
  for (const db of open) await end(db);
  await owner.destroy();
  await Promise.all([database.close(), neighbour.close()]);
});

async function begin(name: string, keys: Parameters<typeof openKeyring>[0], { address } = database): Promise<OpenDb> {
  const db = openDb(address, address, { control: 1, data: 1 }, 5_000, { presence: { name, marks: openKeyring(keys).marks } });
  open.add(db);
  await db.show();
  return db;
}

async function end(db: OpenDb): Promise<void> {
  open.delete(db);
  await db.close();
}
async function pidOf(name: string): Promise<number | undefined> {
  const { rows } = await owner.raw<{ rows: { pid: number }[] }>('select pid from pg_stat_activity where application_name = ?', [
    `portal-service ${name}`,
  ]);
  return rows[0]?.pid;
}

it('names those who lack a key, for as long as they live', async () => {
  expect(await findWithoutKey(owner, youngMark)).toEqual([]);
  const lacking = await begin('a.example:1', [old]);
  await begin('b.example:2', [young, old]);
  await begin('c.example:3', [old, young]);
  await begin('elsewhere:4', [old], neighbour);
  expect([await findWithoutKey(owner, youngMark), await findWithoutKey(owner, oldMark)]).toEqual([['a.example:1'], []]);
  // Other bytes under the same name are another key; and a name may be long and odd.
  const other = await begin(`${'long'.repeat(20)}'é:5`, [namesake, old]);
  expect(await findWithoutKey(owner, youngMark)).toEqual(['a.example:1', expect.stringMatching(/^[long]+__:5$/)]);
  await end(other);
  await until(async () => (await findWithoutKey(owner, youngMark)).length === 1 || undefined);
  // Whose connection breaks is seen again after the next look.
  const pid = await pidOf('a.example:1');
  const admin = openKnex(database.address, null, 1);
  await admin.raw('select pg_terminate_backend(?)', [pid ?? 0]);
  await admin.destroy();
  await until(async () => (await pidOf('a.example:1')) !== pid || undefined);
  expect(await until(async () => (await findWithoutKey(owner, youngMark))[0])).toBe('a.example:1');
  await end(lacking);
  await until(async () => ((await findWithoutKey(owner, youngMark)).length === 0 ? true : undefined));
});
