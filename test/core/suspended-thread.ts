// A worker thread that is blocked from just before a minute starts until a few seconds later, and reports in
// which minute after that its work for that minute ran.
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { startEveryMinute } from '../../src/core/work/recurring.ts';

const minuteMs = 60_000;
const RealDate = Date;
const aheadMs = minuteMs - 1_000 - (RealDate.now() % minuteMs);
/**
 * In this thread's clock the next minute starts in a second, so that the test doesn't wait for a real one.
 */
class NearMinute extends RealDate {
  constructor(...given: [] | [number]) {
    super(given.length === 0 ? RealDate.now() + aheadMs : given[0]);
  }
  static override now = (): number => RealDate.now() + aheadMs;
}
globalThis.Date = NearMinute as DateConstructor;

const minute = (): number => Math.floor(Date.now() / minuteMs);
const before = minute();
startEveryMinute(
  async () => {
    parentPort?.postMessage(minute() - before);
  },
  () => undefined,
);
// Let the timer be set before blocking.
await sleep(10);
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_000);
