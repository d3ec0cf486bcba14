// Schedules of syncs: cron expressions with five fields, in words and as a choice. What the choice doesn't
// offer is written as an expression.
import { Field, Select } from './form.tsx';

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const isPlain = (text: string): boolean => /^\d{1,2}$/.test(text);
const every = (count = '1', unit: string): string =>
  count === '1' ? `Every ${unit}` : `Every ${count} ${unit}s`;
const timeText = (hour: string, minute: string): string =>
  `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;

/** On which days a schedule runs at one time a day; undefined for other schedules. */
function describeDays(day: string, weekday: string): string | undefined {
  if (isPlain(day) && weekday === '*') return `On day ${day} of each month`;
  if (day !== '*') return undefined;
  if (weekday === '1-5') return 'Monday to Friday';
  return weekday === '*'
    ? 'Every day'
    : /^[0-6]$/.test(weekday)
      ? `Every ${days[Number(weekday)]}`
      : undefined;
}

/**
 * `Every 15 minutes`, `Every day at 02:30, Europe/London`, `By hand only`; the expression itself where it has
 * no simple words.
 */
export function describeSchedule(schedule: string | null, timezone: string): string {
  if (schedule === null) return 'By hand only';
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = schedule.trim().split(/\s+/);
  const step = /^\*(?:\/(\d+))?$/;
  const [minutes, hours] = [step.exec(minute), step.exec(hour)];
  const on = month === '*' ? describeDays(day, weekday) : undefined;
  if (on === 'Every day' && hour === '*' && minutes !== null) return every(minutes[1], 'minute');
  if (on === 'Every day' && hours !== null && isPlain(minute))
    return every(hours[1], 'hour') + (Number(minute) === 0 ? '' : ` at ${minute} past`);
  if (on !== undefined && isPlain(minute) && isPlain(hour))
    return `${on} at ${timeText(hour, minute)}, ${timezone}`;
  return `${schedule} (${timezone})`;
}

const fixed = ['*/5 * * * *', '*/15 * * * *', '*/30 * * * *', '0 * * * *', '0 */6 * * *'];
/** The last field of schedules with a time of day. */
const weekdays: Readonly<Record<string, string>> = { daily: '*', weekdays: '1-5' };

/** One of `fixed`, or the name of a kind. */
function classifySchedule(schedule: string | null): string {
  if (schedule === null) return 'manual';
  if (fixed.includes(schedule)) return schedule;
  const weekday = /^\d{1,2} \d{1,2} \* \* (\S+)$/.exec(schedule)?.[1];
  return Object.keys(weekdays).find((kind) => weekdays[kind] === weekday) ?? 'custom';
}

const parseTime = (schedule: string | null): string => {
  const [minute = '', hour = ''] = schedule?.split(' ') ?? [];
  return isPlain(minute) && isPlain(hour) ? timeText(hour, minute) : '02:00';
};
const atTime = (time: string, weekday: string): string => {
  const [hour, minute] = time.split(':').map(Number);
  return `${minute || 0} ${hour || 0} * * ${weekday}`;
};

/** The schedule that a choice begins with. */
function toSchedule(kind: string, before: string | null): string | null {
  if (kind === 'manual') return null;
  const weekday = weekdays[kind];
  if (weekday !== undefined) return atTime(parseTime(before), weekday);
  return kind === 'custom' ? (before ?? '0 * * * *') : kind;
}

const kinds: readonly (readonly [kind: string, title: string])[] = [
  ...fixed.map((one) => [one, describeSchedule(one, '')] as const),
  ['daily', 'Every day at a time'],
  ['weekdays', 'Monday to Friday at a time'],
  ['custom', 'Another schedule (cron)'],
  ['manual', 'By hand only'],
];

type ScheduleValue = {
  readonly schedule: string | null;
  readonly timezone: string;
  readonly custom: boolean;
};
/** What the inputs start with. */
export const scheduleValue = (schedule: string | null, timezone: string): ScheduleValue => ({
  schedule,
  timezone,
  custom: classifySchedule(schedule) === 'custom',
});

const timezones = Intl.supportedValuesOf('timeZone');

type ScheduleFieldsProps = {
  value: ScheduleValue;
  onChange: (value: ScheduleValue) => void;
  hint?: string;
  /** Whether it may have no schedule. */
  manual?: boolean;
};

/** Inputs of a schedule and its time zone. */
export function ScheduleFields({
  value,
  onChange,
  hint = 'Each run reads only what changed since the one before.',
  manual = true,
}: ScheduleFieldsProps) {
  const { schedule, timezone, custom } = value;
  const kind = custom ? 'custom' : classifySchedule(schedule);
  const weekday = weekdays[kind];
  return (
    <>
      <Select
        label="Schedule"
        value={kind}
        onChange={(next) =>
          onChange({ timezone, schedule: toSchedule(next, schedule), custom: next === 'custom' })
        }
        options={kinds.filter(([one]) => manual || one !== 'manual')}
        hint={hint}
      />
      {weekday !== undefined && (
        <Field
          label="Time"
          type="time"
          value={parseTime(schedule)}
          onChange={(time) => onChange({ ...value, schedule: atTime(time, weekday) })}
          required
        />
      )}
      {custom && (
        <Field
          label="Cron expression"
          value={schedule ?? ''}
          onChange={(text) => onChange({ ...value, schedule: text })}
          required
          hint="Five fields: minute, hour, day of the month, month, day of the week."
        />
      )}
      {schedule !== null && (
        <Field
          label="Time zone"
          value={timezone}
          onChange={(text) => onChange({ ...value, timezone: text })}
          options={timezones}
          required
        />
      )}
    </>
  );
}
