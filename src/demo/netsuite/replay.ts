// The shop's next day: enters days that were held back when the data were loaded, and moves business time with them. Only a call or
// the timer does so, never a read. A day is one transaction: it is in the books with all that follows from it, or not at all.
import type { Pool } from 'pg';
import type { Audit } from './audit.ts';
import type { BusinessTime } from './business-time.ts';
import { inWrite } from './database/in-write.ts';
import { enterDay, type HeldDay, type Inserted, readHeldDays } from './load/held-days.ts';
import { DATA_TIME_ZONE } from './load/ledger.ts';
import type { Switches } from './switches.ts';

export type DayReport = { inserted: Inserted; daysLeft: number };
export type OnDay = (day: string, report: DayReport) => void;
export type Replay = {
  daysLeft(): number;
  /** Enters every day up to this one (YYYY-MM-DD) and moves business time to its closing. */
  advanceTo(day: string): Promise<DayReport[]>;
  /** Moves business time to a moment, entering the days that have begun by then. */
  moveTo(at: Date): Promise<void>;
  /** A day every so many minutes, one unless told, until none is left. */
  start(options?: { minutesPerDay?: number }): void;
  pause(): void;
  /** Ends the timer; resolves when nothing is under way any more. */
  stop(): Promise<void>;
};
type Parts = { pool: Pool; time: BusinessTime; switches: Switches; audit: Audit; onDay: OnDay };

const MINUTE_MS = 60_000;

export async function openReplay(parts: Parts): Promise<Replay> {
  const { pool, time } = parts;
  const books = await openBooks(parts);
  const inTurn = makeQueue();
  const timer = makeTimer(() => inTurn(books.enterOne), parts.audit);
  return {
    daysLeft: () => books.left().length,
    advanceTo: (day) =>
      inTurn(async () => {
        const closing = await closingOf(pool, day);
        const reports = await books.enterWhile((next) => next.day <= day);
        if (reports.length === 0) await books.moveForward(closing);
        return reports;
      }),
    moveTo: (at) =>
      inTurn(async () => {
        // Empty days before one that has begun go with it.
        const last = books.left().findLast((day) => day.firstChange !== undefined && day.firstChange <= at);
        const reports = last ? await books.enterWhile((next) => next.day <= last.day) : [];
        if (reports.length === 0) (await time.move(pool, at)).apply();
        else await books.moveForward(at);
      }),
    start({ minutesPerDay = 1 } = {}) {
      if (!(minutesPerDay > 0)) throw new RangeError('A day takes some time.');
      timer.start(minutesPerDay * MINUTE_MS);
    },
    pause: timer.stop,
    async stop() {
      timer.stop();
      await inTurn(async () => undefined);
    },
  };
}

type Books = {
  left(): readonly HeldDay[];
  /** Enters the next day; tells whether more are left. */
  enterOne(): Promise<boolean>;
  enterWhile(wanted: (day: HeldDay) => boolean): Promise<DayReport[]>;
  moveForward(at: Date): Promise<void>;
};

async function openBooks({ pool, time, switches, onDay }: Parts): Promise<Books> {
  const held = await readHeldDays(pool);
  const holdTime = (): void => time.holdBefore(held.find((day) => day.firstChange !== undefined)?.firstChange);
  const enter = async ({ day, closing }: HeldDay): Promise<DayReport> => {
    const at = new Date(Math.max(closing.getTime(), time.now().getTime()));
    const { inserted, moved } = await inWrite(pool, DATA_TIME_ZONE, async (client) => ({
      inserted: await enterDay(client, day, switches.paymentTouchesInvoice ? closing : null),
      moved: await time.move(client, at),
    }));
    held.shift();
    holdTime();
    moved.apply();
    const report = { inserted, daysLeft: held.length };
    onDay(day, report);
    return report;
  };
  holdTime();
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

/** One after the other, whoever asks. */
function makeQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let underWay: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = underWay.then(work);
    underWay = turn.catch(() => undefined);
    return turn;
  };
}

/** Stops by itself when `work` tells that nothing is left. What fails is tried again at the next beat. */
function makeTimer(work: () => Promise<boolean>, audit: Audit): { start(everyMs: number): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  const beat = (): void => {
    work().then(
      (isMore) => {
        if (!isMore) stop();
      },
      (error: unknown) => audit.note('business time', 500, error instanceof Error ? error.message : String(error)),
    );
  };
  return {
    start(everyMs) {
      stop();
      timer = setInterval(beat, everyMs);
    },
    stop,
  };
}

async function closingOf(pool: Pool, day: string): Promise<Date> {
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) throw new RangeError(`A day is written YYYY-MM-DD, not ${day}.`);
  const { rows } = await pool.query<{ closing: Date }>(`SELECT ($1::date + time '18:00') AT TIME ZONE '${DATA_TIME_ZONE}' AS closing`, [
    day,
  ]);
  return rows[0]?.closing ?? new Date(Number.NaN);
}
