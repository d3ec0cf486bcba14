// Enters the days that were held back when the data were loaded, and moves business time along with them.
// Only a call or the timer does this, never a read. A day is one transaction: its rows and everything derived
// from them are committed together.
import type { Pool } from 'pg';
import type { AuditTrail } from './audit-trail.ts';
import type { BusinessTime } from './business-time.ts';
import { inWriteTransaction } from './database/write-transaction.ts';
import { enterDay, type HeldDay, type Inserted, readHeldDays } from './load/held-days.ts';
import { DATA_TIME_ZONE } from './load/ledger.ts';
import type { Switches } from './switches.ts';

export type DayReport = { inserted: Inserted; daysLeft: number };
export type OnDay = (day: string, report: DayReport) => void;
export type Replay = {
  daysLeft(): number;
  /**
   * Enters every day up to this one (YYYY-MM-DD) and moves business time to its closing time. Rejects with
   * RangeError for a malformed day.
   */
  advanceTo(day: string): Promise<DayReport[]>;
  /** Moves business time to `at`, entering the days that have begun by then. */
  moveTo(at: Date): Promise<void>;
  /**
   * Enters a day every `minutesPerDay` minutes (default 1) until none is left. Throws RangeError unless it is
   * above 0.
   */
  start(options?: { minutesPerDay?: number }): void;
  pause(): void;
  /** Stops the timer; resolves when no day is being entered any more. */
  stop(): Promise<void>;
};
type Parts = { pool: Pool; time: BusinessTime; switches: Switches; audit: AuditTrail; onDay: OnDay };

const MINUTE_MS = 60_000;

/**
 * Reads which days are held back. The returned methods run one at a time; `start` throws and `advanceTo`
 * rejects with RangeError for bad input.
 */
export async function createReplay(parts: Parts): Promise<Replay> {
  const { pool, time } = parts;
  const books = await createBooks(parts);
  const runSerially = createSerialQueue();
  const timer = createTimer(() => runSerially(books.enterOne), parts.audit);
  return {
    daysLeft: () => books.left().length,
    advanceTo: (day) =>
      runSerially(async () => {
        const closing = await readClosingTime(pool, day);
        const reports = await books.enterWhile((next) => next.day <= day);
        if (reports.length === 0) await books.moveForward(closing);
        return reports;
      }),
    moveTo: (at) =>
      runSerially(async () => {
        // Days without changes are entered along with the next day that has begun.
        const last = books.left().findLast((day) => day.firstChange !== undefined && day.firstChange <= at);
        const reports = last ? await books.enterWhile((next) => next.day <= last.day) : [];
        if (reports.length === 0) (await time.move(pool, at)).apply();
        else await books.moveForward(at);
      }),
    start({ minutesPerDay = 1 } = {}) {
      if (!(minutesPerDay > 0)) throw new RangeError(`minutesPerDay must be above 0, not ${minutesPerDay}.`);
      timer.start(minutesPerDay * MINUTE_MS);
    },
    pause: timer.stop,
    async stop() {
      timer.stop();
      await runSerially(async () => undefined);
    },
  };
}

type Books = {
  left(): readonly HeldDay[];
  /** Enters the next day; resolves to whether more are left. */
  enterOne(): Promise<boolean>;
  enterWhile(wanted: (day: HeldDay) => boolean): Promise<DayReport[]>;
  moveForward(at: Date): Promise<void>;
};

async function createBooks({ pool, time, switches, onDay }: Parts): Promise<Books> {
  const held = await readHeldDays(pool);
  const capTime = (): void => time.capBefore(held.find((day) => day.firstChange !== undefined)?.firstChange);
  const enter = async ({ day, closing }: HeldDay): Promise<DayReport> => {
    const at = new Date(Math.max(closing.getTime(), time.now().getTime()));
    const { inserted, moved } = await inWriteTransaction(pool, DATA_TIME_ZONE, async (client) => ({
      inserted: await enterDay(client, day, switches.paymentTouchesInvoice ? closing : null),
      moved: await time.move(client, at),
    }));
    held.shift();
    capTime();
    moved.apply();
    const report = { inserted, daysLeft: held.length };
    onDay(day, report);
    return report;
  };
  capTime();
  return {
    left: () => held,
    async enterOne() {
      if (held[0]) await enter(held[0]);
      return held.length > 0;
    },
    async enterWhile(wanted) {
      const reports: DayReport[] = [];
      for (let next = held[0]; next && wanted(next); next = held[0]) reports.push(await enter(next));
      return reports;
    },
    async moveForward(at) {
      if (at > time.now()) (await time.move(pool, at)).apply();
    },
  };
}

/** Runs the given work one at a time, in the order of the calls. */
function createSerialQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
}

/**
 * Stops itself when `work` resolves to false, which means that nothing is left. Failed work is retried at the
 * next tick.
 */
function createTimer(
  work: () => Promise<boolean>,
  audit: AuditTrail,
): { start(everyMs: number): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  const tick = (): void => {
    work().then(
      (isMore) => {
        if (!isMore) stop();
      },
      (error: unknown) =>
        audit.record('business time', 500, error instanceof Error ? error.message : String(error)),
    );
  };
  return {
    start(everyMs) {
      stop();
      timer = setInterval(tick, everyMs);
    },
    stop,
  };
}

async function readClosingTime(pool: Pool, day: string): Promise<Date> {
  if (!/^\d{4}-\d\d-\d\d$/.test(day))
    throw new RangeError(`A day must be written as YYYY-MM-DD, not ${day}.`);
  const { rows } = await pool.query<{ closing: Date }>(
    `SELECT ($1::date + time '18:00') AT TIME ZONE '${DATA_TIME_ZONE}' AS closing`,
    [day],
  );
  return rows[0]?.closing ?? new Date(Number.NaN);
}
