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

export async function openReplay({ pool, time, switches, audit, onDay }: Parts): Promise<Replay> {
  const held = await readHeldDays(pool);
  const holdTime = (): void => time.holdBefore(held.find((day) => day.firstChange !== undefined)?.firstChange);
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<unknown> = Promise.resolve();

  const enterNext = async ({ day, closing }: HeldDay): Promise<DayReport> => {
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
  const enterWhile = async (wanted: (day: HeldDay) => boolean): Promise<DayReport[]> => {
    const reports: DayReport[] = [];
    for (let next = held[0]; next && wanted(next); next = held[0]) reports.push(await enterNext(next));
    return reports;
  };
  /** One after the other, whoever asks. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = underWay.then(work);
    underWay = turn.catch(() => undefined);
    return turn;
  };
  const moveForward = async (at: Date): Promise<void> => {
    if (at > time.now()) (await time.move(pool, at)).apply();
  };

  const replay: Replay = {
    daysLeft: () => held.length,
    advanceTo: (day) =>
      inTurn(async () => {
        const closing = await closingOf(pool, day);
        const reports = await enterWhile((next) => next.day <= day);
        if (reports.length === 0) await moveForward(closing);
        return reports;
      }),
    moveTo: (at) =>
      inTurn(async () => {
        // Empty days before one that has begun go with it.
        const last = held.findLast((day) => day.firstChange !== undefined && day.firstChange <= at);
        const reports = last ? await enterWhile((next) => next.day <= last.day) : [];
        if (reports.length === 0) (await time.move(pool, at)).apply();
        else await moveForward(at);
      }),
    start({ minutesPerDay = 1 } = {}) {
      if (!(minutesPerDay > 0)) throw new RangeError('A day takes some time.');
      replay.pause();
      const enterOne = async (): Promise<void> => {
        if (held[0]) await enterNext(held[0]);
        if (held.length === 0) replay.pause();
      };
      const tick = (): void => {
        // A day that could not be entered is tried again by the next tick.
        inTurn(enterOne).catch((error: unknown) =>
          audit.note('business time', 500, error instanceof Error ? error.message : String(error)),
        );
      };
      timer = setInterval(tick, minutesPerDay * MINUTE_MS);
    },
    pause() {
      clearInterval(timer);
      timer = undefined;
    },
    async stop() {
      replay.pause();
      await underWay;
    },
  };
  holdTime();
  return replay;
}

async function closingOf(pool: Pool, day: string): Promise<Date> {
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) throw new RangeError(`A day is written YYYY-MM-DD, not ${day}.`);
  const { rows } = await pool.query<{ closing: Date }>(`SELECT ($1::date + time '18:00') AT TIME ZONE '${DATA_TIME_ZONE}' AS closing`, [
    day,
  ]);
  return rows[0]?.closing ?? new Date(Number.NaN);
}
