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
