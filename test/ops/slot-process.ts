// A scheduler in a process of its own, whose clock is moved by its parent. Replies to each move when its tick
// is done.
import { type Clock, systemClock } from '../../src/core/clock.ts';
import type { Settings } from '../../src/core/settings.ts';
import type { DatabaseAddress } from '../../src/db/connect.ts';
import { type Scheduler, startScheduler } from '../../src/sync/run/scheduler.ts';
import { memoryErp } from '../sync/fixture.ts';
import { createProcessCtx } from './process-ctx.ts';

export type SlotOrder = {
  readonly address: DatabaseAddress;
  readonly settings: Settings;
  readonly at: string;
  readonly records: number;
};
/**
 * `stand`: from now on its ERP returns no page, and the process reports when one is requested. `rest`: claims
 * nothing until its clock is moved again, and reports when it has no work in flight.
 */
export type ToSlots = { readonly at: string } | { readonly stand: true } | { readonly rest: true };
export type FromSlots =
  | { readonly ticked: number }
  | { readonly standing: true }
  | { readonly resting: true };

const order: SlotOrder = JSON.parse(process.argv[2] ?? '{}');
let now = new Date(order.at);
const clock: Clock = { now: () => new Date(now), monotonicMs: systemClock.monotonicMs };
const tell = (message: FromSlots): void => {
  process.send?.(message);
};

const erp = memoryErp();
for (let id = 1; id <= order.records; id += 1) erp.put(id);
let isStopped = false;
erp.onCall = async ({ operation }) => {
  if (!isStopped || operation !== 'readPage') return;
  tell({ standing: true });
  await new Promise(() => undefined);
};
const ctx = { ...createProcessCtx(order.address, order.settings, { control: 4, data: 4 }), clock };
const begin = (): Scheduler => startScheduler(ctx, { createConnector: async () => erp.connector });
let scheduler: Scheduler | null = begin();
process.on('disconnect', () => process.exit(0));
process.on('message', async (message: ToSlots) => {
  if ('stand' in message) {
    isStopped = true;
    return;
  }
  if ('rest' in message) {
    await scheduler?.stop();
    scheduler = null;
    tell({ resting: true });
    return;
  }
  now = new Date(message.at);
  scheduler ??= begin();
  tell({ ticked: await scheduler.tick() });
});
