// One value: a date, an amount, a due date with how late it is, a status.
import type { Value } from '../../../../src/portal/view-model.ts';
import { useView } from '../view.ts';

/** From here on a due date is near. */
const soonDays = 7;
/** Longer texts may wrap anywhere: they are no numbers of records. */
const maxUnbroken = 24;
const unbroken = (text: string, name: string): string => (text.length > maxUnbroken ? 'long' : name);

/** By the words with which ERPs begin a status; all others stay neutral. */
const statusTones: readonly (readonly [RegExp, string])[] = [
  [/^(?:fully )?(?:paid|settled|deposited|applied)\b/i, 'good'],
  [/^(?:overdue|void|rejected|declined|failed|bounced)/i, 'bad'],
];

export const Status = ({ text }: { text: string }) => {
  const tone = statusTones.find(([words]) => words.test(text))?.[1] ?? '';
  return <span class={`chip ${tone} ${text.length > maxUnbroken ? 'wraps' : ''}`.trim()}>{text}</span>;
};

const Day = ({ at, text }: { at: string; text: string }) => (
  <time class={text.length > maxUnbroken ? 'day long' : 'day'} dateTime={at}>
    {text}
  </time>
);

const Figure = ({ text }: { text: string }) => <span class={unbroken(text, 'figure')}>{text}</span>;

const DueDate = ({ date, days }: { date: string; days: number | null }) => {
  const view = useView();
  const day = <Day at={date} text={view.date(date, 'medium')} />;
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
    case 'label':
      return <Text text={view.label(value.label)} />;
    case 'number-of-record':
      return <b class={unbroken(value.text, 'whole')}>{value.text}</b>;
    case 'status':
      return value.text === '' ? null : <Status text={value.text} />;
    case 'number':
      return <Figure text={view.number(value.value, value.digits)} />;
    case 'money':
      return <Figure text={view.money(value, value.digits)} />;
    case 'date':
      return <Day at={value.date} text={view.date(value.date, value.style)} />;
    case 'time':
      return <Day at={value.instant} text={view.instant(value.instant, { style: value.style })} />;
    case 'due':
      return <DueDate date={value.date} days={value.days} />;
    case 'yes-no':
      return <span>{view.text(value.value ? 'value.yes' : 'value.no')}</span>;
  }
};
