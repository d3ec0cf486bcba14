// The settings of a sync, and its end.
import { useState } from 'preact/hooks';
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { DeleteButton } from '../../parts/detail.tsx';
import { useAction } from '../../parts/dialog.tsx';
import { Form } from '../../parts/form.tsx';
import { Section } from '../../parts/page.tsx';
import { type FieldSpec, SpecField, splitList } from '../../parts/record-form.tsx';
import { describeSchedule, ScheduleFields, scheduleValue } from '../../parts/schedule.tsx';
import { invalidate, useGet } from '../../query.ts';
import { may } from '../../session.ts';
import { updateSync } from './actions.tsx';
import type { SyncConfig } from './words.ts';

/** Settings as texts, by their names in the interface. */
const toFormTexts = (sync: SyncConfig) => ({
  name: sync.name,
  mode: sync.mode as string,
  filter: (sync.filter?.subsidiaries ?? []).join(', '),
  deletions: sync.deletions as string,
  maxDeleteShare: String(Math.round(sync.maxDeleteShare * 10_000) / 100),
  freshnessTarget: sync.freshnessTarget === null ? '' : String(sync.freshnessTarget),
  alertRecipients: sync.alertRecipients.join(', '),
});
type Texts = ReturnType<typeof toFormTexts>;

/** What the service takes for a text; the other texts are taken as they are. */
const parsers: Partial<Record<string, (text: string) => unknown>> = {
  filter: (text) => (text === '' ? null : { subsidiaries: splitList(text) }),
  maxDeleteShare: (text) => Number(text) / 100,
  freshnessTarget: (text) => (text === '' ? null : Number(text)),
  alertRecipients: splitList,
};

const fields: readonly FieldSpec<keyof Texts>[] = [
  { name: 'name', label: 'Name', required: true },
  {
    name: 'mode',
    label: 'Scheduled runs',
    options: [
      ['incremental', 'Incremental: what changed, and a part of the rest'],
      ['full', 'Full: every record, each time'],
    ],
  },
  {
    name: 'filter',
    label: 'Only these subsidiaries',
    hint: 'Ids, separated by commas; empty for all. Records that leave them are deleted here, under the rules below.',
  },
  {
    name: 'deletions',
    label: 'Deletions',
    options: [
      ['reconcile', 'Delete what the ERP lists as deleted; where it lists nothing, a few absent records'],
      ['feed', 'Delete only what the ERP lists as deleted'],
      ['none', 'Delete nothing'],
    ],
  },
  {
    name: 'maxDeleteShare',
    label: 'Delete without asking, in percent of all records',
    kind: 'number',
    required: true,
    hint: 'For each day, where the ERP lists no deletions of this type. More absent records wait for approval, beyond a small number.',
    when: ({ deletions }) => deletions === 'reconcile',
  },
  {
    name: 'freshnessTarget',
    label: 'Freshness target, in minutes',
    kind: 'number',
    hint: 'How old the data may become; empty for any age. A run is added in time, and the alert recipients get a mail when the data are older.',
  },
  {
    name: 'alertRecipients',
    label: 'Alert recipients',
    hint: 'E-mail addresses, separated by commas. They get a mail when the sync turns red and when it is green again.',
  },
];

function Edit({ sync }: { sync: SyncConfig }) {
  const before: Texts = toFormTexts(sync);
  const [texts, setTexts] = useState(before);
  const [{ schedule, timezone, custom }, setSchedule] = useState(scheduleValue(sync.schedule, sync.timezone));
  // Only what differs, so that a change by another person stays.
  const changes = {
    ...Object.fromEntries(
      fields.flatMap(({ name }) =>
        texts[name] === before[name] ? [] : [[name, (parsers[name] ?? String)(texts[name])]],
      ),
    ),
    ...(schedule !== sync.schedule && { schedule }),
    ...(timezone !== sync.timezone && { timezone }),
  };
  const action = useAction(() => updateSync(sync, changes));
  const status = (
    <span class="muted" role="status">
      {Object.keys(changes).length === 0 ? 'Saved' : 'Not saved yet'}
    </span>
  );
  return (
    <Form action={action} label="Save" secondary={status}>
      <ScheduleFields value={{ schedule, timezone, custom }} hint="" onChange={setSchedule} />
      {fields
        .filter(({ when }) => when?.(texts) !== false)
        .map((spec) => (
          <SpecField
            key={spec.name}
            spec={spec}
            value={texts[spec.name]}
            error={action.error}
            onChange={(text) => setTexts((last) => ({ ...last, [spec.name]: text }))}
          />
        ))}
    </Form>
  );
}

/** What deleting ends, in numbers; how many runs there are is asked for when it is shown. */
function Ends({ sync: { id, recordType, records, schedule, timezone } }: { sync: SyncConfig }) {
  const total = useGet('/sync-configs/{id}/runs', { path: { id }, query: { pageSize: 1 } }).data?.pagination
    .total;
  return (
    <>
      <p>
        {recordType} is no longer synced. {formatCount(records, 'stored record')}{' '}
        {records === 1 ? 'stays' : 'stay'} readable, but not updated.
      </p>
      <p>
        Deleted with it: its settings, its schedule ({describeSchedule(schedule, timezone)}), and{' '}
        {total === undefined ? 'its runs' : formatCount(total, 'run')} with their logs and proofs.
      </p>
    </>
  );
}

export const Settings = ({ sync }: { sync: SyncConfig }) => (
  <>
    <Section title="Settings">
      {may('sync:update') ? (
        <Edit key={sync.updatedAt} sync={sync} />
      ) : (
        <p class="muted">Changing the settings needs the permission sync:update.</p>
      )}
    </Section>
    {may('sync:delete') && (
      <Section
        title="End the sync"
        actions={
          <DeleteButton
            what="sync"
            name={`the sync ${sync.name}`}
            to="/syncs"
            run={async () => {
              await api.DELETE('/sync-configs/{id}', { params: { path: { id: sync.id } } });
              await invalidate('/sync-configs', '/sync-runs');
            }}
          >
            <Ends sync={sync} />
          </DeleteButton>
        }
      >
        <p class="muted">
          What was synced stays readable. A sync that a published version or a view uses can't be deleted.
        </p>
      </Section>
    )}
  </>
);
