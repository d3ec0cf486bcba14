// Creates the sync of a record type with the chosen fields, and shows its first run. What that takes can be
// estimated before.

import { useState } from 'preact/hooks';
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { keep, useKept } from '../../kept.ts';
import { useAction } from '../../parts/dialog.tsx';
import { Check, Field, Form, Select } from '../../parts/form.tsx';
import { Working } from '../../parts/plot.tsx';
import { Problem } from '../../parts/problem.tsx';
import { splitList } from '../../parts/record-form.tsx';
import { prefixOf } from '../../parts/record-type.ts';
import { ScheduleFields } from '../../parts/schedule.tsx';
import { expire, invalidate } from '../../query.ts';
import { base, go } from '../../router.ts';
import { firstSchedule, Recipients, Totals, useEstimate } from './estimate.tsx';
import { type FieldChoice, fieldsToRead, keptChoice, type RecordType } from './field-choice.ts';

type Settings = {
  readonly name: string;
  readonly all: boolean;
  readonly schedule: typeof firstSchedule;
  readonly subsidiaries: string;
  readonly recipients: string;
  readonly starts: boolean;
};

const keptSettings = (recordType: string): string => `sync of ${recordType}`;

/** A sync can be limited to subsidiaries where each record has one. */
const canFilter = ({ fields }: RecordType): boolean =>
  fields.some(({ name, type, syncable }) => name === 'subsidiary' && type === 'reference' && syncable);

function toFilter({ subsidiaries }: Settings) {
  const ids = splitList(subsidiaries);
  return ids.length === 0 ? null : { subsidiaries: ids };
}

async function create(recordType: string, fields: string[] | '*', settings: Settings): Promise<void> {
  const { name, schedule, recipients, starts } = settings;
  const { data } = await api.POST('/sync-configs', {
    body: {
      ...{ name, recordType, fields, schedule: schedule.schedule, timezone: schedule.timezone },
      filter: toFilter(settings),
      alertRecipients: splitList(recipients),
    },
  });
  if (data === undefined) return;
  const params = { path: { id: data.id } };
  const run = starts && (await api.POST('/sync-configs/{id}/trigger', { params, body: {} })).data;
  keep(keptChoice(recordType), undefined);
  keep(keptSettings(recordType), undefined);
  expire('/connections/');
  await invalidate('/sync-configs', '/sync-runs', '/overview');
  go(run ? `${base}/runs/${run.id}` : `${base}/syncs/${data.id}`);
}

function Estimate({ type, settings }: { type: RecordType; settings: Settings }) {
  const { busy, error, submit, result } = useEstimate([type.name], toFilter(settings));
  const reason = result?.data[0]?.reason;
  return (
    <>
      {busy && <Working label="Counting the records and measuring a page" />}
      <Problem error={error} retry={submit} />
      {reason ? <p class="note warn">{reason}</p> : result && <Totals totals={result.totals} />}
    </>
  );
}

type PartProps = { type: RecordType; settings: Settings; set: (changes: Partial<Settings>) => void };

const MoreSettings = ({ type, settings: { name, subsidiaries, recipients }, set }: PartProps) => (
  <details open={subsidiaries !== '' || recipients !== ''}>
    <summary>Name, filter and alerts</summary>
    <div class="stack">
      <Field label="Name" value={name} onChange={(next) => set({ name: next })} required />
      {canFilter(type) && (
        <Field
          label="Only these subsidiaries"
          value={subsidiaries}
          onChange={(next) => set({ subsidiaries: next })}
          hint="Internal ids, separated by commas. Empty: all records."
        />
      )}
      <Recipients value={recipients} onChange={(next) => set({ recipients: next })} />
    </div>
  </details>
);

/** The same label may be known to several connections. */
const nameSync = ({ name, label }: RecordType): string => {
  const prefix = prefixOf(name).slice(0, -1);
  return label.slice(0, 90) + (prefix && ` (${prefix})`);
};

const initialSettings = (type: RecordType): Settings => ({
  name: nameSync(type),
  all: false,
  subsidiaries: '',
  recipients: '',
  starts: true,
  schedule: firstSchedule,
});

type FieldsChoiceProps = {
  all: boolean;
  count: string;
  readable: string;
  onChange: (all: boolean) => void;
};

const FieldsChoice = ({ all, count, readable, onChange }: FieldsChoiceProps) => (
  <Select
    label="Fields"
    value={String(all)}
    onChange={(value) => onChange(value === 'true')}
    options={[
      ['false', `The ${count}`],
      ['true', `All ${readable}`],
    ]}
    hint={
      all
        ? 'Fields that the account adds later are synced too.'
        : 'The proposed fields are chosen. Change them in the list.'
    }
  />
);

export function CreateSync({ type, choice }: { type: RecordType; choice: FieldChoice }) {
  const [settings, setSettings] = useKept<Settings>(keptSettings(type.name), initialSettings(type));
  const [estimates, setEstimates] = useState(false);
  const set = (changes: Partial<Settings>): void => {
    setEstimates(false);
    setSettings({ ...settings, ...changes });
  };
  const { all, schedule, starts } = settings;
  const action = useAction(() => create(type.name, all ? '*' : fieldsToRead(choice), settings));
  const count = formatCount(choice.chosen.value.size, 'chosen field');
  const readable = `${type.syncableFieldCount} fields that can be synced`;
  return (
    <>
      <h2>Sync {type.label}</h2>
      <Form
        action={action}
        label="Create sync"
        secondary={
          <button type="button" onClick={() => setEstimates(true)}>
            Estimate the first load
          </button>
        }
      >
        <FieldsChoice all={all} count={count} readable={readable} onChange={(next) => set({ all: next })} />
        <ScheduleFields value={schedule} onChange={(next) => set({ schedule: next })} />
        <MoreSettings type={type} settings={settings} set={set} />
        <Check label="Start the first load now" checked={starts} onChange={(next) => set({ starts: next })} />
        {estimates && <Estimate type={type} settings={settings} />}
      </Form>
    </>
  );
}
