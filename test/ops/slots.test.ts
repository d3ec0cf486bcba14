// A hundred due slots and three processes that drive the same schedules, one of which is killed with runs in
// flight: one run per slot, none lost, none twice. The minutes pass as the test lets them, and the processes'
// clocks don't agree.
import { type ChildProcess, fork } from 'node:child_process';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, expect, it } from 'vitest';
import type { Ctx } from '../../src/core/ctx.ts';
import { useDatabase } from '../setup/use-database.ts';
import { endOpenRuns, memoryErp, type SyncFixture, syncFixture, until } from '../sync/fixture.ts';
import type { FromSlots, SlotOrder, ToSlots } from './slot-process.ts';

const script = fileURLToPath(new URL('./slot-process.ts', import.meta.url));
const [companies, minutes, lastOfVictim] = [10, 10, 4];
const firstMinute = Date.parse('2026-03-02T10:00:30Z');
/** Seconds; a slot is due for all of them within the minute. */
const skews = [0, -13, 21];

const database = useDatabase();
let ctx: Ctx;
const children: ChildProcess[] = [];
beforeAll(() => {
  ctx = {
    ...database.ctx,
    settings: {
      ...database.ctx.settings,
      sync: { ...database.ctx.settings.sync, pageSize: 10, leaseMs: 600_000, renewMs: 1_000 },
    },
  };
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await endOpenRuns(database);
});

type Process = ReturnType<typeof start>;

function start(skewSeconds: number) {
  const order: SlotOrder = {
    address: database.address,
    settings: ctx.settings,
    at: new Date(firstMinute - 60_000).toISOString(),
    records: 25,
  };
  const child = fork(script, [JSON.stringify(order)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  children.push(child);
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const ask = async (message: ToSlots, answer: 'ticked' | 'standing' | 'resting'): Promise<void> => {
    const answered = new Promise<void>((resolve) => {
      const listen = (given: FromSlots): void => {
        if (!(answer in given)) return;
        child.off('message', listen);
        resolve();
      };
      child.on('message', listen);
    });
    child.send(message);
    await answered;
  };
  return {
    moveTo: (atMs: number) => ask({ at: new Date(atMs + skewSeconds * 1_000).toISOString() }, 'ticked'),
    stand: () => ask({ stand: true }, 'standing'),
    rest: () => ask({ rest: true }, 'resting'),
    kill: async () => {
      child.kill('SIGKILL');
      await gone;
    },
    /** Expires the leases that it holds. None expires earlier, however slow the machine is. */
    expire: () =>
      database
        .admin('jobs')
        .whereLike('worker', `${hostname()}/${child.pid}/%`)
        .update({ due_at: new Date(0) }),
  };
}

type Slot = { sync_config_id: string; scheduled_for: Date; status: string; attempt: number; id: string };
const slots = () =>
  database
    .admin('sync_runs')
    .where({ trigger: 'schedule' })
    .orderBy('scheduled_for')
    .select<Slot[]>('sync_config_id', 'scheduled_for', 'status', 'attempt', 'id');

it('a hundred due slots, three processes, one killed: one run per slot', { timeout: 300_000 }, async () => {
  const fixtures: SyncFixture[] = [];
  for (let n = 0; n < companies; n += 1)
    fixtures.push(await syncFixture(ctx, memoryErp(), { schedule: '* * * * *' }));
  for (const fixture of fixtures)
    await fixture.changeConfig({ scheduled_since: new Date(firstMinute - 60_000) });
  let processes = skews.map(start);
  let killed: Process | undefined;
  for (let minute = 0; minute < minutes; minute += 1) {
    const at = firstMinute + minute * 60_000;
    if (minute === lastOfVictim) {
      // The others rest until it has runs in flight, so that it gets some, however fast they are.
      const [victim, ...others] = processes;
      await Promise.all(others.map((process) => process.rest()));
      const standing = victim?.stand();
      await victim?.moveTo(at);
      await standing;
      await Promise.all(others.map((process) => process.moveTo(at)));
      await victim?.kill();
      killed = victim;
      processes = others;
    }
    await Promise.all(processes.map((process) => process.moveTo(at)));
    await Promise.all(processes.map((process) => process.moveTo(at - 3_600_000))); // their clocks go back an hour
    await Promise.all(processes.map((process) => process.moveTo(at))); // and forward again
    const areDone = async (): Promise<boolean> => {
      await killed?.expire(); // each time: the server may still carry out its last statement
      const due = (await slots()).filter(({ scheduled_for: slot }) => slot.getTime() === at - 30_000);
      return due.length === companies && due.every(({ status }) => status === 'succeeded');
    };
    await until(areDone, `the runs of minute ${minute}`, 280_000);
  }
  const made = await slots();
  const expected = Array.from({ length: minutes }, (_unused, minute) =>
    new Date(firstMinute - 30_000 + minute * 60_000).toISOString(),
  );
  for (const { configId } of fixtures) {
    const own = made.filter((slot) => slot.sync_config_id === configId);
    expect(own.map(({ scheduled_for: slot }) => slot.toISOString())).toEqual(expected);
  }
  expect(made).toHaveLength(companies * minutes);
  expect(made.some(({ attempt }) => attempt > 1)).toBe(true); // another process resumed the runs of the killed one
  const published = await database
    .admin('sync_run_events')
    .where({ message: 'run succeeded' })
    .groupBy('run_id')
    .select('run_id')
    .count<{ run_id: string; count: string }[]>('* as count');
  expect(published).toHaveLength(companies * minutes);
  expect(published.every(({ count }) => Number(count) === 1)).toBe(true);
});
