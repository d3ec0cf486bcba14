// The public interface and the rest of the service under more load than there are connections and slots.
import type { Express } from 'express';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { openKnex } from '../../../src/db/connect.ts';
import { generateApiKey } from '../../../src/identity/api-key.ts';
import { createConcurrencyLimit } from '../../../src/public/load/admission.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { createApi } from '../../setup/api.ts';
import { type TestDatabase, testClock, testDatabase, testSettings } from '../../setup/database.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';
import { type Caller, createCaller, listIds, loadInvoices, publishVersion } from '../fixture.ts';

const clock = testClock();
let database: TestDatabase;
let admin: ReturnType<typeof openKnex>;
let app: Express;
/** The organization whose table will be locked, and one that has nothing to do with it. */
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
  // Six data connections, five of them for reads, four of these for one organization; two for lookups.
  database = await testDatabase({
    clock,
    settings: {
      readTimeoutMs: 60_000,
      publicLoad: { maxRequests: 12, maxWaitMs: 60_000 },
      cacheBytes: { ...testSettings.cacheBytes, bodies: 0 },
    },
  });
  admin = openKnex(database.address, null, 3);
  ({ caller: busy, table: busyTable } = await company());
  ({ caller: other } = await company());
  app = createApp(database.ctx);
  for (const caller of [busy, other]) await lists(caller).expect(200);
  // The use of each key is recorded by then: a pending write would wait behind a lock among those that are
  // counted.
  await until(async () => (await admin('api_keys').whereNull('last_used_at').select('id')).length === 0);
});
afterAll(async () => {
  await admin.destroy();
  await database.close();
});

const lists = (caller: Caller) => createCaller(app, caller)('/v1/invoices');
const waitingFor = async (table: string): Promise<number> => {
  const { rows } = await admin.raw(
    'select count(*)::int as found from pg_locks where not granted and relation = ?::regclass',
    [table],
  );
  return rows[0].found;
};
/** Until the returned function is called, or the test ends. */
async function lock(table: string): Promise<() => Promise<void>> {
  const locker = await admin.transaction();
  await locker.raw(`lock table ${table} in access exclusive mode`);
  const unlock = async (): Promise<void> => {
    if (!locker.isCompleted()) await locker.rollback();
  };
  onTestFinished(unlock);
  return unlock;
}
const untilWaiting = (table: string, count: number) => until(async () => (await waitingFor(table)) === count);

describe('more reads than connections', () => {
  it('a bounded number waits and the rest gets 503 with Retry-After, while other organizations, management and syncs continue', async () => {
    expect((await lists(busy)).status).toBe(200);
    const unlock = await lock(busyTable);
    const refused: { status: number; headers: Record<string, string>; body: { error: { code: string } } }[] =
      [];
    const asked = Array.from({ length: 16 }, async () => {
      const answer = await lists(busy);
      if (answer.status === 503) refused.push(answer);
      return answer;
    });
    await until(async () => refused.length === 10);
    await untilWaiting(busyTable, 4);
    expect(refused[0]?.headers['retry-after']).toBe('1');
    expect(refused[0]?.body.error).toMatchObject({
      code: 'INTERNAL_ERROR',
      details: [{ code: 'unavailable' }],
    });
    for (let round = 0; round < 3; round += 1) expect(listIds(await lists(other))).toEqual(['1']);
    expect((await createApi(app, other.secret)('get', '/whoami')).status).toBe(200);
    expect((await database.ctx.db.data.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await unlock();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(6);
  });

  it('lookups of unknown keys wait among themselves, and delay neither known callers nor management', async () => {
    expect((await lists(busy)).status).toBe(200);
    clock.advance(database.ctx.settings.cacheTtlMs + 1);
    const unlock = await lock('api_keys');
    const refused: number[] = [];
    const withoutCredential = Array.from({ length: 12 }, async () => {
      const { status } = await lists({ ...busy, secret: generateApiKey().secret });
      if (status === 503) refused.push(status);
      return status;
    });
    await until(async () => refused.length === 5);
    await untilWaiting('api_keys', 1);
    const known = lists(busy).then(({ status }) => status);
    await untilWaiting('api_keys', 2);
    expect((await createApi(app, null)('get', '/openapi')).status).toBe(200);
    expect((await database.ctx.db.control.raw('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await unlock();
    expect(await known).toBe(200);
    expect((await Promise.all(withoutCredential)).filter((status) => status === 401)).toHaveLength(7);
  });
});

describe('createConcurrencyLimit', () => {
  const refusal = { status: 503, code: 'INTERNAL_ERROR', headers: { 'Retry-After': '1' } };
  it('bounds the slots in total and to half for one organization, and frees them at the end of a request', async () => {
    const limit = createConcurrencyLimit(4, 0);
    const take = async (organizationId: string) => {
      const slot = await limit.acquire();
      await slot.assignTo(organizationId);
      return slot;
    };
    const first = await take('one');
    await take('one');
    // A slot that was refused to its organization is free again.
    for (let round = 0; round < 3; round += 1) await expect(take('one')).rejects.toMatchObject(refusal);
    await take('other');
    await take('other');
    await expect(take('third')).rejects.toMatchObject(refusal);
    first.release();
    first.release();
    await take('one');
    await expect(take('one')).rejects.toMatchObject(refusal);
  });
});
