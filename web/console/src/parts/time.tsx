import { formatRelative, formatTime } from '../format.ts';

const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

type TimeProps = { at: string | null; relative?: boolean; seconds?: boolean; none?: string | undefined };

/**
 * An instant in the viewer's zone, with the exact instant on hover; `none` where there is no instant.
 * `relative`: as a distance from now; `seconds`: the time of day alone.
 */
export function Time({ at, relative = false, seconds = false, none = '' }: TimeProps) {
  if (at === null) return <span class="muted">{none}</span>;
  const local = formatTime(at);
  return (
    <time dateTime={at} title={relative || seconds ? `${local} (${at})` : at}>
      {relative ? formatRelative(at) : seconds ? timeOfDay.format(new Date(at)) : local}
    </time>
  );
}

const instant = /(\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:\d\d))/;

/** A text of the service, with its instants in the viewer's zone. */
export const TextWithTimes = ({ text }: { text: string }) => (
  <>{text.split(instant).map((part, index) => (index % 2 === 1 ? <Time key={index} at={part} /> : part))}</>
);
