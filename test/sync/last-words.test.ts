// A run's last event and its last state are written together: a client that waits for the state also finds
// the event.
import type { Knex } from 'knex';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { openKnex } from '../../src/db/connect.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { findSyncConfig } from '../../src/sync/runs.store.ts';
import { createApi } from '../setup/api.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey } from '../setup/organization.ts';
import { endOpenRuns, erpError, type SyncFixture, syncFixture } from './fixture.ts';

let database: TestDatabase;
let admin: Knex;
beforeAll(async () => {
  database = await testDatabase();
  admin = openKnex(database.address, null, 1);
  await admin.raw(`
    create table refusals (table_name text, pattern text);
    grant select on refusals to portal_service;
    create function refuse() returns trigger language plpgsql as $$
    begin
      if exists (select from refusals r where r.table_name = tg_table_name and to_jsonb(new)::text like r.pattern) then
        raise exception 'refused by the test';
      end if;
      return new;
    end $$;
    create trigger refusing before insert on sync_run_events for each row execute function refuse();
    create trigger refusing before update on sync_configs for each row execute function refuse();`);
});
afterEach(async () => {
  await admin('refusals').delete();
  await endOpenRuns(database);
});
afterAll(async () => {
  await admin.destroy();
  await database.close();
});

const refuse = (table: string, pattern: string) => admin('refusals').insert({ table_name: table, pattern });
const pausedReason = (fixture: SyncFixture) =>
  inTransaction(
    fixture.tenant,
    async (tx) => (await findSyncConfig(tx, fixture.organizationId, fixture.configId))?.paused_reason,
  );

/**
 * The database rejects that write, as if the worker had died right before it; then another worker takes over
 * the run.
 */
async function interrupted(fixture: SyncFixture, table: string, pattern: string) {
  await refuse(table, pattern);
  const runId = await fixture.queue();
  await fixture.work(await fixture.claim());
  const between = await fixture.row(runId);
  const said = await fixture.events(runId);
  await admin('refusals').delete();
  await admin('sync_runs').where({ id: runId }).update({ lease_until: '2020-01-01' });
  return { runId, between, said, after: await fixture.drive(runId) };
}

describe('the last event of a run', () => {
  it.each([
    ['run succeeded', 'succeeded', (fixture: SyncFixture) => fixture.erp.put(1)],
    [
      'run partial',
      'partial',
      (fixture: SyncFixture) => fixture.erp.rejects.set('2', { id: '2', code: 'X', message: 'no' }),
    ],
  ])('%s is written with the state', async (message, status, prepare) => {
    const fixture = await syncFixture(database.ctx);
    fixture.erp.put(1);
    prepare(fixture);
    const { runId, between, said, after } = await interrupted(fixture, 'sync_run_events', `%${message}%`);
    expect([between.status, said.some((one) => one.startsWith(message))]).toEqual(['publishing', false]);
    expect(after.status).toBe(status);
    expect((await fixture.events(runId)).filter((one) => one.startsWith(message))).toHaveLength(1);
  });

  it('failed: is written with the state', async () => {
    const fixture = await syncFixture(database.ctx);
    fixture.erp.onCall = () => {
      throw erpError('forbidden', 'NOT_ALLOWED');
    };
    const { runId, between, after } = await interrupted(fixture, 'sync_run_events', '%failed: %');
    expect(between.status).toBe('running');
    expect(after.status).toBe('failed');
    expect(await fixture.events(runId)).toEqual(['failed: the ERP says NOT_ALLOWED']);
  });

  it('waiting: is written with the state', async () => {
    const fixture = await syncFixture(database.ctx);
    fixture.erp.put(1);
    fixture.erp.onCall = () => {
      fixture.erp.onCall = () => undefined;
      throw erpError('down', 'AWAY');
    };
    const { between } = await interrupted(fixture, 'sync_run_events', '%waiting: %');
    expect(between.status).toBe('running');
  });

  it('is written for a run that is cancelled before a worker claimed it', async () => {
    const fixture = await syncFixture(database.ctx);
    const api = createApi(
      createApp(database.ctx),
      (await makeKey(database.ctx, fixture.organizationId, { permissions: ['write'] })).secret,
    );
    const runId = await fixture.queue();
    expect((await api('post', `/sync-runs/${runId}/cancel`)).body.status).toBe('cancelled');
    expect(await fixture.events(runId)).toEqual(['cancelled']);
  });
});

describe('the pause of a configuration', () => {
  const badCredentials = (fixture: SyncFixture): void => {
    fixture.erp.onCall = () => {
      throw erpError('credentials', 'KEY_REVOKED');
    };
  };

  it('is written with the failure that causes it', async () => {
    const fixture = await syncFixture(database.ctx);
    badCredentials(fixture);
    const { between, after } = await interrupted(fixture, 'sync_configs', '%KEY_REVOKED%');
    expect(between.status).toBe('running');
    expect(after).toMatchObject({ status: 'failed', error: { code: 'KEY_REVOKED' } });
    expect(await pausedReason(fixture)).toMatchObject({ code: 'KEY_REVOKED' });
  });

  it('ends with the next successful run', async () => {
    const fixture = await syncFixture(database.ctx);
    fixture.erp.put(1);
    await fixture.changeConfig({ paused_reason: JSON.stringify({ code: 'X', message: 'x', fix: 'x' }) });
    const { between, after } = await interrupted(fixture, 'sync_configs', '%"paused_reason": null%');
    expect([between.status, after.status]).toEqual(['publishing', 'succeeded']);
    expect(await pausedReason(fixture)).toBeNull();
  });
});
