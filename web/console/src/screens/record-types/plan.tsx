// The chosen record types before their syncs are created: what the first loads take, what is refused, and the
// settings that all get.

import { useState } from 'preact/hooks';
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { StateBadge, type States } from '../../parts/detail.tsx';
import { useAction } from '../../parts/dialog.tsx';
import { Check, Form } from '../../parts/form.tsx';
import { Empty, Page, Section } from '../../parts/page.tsx';
import { Working } from '../../parts/plot.tsx';
import { Problem } from '../../parts/problem.tsx';
import { splitList } from '../../parts/record-form.tsx';
import { describeSchedule, ScheduleFields } from '../../parts/schedule.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { invalidate } from '../../query.ts';
import { base } from '../../router.ts';
import type { Head } from './catalogue.ts';
import { choose, chosen } from './chosen.ts';
import {
  firstSchedule,
  minutesText,
  numberText,
  Recipients,
  type Result,
  Totals,
  useEstimate,
} from './estimate.tsx';

type Entry = Result['data'][number];

/** In the order of the rows. */
const states: States<Entry['status']> = {
  refused: ['bad', 'Refused'],
  planned: ['busy', 'To create'],
  created: ['good', 'Created'],
  exists: ['calm', 'Exists'],
};
const order = Object.keys(states);

const createColumns = (labels: ReadonlyMap<string, string>): readonly Column<Entry>[] => [
  {
    title: 'Record type',
    cell: ({ recordType, syncConfigId }) => (
      <a
        href={
          base +
          (syncConfigId === null
            ? `/record-types/${encodeURIComponent(recordType)}`
            : `/syncs/${syncConfigId}`)
        }
      >
        {labels.get(recordType) ?? recordType}
      </a>
    ),
  },
  {
    title: 'Result',
    cell: ({ status, reason }) => (
      <>
        <StateBadge states={states} state={status} />
        <span class="fine rt-why">{reason}</span>
      </>
    ),
  },
  { title: 'Fields', align: 'end', minor: true, cell: ({ fields }) => numberText(fields) },
  { title: 'Records', align: 'end', cell: ({ records }) => numberText(records) },
  { title: 'Requests', align: 'end', minor: true, cell: ({ requests }) => numberText(requests) },
  { title: 'Time', align: 'end', minor: true, cell: ({ minutes }) => minutesText(minutes) },
];

/** `started`: the first loads were started with it. */
type OnCreated = (result: Result | undefined, started: boolean) => void;
type SettingsProps = { planned: readonly Entry[]; onCreated: OnCreated };

function Settings({ planned, onCreated }: SettingsProps) {
  const [schedule, setSchedule] = useState(firstSchedule);
  const [recipients, setRecipients] = useState('');
  const [starts, setStarts] = useState(true);
  const syncs = formatCount(planned.length, 'sync');
  const fields = planned.reduce((sum, one) => sum + (one.fields ?? 0), 0);
  const action = useAction(async () => {
    const { custom: _, ...when } = schedule;
    const { data } = await api.POST('/sync-configs/bulk', {
      body: {
        recordTypes: planned.map(({ recordType }) => recordType),
        ...when,
        alertRecipients: splitList(recipients),
        start: starts,
      },
    });
    choose(chosen.value, false);
    onCreated(data, starts);
    await invalidate('/sync-configs', '/sync-runs', '/connections/', '/overview');
  });
  return (
    <Form action={action} label={`Create ${syncs}`} paths={['alertRecipients']}>
      <ScheduleFields value={schedule} onChange={setSchedule} />
      <Recipients value={recipients} onChange={setRecipients} error={action.error} />
      <Check label="Start the first loads now" checked={starts} onChange={setStarts} />
      <p>
        Creates {syncs} with {formatCount(fields, 'field')} in all: every field that can be synced, and those
        that the account adds later. Schedule: {describeSchedule(schedule.schedule, schedule.timezone)}. The
        first run of each reads all of its records.
      </p>
    </Form>
  );
}

type DoneProps = { totals: Result['totals']; started: boolean };

const Done = ({ totals: { created, exists, refused }, started }: DoneProps) => (
  <p class="note good" role="status">
    <strong>{formatCount(created, 'sync')} created.</strong>{' '}
    {started && `${created === 1 ? 'Its first load has' : 'Their first loads have'} started. `}
    {exists > 0 && `${formatCount(exists, 'sync')} existed already. `}
    {refused > 0 && `${formatCount(refused, 'record type')} refused. `}
    <a href={`${base}/syncs`}>Show the syncs</a>
  </p>
);

type PlannedProps = {
  result: Result;
  started: boolean;
  labels: ReadonlyMap<string, string>;
  onCreated: OnCreated;
};

function Planned({ result: { data, totals }, started, labels, onCreated }: PlannedProps) {
  const filterEntries = (wanted: Entry['status']) => data.filter(({ status }) => status === wanted);
  const [planned, refused] = [filterEntries('planned'), filterEntries('refused')];
  const isDone = totals.created > 0;
  const rows = data.toSorted(
    (a, b) => order.indexOf(a.status) - order.indexOf(b.status) || (b.records ?? 0) - (a.records ?? 0),
  );
  return (
    <div class="stack rt-plan">
      {isDone ? <Done totals={totals} started={started} /> : <Totals totals={totals} />}
      {planned.length > 0 && <Settings planned={planned} onCreated={onCreated} />}
      {!isDone && planned.length === 0 && (
        <p class="note warn">None of the chosen record types can be created.</p>
      )}
      <Section title="Record types">
        <Table
          label="Planned syncs"
          columns={createColumns(labels)}
          rows={rows}
          rowKey={({ recordType }) => recordType}
        />
      </Section>
      {!isDone && refused.length > 0 && (
        <p>
          <button
            type="button"
            class="link"
            onClick={() =>
              choose(
                refused.map(({ recordType }) => recordType),
                false,
              )
            }
          >
            Take the {formatCount(refused.length, 'refused record type')} out of the choice
          </button>
        </p>
      )}
    </div>
  );
}

export function Plan({ heads, list }: { heads: readonly Head[]; list: string }) {
  const labels = new Map(heads.map(({ name, label }) => [name, label]));
  const [names] = useState(() => [...chosen.value].filter((name) => labels.has(name)));
  const { busy, error, submit, result, setResult } = useEstimate(names);
  const [started, setStarted] = useState(false);
  const isDone = result !== undefined && result.totals.created > 0;
  return (
    <Page
      title={isDone ? 'Syncs created' : 'Plan the syncs'}
      lead={
        isDone
          ? undefined
          : "Nothing is created yet. Estimates are the ERP's own counts and the measured time of a page."
      }
      above={[{ to: list, title: 'Record types' }]}
    >
      {names.length === 0 && (
        <Empty title="No record type is chosen.">
          <a class="button" href={list}>
            Choose record types
          </a>
        </Empty>
      )}
      {busy && (
        <Working label={`Reading the fields of ${formatCount(names.length, 'record type')} and counting`} />
      )}
      <Problem error={error} retry={submit} />
      {result !== undefined && (
        <Planned
          {...{ result, started, labels }}
          onCreated={(created, isStarted) => {
            setResult(created);
            setStarted(isStarted);
          }}
        />
      )}
    </Page>
  );
}
