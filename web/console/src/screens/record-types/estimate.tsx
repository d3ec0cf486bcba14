// What the first loads of syncs take: the ERP's own counts, and the measured time of a page.

import { useEffect, useState } from 'preact/hooks';
import { type Answer, type ApiError, api } from '../../api.ts';
import { formatDuration, formatNumber } from '../../format.ts';
import { useAction } from '../../parts/dialog.tsx';
import { findProblem } from '../../parts/field-problems.ts';
import { Field } from '../../parts/form.tsx';
import { Stats } from '../../parts/list.tsx';
import { scheduleValue } from '../../parts/schedule.tsx';
import { expire } from '../../query.ts';

export type Result = Answer<'/sync-configs/bulk', 'post'>;

export const numberText = (value: number | null): string => (value === null ? '–' : formatNumber(value));
export const minutesText = (minutes: number | null): string =>
  minutes === null ? '–' : minutes < 1 ? 'under 1 min' : formatDuration(minutes * 60_000);

/** What the schedule of a new sync starts with. */
export const firstSchedule = scheduleValue('*/15 * * * *', Intl.DateTimeFormat().resolvedOptions().timeZone);

/** Estimates at once, and again by `submit`. */
export function useEstimate(recordTypes: string[], filter: { subsidiaries: string[] } | null = null) {
  const [result, setResult] = useState<Result>();
  const action = useAction(async () => {
    setResult((await api.POST('/sync-configs/bulk', { body: { recordTypes, filter, dryRun: true } })).data);
    // It read fields of record types.
    expire('/connections/');
  });
  useEffect(() => {
    if (recordTypes.length > 0) action.submit();
  }, []);
  return { ...action, result, setResult };
}

export const Totals = ({ totals: { records, requests, minutes } }: { totals: Result['totals'] }) => (
  <Stats
    values={[
      ['Records', numberText(records)],
      ['Requests to the ERP', numberText(requests)],
      ['First load, about', minutesText(minutes)],
    ]}
  />
);

type RecipientsProps = { value: string; onChange: (value: string) => void; error?: ApiError | undefined };

export const Recipients = ({ value, onChange, error }: RecipientsProps) => (
  <Field
    label="Alert recipients"
    value={value}
    onChange={onChange}
    problem={findProblem(error, 'alertRecipients')}
    hint="Addresses that get a mail when a run needs attention, separated by commas."
  />
);
