/** The calendar day there, YYYY-MM-DD. Throws a RangeError for what is no time zone. */
export const dayIn = (timeZone: string, time: Date): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(
    time,
  );

/** Whether it is an IANA name of a time zone. */
export function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
