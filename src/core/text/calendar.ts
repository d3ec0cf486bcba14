// Days and times of the calendar as text, of the years 0001 to 9999: those that PostgreSQL, RFC 3339 and
// JavaScript all have. Sources of regular expressions without flags, to be combined with others.

const anyMonth =
  '(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31';
const leapYear = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';

/** Matches a day that exists, as YYYY-MM-DD. */
export const dayPattern = `(?!0000)(?:\\d{4}-(?:${anyMonth})|${leapYear}-02-29)`;
/** Matches a time in UTC that exists, to the second, as YYYY-MM-DDTHH:MM:SSZ. */
export const timePattern = `${dayPattern}T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\dZ`;

const day = new RegExp(`^${dayPattern}$`);
const time = new RegExp(`^${timePattern}$`);

export const isDay = (text: string): boolean => day.test(text);
export const isTime = (text: string): boolean => time.test(text);

const zonedTime = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2})(:\d{2})?(?:\.\d{1,12})?(Z|[+-](?:0\d|1[0-4]):[0-5]\d)$/i;

/**
 * A time of RFC 3339, whose seconds may be absent, in UTC and without the fraction of a second; undefined for any
 * other text.
 */
export function toUtcTime(text: string): string | undefined {
  const [, minute = '', second = ':00', zone = ''] = zonedTime.exec(text) ?? [];
  const local = `${minute}${second}Z`.toUpperCase();
  if (!isTime(local)) return undefined;
  if (zone.toUpperCase() === 'Z') return local;
  const [hours = 0, minutes = 0] = zone.slice(1).split(':').map(Number);
  const aheadMs = (hours * 60 + minutes) * (zone.startsWith('-') ? -60_000 : 60_000);
  const utc = `${new Date(Date.parse(local) - aheadMs).toISOString().slice(0, 19)}Z`;
  return isTime(utc) ? utc : undefined;
}
