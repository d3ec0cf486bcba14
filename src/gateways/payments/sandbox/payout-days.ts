// When the sandbox pays out. Payout windows are aligned to the epoch, so that daily ones end at midnight UTC.

const dayMs = 86_400_000;

/** The end of the window that contains the instant. */
export const windowEnd = (at: Date, everyMs: number): Date =>
  new Date((Math.floor(at.getTime() / everyMs) + 1) * everyMs);

/** The first Monday to Friday after the day (UTC) of the instant, as YYYY-MM-DD. */
export function nextBankingDay(at: Date): string {
  const day = new Date(at.getTime() + dayMs);
  while (day.getUTCDay() % 6 === 0) day.setTime(day.getTime() + dayMs);
  return day.toISOString().slice(0, 10);
}

/** How long a payout stays PENDING: an hour for daily windows, and in proportion for others. */
export const pendingMs = (everyMs: number): number => Math.ceil(everyMs / 24);
