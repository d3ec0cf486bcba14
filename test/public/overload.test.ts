// What becomes of the public interface's callers, and of everyone else, when more is asked than there are connections and places.
import type { Express } from 'express';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../src/app.ts';
import { openKnex } from '../../src/db/connect.ts';
import { makeApiKey } from '../../src/identity/api-key.ts';
import { openPlaces } from '../../src/public/admission.ts';
import { openTurns } from '../../src/public/turns.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { apiOf } from '../setup/api.ts';
import { type TestDatabase, testClock, testDatabase, testSettings } from '../setup/database.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { until } from '../setup/until.ts';
import { type Caller, callerOf, idsOf, loadInvoices, publishVersion } from './fixture.ts';

const clock = testClock();
let database: TestDatabase;
let admin: ReturnType<typeof openKnex>;
let app: Express;
/** Whose table will be locked, and who has nothing to do with it. */
let busy: Caller;
let other: Caller;
let busyTable: string;

async function company(): Promise<{ caller: Caller; table: string }> {
  const { id } = await makeOrganization(database.ctx);
  const caller = { organizationId: id, secret: (await makeKey(database.ctx, id)).secret };
  const table = await loadInvoices(database.ctx, id, [{ id: 1, tranid: 'a' }]);
  await publishVersion(database.ctx, id);
  return { caller, table: `${tenantSchema(id)}.${table}` };
}

beforeAll(async () => {
  // Six connections for records, five of them for reads, four of these for one organization; two for look-ups.
  database = await testDatabase({
    clock,
    settings: {
      readTimeoutMs: 60_000,
      publicLoad: { requests: 12, waitMs: 60_000 },
      cacheBytes: { ...testSettings.cacheBytes, bodies: 0 },
    },
  });
  admin = openKnex(database.address, null, 3);
  ({ caller: busy, table: busyTable } = await company());
  ({ caller: other } = await company());
  app = createApp(database.ctx);
  for (const caller of [busy, other]) await lists(caller).expect(200);
  // The use of each key is noted by then: a note that is still on its way would wait behind a lock among those that are counted.
  await until(async () => ((await admin('api_keys').whereNull('last_used_at').select('id')).length === 0 ? true : undefined));
});
afterAll(async () => {
  await admin.destroy();
  await database.close();
});

const lists = (caller: Caller) => callerOf(app, caller)('/v1/invoices');
const waitingFor = async (table: string): Promise<number> => {
  const { rows } = await admin.raw('select count(*)::int as found from pg_locks where not granted and relation = ?::regclass', [table]);
  return rows[0].found;
};
/** Until the returned function is called, or the test is over. */
async function lock(table: string): Promise<() => Promise<void>> {
  const locker = await admin.transaction();
  await locker.raw(`lock table ${table} in access exclusive mode`);
  const unlock = async (): Promise<void> => {
    if (!locker.isCompleted()) await locker.rollback();
  };
  onTestFinished(unlock);
  return unlock;
}
const untilWaiting = (table: string, count: number) => until(async () => ((await waitingFor(table)) === count ? true : undefined));

describe('when more is read than there are connections', () => {
  it('so many wait and the rest is told to come again, while others, management and syncs go on', async () => {
    expect((await lists(busy)).status).toBe(200);
    const unlock = await lock(busyTable);
    const refused: { status: number; headers: Record<string, string>; body: { error: { code: string } } }[] = [];
    const asked = Array.from({ length: 16 }, async () => {
      const answer = await lists(busy);
      if (answer.status === 503) refused.push(answer);
      return answer;
    });
    await until(async () => (refused.length === 10 ? true : undefined));
    await untilWaiting(busyTable, 4);
    expect(refused[0]?.headers['retry-after']).toBe('1');
    expect(refused[0]?.body.error).toMatchObject({ code: 'INTERNAL_ERROR', details: [{ code: 'unavailable' }] });
    for (let round = 0; round < 3; round += 1) expect(idsOf(await lists(other))).toEqual(['1']);
    expect((await apiOf(app, other.secret)('get', '/whoami')).status).toBe(200);
    expect((await database.ctx.db.data.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await unlock();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(6);
  });

  it('keys that nobody knows wait among themselves, and hold up neither known callers nor management', async () => {
    expect((await lists(busy)).status).toBe(200);
    clock.advance(database.ctx.settings.trustMs + 1);
    const unlock = await lock('api_keys');
    const refused: number[] = [];
    const strangers = Array.from({ length: 12 }, async () => {
      const { status } = await lists({ ...busy, secret: makeApiKey().secret });
      if (status === 503) refused.push(status);
      return status;
    });
    await until(async () => (refused.length === 5 ? true : undefined));
    await untilWaiting('api_keys', 1);
    const known = lists(busy).then(({ status }) => status);
    await untilWaiting('api_keys', 2);
    expect((await apiOf(app, null)('get', '/openapi')).status).toBe(200);
    expect((await database.ctx.db.control.raw('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await unlock();
    expect(await known).toBe(200);
    expect((await Promise.all(strangers)).filter((status) => status === 401)).toHaveLength(7);
  });
});

describe('places', () => {
  const refusal = { status: 503, code: 'INTERNAL_ERROR', headers: { 'Retry-After': '1' } };
  it('are so many in all and half for one organization, and free again when a request is over', async () => {
    const places = openPlaces(4, 0);
    const take = async (organizationId: string) => {
      const place = await places.enter();
      await place.belongsTo(organizationId);
      return place;
    };
    const first = await take('one');
    await take('one');
    // A place that its organization may not have is nobody's.
    for (let round = 0; round < 3; round += 1) await expect(take('one')).rejects.toMatchObject(refusal);
    await take('other');
    await take('other');
    await expect(take('third')).rejects.toMatchObject(refusal);
    first.leave();
    first.leave();
    await take('one');
    await expect(take('one')).rejects.toMatchObject(refusal);
  });
});

it('a lull is when nobody reads, and comes to an end in any case', async () => {
  const turns = openTurns({ running: 2, waiting: 2, limitMs: 1_000 });
  expect(turns.lull(60_000)).toBeUndefined();
  const ends = [await turns.await('a'), await turns.await('b')];
  let isQuiet = false;
  const quiet = turns.lull(60_000)?.then(() => {
    isQuiet = true;
  });
  ends[0]?.();
  await turns.lull(1);
  expect(isQuiet).toBe(false);
  ends[1]?.();
  await quiet;
});
