// A thread of its own, which stands still from just before a minute begins until some seconds later, and tells in which minute after that it
// did what it is to do in each.
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { everyMinute } from '../../src/core/recurring.ts';

const minuteMs = 60_000;
const RealDate = Date;
const aheadMs = minuteMs - 1_000 - (RealDate.now() % minuteMs);
/** Its clock says that the next minute begins in a second; so nobody waits for a real one. */
class NearMinute extends RealDate {
  constructor(...given: [] | [number]) {
    super(given.length === 0 ? RealDate.now() + aheadMs : given[0]);
  }
  static override now = (): number => RealDate.now() + aheadMs;
}
globalThis.Date = NearMinute as DateConstructor;

const minute = (): number => Math.floor(Date.now() / minuteMs);
const before = minute();
everyMinute(
  async () => {
    parentPort?.postMessage(minute() - before);
  },
  () => undefined,
);
// Its timer stands before it does.
await sleep(10);
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_000);
