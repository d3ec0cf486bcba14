// Which processes use a database, and which encryption keys they hold.
import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKeyring } from '../../src/core/secrets/keyring.ts';
import { type OpenDb, openDb, openKnex } from '../../src/db/connect.ts';
import { findProcessesWithoutKey } from '../../src/db/presence.ts';
import { until } from '../setup/until.ts';
import { useDatabase } from '../setup/use-database.ts';

const key = (id: string) => ({ id, bytes: randomBytes(32) });
const [old, fresh, sameId] = [key('old'), key('fresh'), key('fresh')] as const;
const oldFingerprint = createKeyring([old]).fingerprints[0];
const newFingerprint = createKeyring([fresh]).fingerprints[0];

const database = useDatabase();
const neighbour = useDatabase();
let owner: Knex;
const open = new Set<OpenDb>();

beforeAll(() => {
  owner = openKnex(database.address, 'portal_owner', 1);
});
afterAll(async () => {
  for (const db of open) await end(db);
  await owner.destroy();
});

async function start(
  name: string,
  keys: Parameters<typeof createKeyring>[0],
  { address } = database,
): Promise<OpenDb> {
  const db = openDb(address, address, { control: 1, data: 1 }, 5_000, {
    presence: { name, keyFingerprints: createKeyring(keys).fingerprints },
  });
  open.add(db);
  await db.announce();
  return db;
}

async function end(db: OpenDb): Promise<void> {
  open.delete(db);
  await db.close();
}
async function findPid(name: string): Promise<number | undefined> {
  const { rows } = await owner.raw<{ rows: { pid: number }[] }>(
    'select pid from pg_stat_activity where application_name = ?',
    [`portal-service ${name}`],
  );
  return rows[0]?.pid;
}

it('findProcessesWithoutKey lists the processes that lack a key, as long as they run', async () => {
  expect(await findProcessesWithoutKey(owner, newFingerprint)).toEqual([]);
  const lacking = await start('a.example:1', [old]);
  await start('b.example:2', [fresh, old]);
  await start('c.example:3', [old, fresh]);
  await start('elsewhere:4', [old], neighbour);
  expect([
    await findProcessesWithoutKey(owner, newFingerprint),
    await findProcessesWithoutKey(owner, oldFingerprint),
  ]).toEqual([['a.example:1'], []]);
  expect(
    await findProcessesWithoutKey(owner, createKeyring([sameId]).fingerprints[0], newFingerprint),
  ).toEqual(['a.example:1']);
  // Different bytes under the same id are another key. Names may be long and contain special characters.
  const other = await start(`${'long'.repeat(20)}'é:5`, [sameId, old]);
  expect(await findProcessesWithoutKey(owner, newFingerprint)).toEqual([
    'a.example:1',
    expect.stringMatching(/^[long]+__:5$/),
  ]);
  await end(other);
  await until(async () => (await findProcessesWithoutKey(owner, newFingerprint)).length === 1);
  // After its connection breaks, a process is visible again after the next liveness check.
  const pid = await findPid('a.example:1');
  await database.admin.raw('select pg_terminate_backend(?::int)', [pid ?? 0]);
  await until(async () => (await findPid('a.example:1')) !== pid);
  expect(await until(async () => (await findProcessesWithoutKey(owner, newFingerprint))[0])).toBe(
    'a.example:1',
  );
  await end(lacking);
  await until(async () => (await findProcessesWithoutKey(owner, newFingerprint)).length === 0);
});
