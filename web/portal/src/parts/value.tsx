// One value: a date, an amount, a due date with how late it is, a status.
import type { Value } from '../../../../src/portal/view-model.ts';
import { useView } from '../view.ts';

/** From here on a due date is near. */
const soonDays = 7;
/** Longer texts may wrap anywhere: they are no numbers of records. */
const maxUnbroken = 24;
/** By the words with which ERPs begin a status; all others stay neutral. */
const statusTones: readonly (readonly [RegExp, string])[] = [
  [/^(?:fully )?(?:paid|settled|deposited|applied)\b/i, 'good'],
  [/^(?:overdue|void|rejected|declined|failed|bounced)/i, 'bad'],
];

export const Status = ({ text }: { text: string }) => {
  const tone = statusTones.find(([words]) => words.test(text))?.[1] ?? '';
  return <span class={`chip ${tone} ${text.length > maxUnbroken ? 'wraps' : ''}`.trim()}>{text}</span>;
};

const DueDate = ({ date, days }: { date: string; days: number | null }) => {
  const view = useView();
  const day = (
    <time class="day" dateTime={date}>
      {view.date(date, 'medium')}
    </time>
  );
  if (days === null || days > soonDays) return day;
  const text =
    days < 0
      ? view.text('due.late', { days: -days })
      : days === 0
        ? view.text('due.today')
        : view.text('due.soon', { days });
  return (
    <span class="due">
      {day} <span class={days < 0 ? 'chip bad' : 'chip warn'}>{text}</span>
    </span>
  );
};

const Text = ({ text }: { text: string }) => (
  <span class={text.length > maxUnbroken ? 'long' : undefined}>{text}</span>
);

export const ValueView = ({ value }: { value: Value }) => {
  const view = useView();
  if (value === null) return <span class="none">–</span>;
  switch (value.kind) {
    case 'text':
      return <Text text={value.text} />;
    case 'number-of-record':
      return <b class={value.text.length > maxUnbroken ? 'long' : 'whole'}>{value.text}</b>;
    case 'status':
      return value.text === '' ? null : <Status text={value.text} />;
    case 'number':
      return <span class="figure">{view.number(value.value, value.digits)}</span>;
    case 'money':
      return <span class="figure">{view.money(value, value.digits)}</span>;
    case 'date':
      return (
        <time class="day" dateTime={value.date}>
          {view.date(value.date, value.style)}
        </time>
      );
    case 'time':
      return (
        <time class="day" dateTime={value.instant}>
          {view.instant(value.instant, { style: value.style })}
        </time>
      );
    case 'due':
      return <DueDate date={value.date} days={value.days} />;
    case 'yes-no':
      return <span>{view.text(value.value ? 'value.yes' : 'value.no')}</span>;
  }
};
