// Slots create runs: once, whatever the number of processes and whatever the clock does. And connections that
// break.
import { afterEach, describe, expect, it } from 'vitest';
import { inDataTransaction, inTransaction } from '../../src/db/transaction.ts';
import { enqueueDueRuns, startScheduler } from '../../src/sync/run/scheduler.ts';
import { testClock } from '../setup/database.ts';
import { memoryErp, type SyncFixture, syncFixture, until } from './fixture.ts';
import { useSync } from './site.ts';

const clock = testClock(new Date('2026-03-02T10:00:30Z'));
const site = useSync({}, { clock });
afterEach(() => site.admin('sync_configs').update({ enabled: false }));

const scheduled = async (schedule: string, timezone = 'UTC'): Promise<SyncFixture> => {
  const fixture = await syncFixture(site.ctx, memoryErp(), { schedule, timezone });
  await fixture.changeConfig({ scheduled_since: new Date('2026-01-01T00:00:00Z') });
  return fixture;
};
const slots = async (fixture: SyncFixture): Promise<string[]> => {
  const dates = await inTransaction(fixture.tenant, (tx) =>
    tx('sync_runs').where({ trigger: 'schedule' }).orderBy('scheduled_for').pluck<Date[]>('scheduled_for'),
  );
  return dates.map((date) => date.toISOString());
};
const end = (fixture: SyncFixture) =>
  inTransaction(fixture.tenant, (tx) => tx('sync_runs').update({ status: 'succeeded' }));

describe('a due slot', () => {
  it('creates one run, however many processes tick at the same time', async () => {
    const fixture = await scheduled('0 * * * *');
    const made = await Promise.all(Array.from({ length: 8 }, () => enqueueDueRuns(site.ctx)));
    expect(made.reduce((sum, n) => sum + n, 0)).toBe(1);
    expect(await slots(fixture)).toEqual(['2026-03-02T10:00:00.000Z']);
    await end(fixture);
    expect(await enqueueDueRuns(site.ctx)).toBe(0);
  });

  it('after days of downtime, only the latest slot creates a run', async () => {
    const fixture = await scheduled('*/15 * * * *');
    clock.advance(3 * 86_400_000);
    expect(await enqueueDueRuns(site.ctx)).toBe(1);
    expect(await slots(fixture)).toEqual(['2026-03-05T10:00:00.000Z']);
    await end(fixture);
    clock.advance(-2 * 86_400_000);
    expect(await enqueueDueRuns(site.ctx)).toBe(0); // a clock that went back
    clock.advance(-86_400_000);
  });

  it('waits while a run of its configuration is queued, and creates its run afterwards', async () => {
    const fixture = await scheduled('0 * * * *');
    await fixture.queue();
    expect(await enqueueDueRuns(site.ctx)).toBe(0);
    await end(fixture);
    expect(await enqueueDueRuns(site.ctx)).toBe(1);
  });

  it('is not lost by a change of the name or by the end of a pause', async () => {
    const fixture = await scheduled('0 * * * *');
    await fixture.changeConfig({
      name: 'Other name',
      updated_at: new Date(),
      paused_reason: '{"code":"X","message":"","fix":""}',
    });
    expect(await enqueueDueRuns(site.ctx)).toBe(0);
    await fixture.changeConfig({ paused_reason: null, updated_at: new Date() });
    expect(await enqueueDueRuns(site.ctx)).toBe(1);
  });

  it.each([{ schedule: '5 * * * *' }, { timezone: 'Asia/Kolkata' }])(
    '%o: a changed schedule does not make up for what lay before',
    async (change) => {
      const fixture = await scheduled('0 * * * *');
      await fixture.changeConfig(change);
      expect(await enqueueDueRuns(site.ctx)).toBe(0);
    },
  );

  it('is not due for a configuration that was disabled at the time', async () => {
    const fixture = await scheduled('0 * * * *');
    await fixture.changeConfig({ enabled: false });
    expect(await enqueueDueRuns(site.ctx)).toBe(0);
    await fixture.changeConfig({ enabled: true });
    expect(await enqueueDueRuns(site.ctx)).toBe(0);
  });

  it('of one organization creates its run although the schedule of another is invalid', async () => {
    const [broken, sound] = [await scheduled('0 * * * *'), await scheduled('0 * * * *')];
    await broken.changeConfig({ schedule: 'whenever' });
    expect(await enqueueDueRuns(site.ctx)).toBe(1);
    expect(await slots(sound)).toHaveLength(1);
  });
});

it('a scheduler starts queued runs on notification, and due runs at its tick', async () => {
  const fixture = await scheduled('0 * * * *');
  // Nothing is due yet: a minute of the machine's own clock may end at any point, and with it comes a tick.
  await fixture.changeConfig({ scheduled_since: clock.now() });
  fixture.erp.put(1);
  const scheduler = startScheduler(site.ctx, { createConnector: async () => fixture.erp.connector });
  try {
    const id = await fixture.queue();
    await until(async () => (await fixture.row(id)).status === 'succeeded');
    clock.advance(3_600_000);
    await scheduler.tick(); // or its own tick, if a minute ends right now
    await until(async () => {
      const done = { trigger: 'schedule', status: 'succeeded' };
      return (await inTransaction(fixture.tenant, (tx) => tx('sync_runs').where(done))).length === 1;
    });
  } finally {
    await scheduler.stop();
    clock.advance(-3_600_000);
  }
});

describe('connections that break', () => {
  const terminate = async (where: string): Promise<number> => {
    const { rows } = await site.admin.raw(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and ${where}`,
    );
    return rows.length;
  };

  const listening = "application_name = 'portal-service listening'";
  const say = (channel: string, payload: string) =>
    site.ctx.db.control.raw('select pg_notify(?, ?)', [channel, payload]);

  it('notifications of all channels are received again, on one connection', async () => {
    const heard: string[] = [];
    const note =
      (channel: string) =>
      (payload = 'look'): unknown =>
        heard.push(`${channel}: ${payload}`);
    const isHeard = (words: string[]) =>
      until(async () => words.every((word) => heard.includes(word)) && heard.splice(0).length);
    const deafToOne = site.ctx.db.notifications.subscribe('one_channel', note('one'));
    await isHeard(['one: look']); // once when listening starts
    const deafToOther = site.ctx.db.notifications.subscribe('other_channel', note('other'));
    await isHeard(['other: look']);
    expect(await terminate(listening)).toBe(1);
    expect(await isHeard(['one: look', 'other: look'])).toBe(2);
    await Promise.all([say('one_channel', 'a word'), say('other_channel', '')]);
    expect(await isHeard(['one: a word', 'other: look'])).toBe(2);
    await deafToOne();
    await Promise.all([say('one_channel', 'unheard'), say('other_channel', 'the last')]);
    expect(await isHeard(['other: the last'])).toBe(1);
    await deafToOther();
    expect(await terminate(listening)).toBe(0);
  });

  it('listening can be stopped before it started', async () => {
    const deaf = site.ctx.db.notifications.subscribe('other_channel', () => undefined);
    await deaf();
    expect(await terminate(listening)).toBe(0);
  });

  it('a transaction rejects when the server dies between two statements, and the process survives', async () => {
    const work = inDataTransaction(site.ctx.db.data, async (client) => {
      const gone = new Promise((resolve) => client.once('end', resolve));
      await client.query('select 1 as going_away');
      await terminate("query = 'select 1 as going_away'");
      await gone;
      await client.query('select 2');
    });
    await expect(work).rejects.toThrow();
    expect((await site.ctx.db.data.query('select 3 as n')).rows).toEqual([{ n: 3 }]);
  });

  it('a transaction whose statement failed is not reported as committed', async () => {
    const work = inDataTransaction(site.ctx.db.data, async (client) => {
      await client.query('select 1 / 0').catch(() => undefined);
      return 'done';
    });
    await expect(work).rejects.toThrow('rolled back');
  });
});
