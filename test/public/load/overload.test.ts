// The public interface and the rest of the service under more load than there are connections and slots.
import type { Express } from 'express';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { generateApiKey } from '../../../src/identity/api-key.ts';
import { createConcurrencyLimit } from '../../../src/public/load/admission.ts';

import { createApi } from '../../setup/api.ts';
import { testClock, testSettings } from '../../setup/database.ts';
import { until } from '../../setup/until.ts';
import { useDatabase } from '../../setup/use-database.ts';
import { type Caller, createCaller, listIds, openOrganization } from '../fixture.ts';

const clock = testClock();
// Six data connections, five of them for reads, four of these for one organization; two for lookups.
const database = useDatabase({
  clock,
  settings: {
    readTimeoutMs: 60_000,
    publicLoad: { maxRequests: 12, maxWaitMs: 60_000, maxLargeReads: 8 },
    cacheBytes: { ...testSettings.cacheBytes, bodies: 0 },
  },
});
let app: Express;
/** The organization whose table will be locked, and one that has nothing to do with it. */
let busy: Caller;
let other: Caller;
let busyTable: string;

async function company(): Promise<{ caller: Caller; table: string }> {
  const rows = [{ id: 1, tranid: 'a' }];
  const { organizationId, key, schema, table } = await openOrganization(database.ctx, app, { rows });
  return { caller: { organizationId, secret: (await key()).secret }, table: `${schema}.${table}` };
}

beforeAll(async () => {
  app = createApp(database.ctx);
  ({ caller: busy, table: busyTable } = await company());
  ({ caller: other } = await company());
  for (const caller of [busy, other]) await lists(caller).expect(200);
  // The use of each key is recorded by then: a pending write would wait behind a lock among those that are
  // counted.
  await until(async () => {
    const unused = await database.admin('api_keys').whereNull('last_used_at').select('id');
    return unused.length === 2; // each organization has another key, which is not used
  });
});

const lists = (caller: Caller) => createCaller(app, caller)('/v1/invoices');
const waitingFor = async (table: string): Promise<number> => {
  const { rows } = await database.admin.raw(
    'select count(*)::int as found from pg_locks where not granted and relation = ?::regclass',
    [table],
  );
  return rows[0].found;
};
/** Until the returned function is called, or the test ends. */
async function lock(table: string): Promise<() => Promise<void>> {
  const locker = await database.admin.transaction();
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
