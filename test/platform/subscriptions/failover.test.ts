// Which slots a failover of the database server may have lost, by the times that are recorded of it.
// test/scale has real failovers.
import type { Knex } from 'knex';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { openKnex } from '../../../src/db/connect.ts';
import { minuteMs, useDeliveries } from './fixture.ts';

const { site, view } = useDeliveries();
let admin: Knex;
beforeAll(() => {
  admin = openKnex(site.database.address, null, 1);
});
afterEach(() => admin('server_timelines').delete());
afterAll(() => admin.destroy());

const after = (minutes: number): Date => new Date(site.clock.now().getTime() + minutes * minuteMs);

/** Times in minutes from now. */
async function failover(usedUntil: number, seenAt: number): Promise<void> {
  const [used, seen] = [after(usedUntil), after(seenAt)];
  await admin('server_timelines').insert({ timeline: '000000AA', alive_at: used });
  const later = { survived_at: used, seen_at: seen, alive_at: new Date('2100-01-01') };
  await admin('server_timelines').insert({ timeline: '00000001', ...later });
}
/** The slots that a tick creates, and the status of each one's delivery. */
async function readSlots(id: string): Promise<[slot: string, status: string][]> {
  await site.tick();
  return (await site.deliveries(id)).map(({ slot, status }) => [slot, status]);
}
const minute = (from: number): string => after(from).toISOString().replace('.000', '');

it('a slot that was due before the new timeline was seen is unknown', async () => {
  const { id } = await site.subscribe({ viewId: view.id });
  await failover(-1, 1);
  expect(await readSlots(id)).toEqual([[minute(0), 'unknown']]);
});

it('so is the last one before it when a later slot is due as well, which is sent', async () => {
  const { id } = await site.subscribe({ viewId: view.id });
  site.clock.advance(10 * minuteMs);
  await failover(-4, -2);
  expect(await readSlots(id)).toEqual([
    [minute(0), 'queued'],
    [minute(-2), 'unknown'],
  ]);
});

it('one that was due long before the service last used the earlier timeline is made up for as after any downtime', async () => {
  const { id } = await site.subscribe({ viewId: view.id });
  await failover(6, 8);
  expect(await readSlots(id)).toEqual([[minute(0), 'queued']]);
});

it('without a failover nothing is unknown', async () => {
  const { id } = await site.subscribe({ viewId: view.id });
  expect(await readSlots(id)).toEqual([[minute(0), 'queued']]);
});
