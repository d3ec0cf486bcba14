// All syncs, what needs attention first: how fresh each is, and a run at the press of a button.
import { useEffect, useState } from 'preact/hooks';
import { type Answer, api } from '../../api.ts';
import { formatCount, formatNumber } from '../../format.ts';
import { WordBadge } from '../../parts/detail.tsx';
import { List, listQuery, searchFilter, selectFilter } from '../../parts/list.tsx';
import { Page } from '../../parts/page.tsx';
import { ActionButton } from '../../parts/record-form.tsx';
import { describeSchedule } from '../../parts/schedule.tsx';
import type { Column } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { invalidate, useGet } from '../../query.ts';
import { base, query } from '../../router.ts';
import { noteOpenRuns } from '../../service-state.ts';
import { may } from '../../session.ts';
import { isOpen, syncState } from '../../states.ts';
import '../../styles/syncs.css';
import { RunLink } from './actions.tsx';
import { everyMs, type RunStatus, type SyncConfig } from './words.ts';

const stateOptions = [
  ['failed', 'Last run failed'],
  ['partial', 'Last run partial'],
  ['running', 'Running'],
  ['succeeded', 'Last run succeeded'],
  ['paused', 'Paused'],
  ['disabled', 'Disabled'],
] as const;

/** The state is that of the sync, or of its last run. */
function stateQuery(state: string | null): { status?: SyncConfig['status']; lastRunStatus?: RunStatus } {
  if (state === null) return {};
  return state === 'paused' || state === 'disabled'
    ? { status: state }
    : { lastRunStatus: state as RunStatus };
}

const columns: readonly Column<SyncConfig>[] = [
  {
    title: 'Sync',
    cell: ({ id, name, recordType }) => (
      <>
        <a href={`${base}/syncs/${id}`}>{name}</a>
        <span class="fine">{recordType}</span>
      </>
    ),
  },
  { title: 'State', cell: (sync) => <WordBadge state={syncState(sync)} /> },
  {
    title: 'Data from',
    minor: true,
    cell: ({ syncedAt }) => <Time at={syncedAt} relative none="No data yet" />,
  },
  {
    title: 'Last run',
    cell: ({ lastRun: run }) => (
      <>
        <RunLink run={run} />
        {run !== null && (
          <span class="fine">
            <Time at={run.finishedAt ?? run.startedAt ?? run.queuedAt} relative />
            {isOpen(run) && run.progress?.percent != null && ` · ${run.progress.percent} %`}
          </span>
        )}
      </>
    ),
  },
  {
    title: 'Next run',
    minor: true,
    cell: ({ nextRunAt, schedule, timezone }) => (
      <>
        <Time at={nextRunAt} relative none="Not scheduled" />
        <span class="fine">{describeSchedule(schedule, timezone)}</span>
      </>
    ),
  },
  { title: 'Records', align: 'end', minor: true, cell: ({ records }) => formatNumber(records) },
];

/** Starts a run, or leads to the one that is open. */
const RunButton = ({ id, name, lastRun }: SyncConfig) =>
  lastRun !== null && isOpen(lastRun) ? (
    <a href={`${base}/runs/${lastRun.id}`}>Follow</a>
  ) : (
    <ActionButton
      label="Run now"
      about={name}
      run={async () => {
        await api.POST('/sync-configs/{id}/trigger', { params: { path: { id } }, body: {} });
        await invalidate('/sync-configs');
      }}
    />
  );

/** Starts a run of every sync, and says how many. */
function RunAll() {
  const [result, setResult] = useState<Answer<'/sync-configs/trigger', 'post'>>();
  const run = async (): Promise<void> => {
    setResult((await api.POST('/sync-configs/trigger', { body: {} })).data);
    await invalidate('/sync-configs', '/sync-runs', '/overview');
  };
  return (
    <>
      <span role="status" class="muted">
        {result !== undefined &&
          [
            `${formatCount(result.started, 'run')} started`,
            result.open > 0 && `${formatNumber(result.open)} running already`,
            result.skipped > 0 && `${formatNumber(result.skipped)} paused or disabled`,
          ]
            .filter(Boolean)
            .join(' · ')}
      </span>
      <ActionButton label="Run all" run={run} />
    </>
  );
}

export function Syncs() {
  const read = useGet(
    '/sync-configs',
    {
      query: { ...listQuery<{ q: string }>('q'), sort: 'attention', ...stateQuery(query.value.get('state')) },
    },
    { everyMs },
  );
  const { data } = read;
  useEffect(() => {
    const open = data?.data.filter(({ lastRun }) => lastRun !== null && isOpen(lastRun)).length;
    // A page of several, or with a filter, says nothing of the others.
    const isAll = data?.pagination.totalPages === 1 && query.value.size === 0;
    if (open !== undefined && (open > 0 || isAll)) noteOpenRuns(open);
  }, [data]);
  return (
    <Page
      title="Syncs"
      lead="Each sync keeps the records of one record type as they are in the ERP, and proves it with every run."
      actions={
        may('sync:create') && (
          <>
            {read.data !== undefined && read.data.pagination.total > 0 && <RunAll />}
            <a class="button" href={`${base}/record-types`}>
              Sync another record type
            </a>
          </>
        )
      }
    >
      <div class="syncs-list">
        <List
          label="Syncs"
          read={read}
          columns={
            may('sync:create') ? [...columns, { title: 'Action', align: 'end', cell: RunButton }] : columns
          }
          filters={[
            searchFilter('Search by name'),
            selectFilter('State', 'state', 'Any state', stateOptions),
          ]}
          empty="Nothing is synced yet."
          next={
            <a class="button primary" href={`${base}/record-types`}>
              Choose record types
            </a>
          }
        />
      </div>
    </Page>
  );
}
