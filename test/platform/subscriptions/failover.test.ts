// Which slots a failover of the database server may have lost, by the times that are recorded of it.
// test/scale has real failovers.
import type { Knex } from 'knex';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { openKnex } from '../../../src/db/connect.ts';
import { minuteMs, openSubscriptionSite, type SubscriptionSite } from './fixture.ts';

let site: SubscriptionSite;
let admin: Knex;
let viewId: string;
beforeAll(async () => {
  site = await openSubscriptionSite();
  admin = openKnex(site.database.address, null, 1);
  viewId = await site.view();
});
afterEach(async () => {
  await admin('server_timelines').delete();
  await admin('subscriptions').delete();
});
afterAll(async () => {
  await admin.destroy();
  await site.close();
});

/** Times in minutes from now. */
async function failover(usedUntil: number, seenAt: number): Promise<void> {
  const [used, seen] = [usedUntil, seenAt].map(
    (minutes) => new Date(site.clock.now().getTime() + minutes * minuteMs),
  );
  await admin('server_timelines').insert({ timeline: '000000AA', alive_at: used });
  await admin('server_timelines').insert({
    timeline: '00000001',
    survived_at: used,
    seen_at: seen,
    alive_at: new Date('2100-01-01'),
  });
}
/** The slots that a tick creates, and the status of each one's delivery. */
async function readSlots(id: string): Promise<[slot: string, status: string][]> {
  await site.tick();
  return (await site.deliveries(id)).map(({ slot, status }) => [slot, status]);
}
const minute = (from: number): string =>
  new Date(site.clock.now().getTime() + from * minuteMs).toISOString().replace('.000', '');

it('a slot that was due before the new timeline was seen is unknown', async () => {
  const { id } = await site.subscribe({ viewId });
  await failover(-1, 1);
  expect(await readSlots(id)).toEqual([[minute(0), 'unknown']]);
});

it('so is the last one before it when a later slot is due as well, which is sent', async () => {
  const { id } = await site.subscribe({ viewId });
  site.clock.advance(10 * minuteMs);
  await failover(-4, -2);
  expect(await readSlots(id)).toEqual([
    [minute(0), 'queued'],
    [minute(-2), 'unknown'],
  ]);
});

it('one that was due long before the service last used the earlier timeline is made up for as after any downtime', async () => {
  const { id } = await site.subscribe({ viewId });
  await failover(6, 8);
  expect(await readSlots(id)).toEqual([[minute(0), 'queued']]);
});

it('without a failover nothing is unknown', async () => {
  const { id } = await site.subscribe({ viewId });
  expect(await readSlots(id)).toEqual([[minute(0), 'queued']]);
});
