// One sync: its state and what needs attention at the top; runs, rejected records, held deletions, fields and
// settings below.
import type { ComponentChild } from 'preact';
import { formatCount, formatNumber } from '../../format.ts';
import { StateLead, Unread } from '../../parts/detail.tsx';
import { Stats, Tabs } from '../../parts/list.tsx';
import { Page } from '../../parts/page.tsx';
import { ActionButton } from '../../parts/record-form.tsx';
import { describeSchedule } from '../../parts/schedule.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import { base, query, type ScreenProps } from '../../router.ts';
import { may } from '../../session.ts';
import { isOpen, syncState } from '../../states.ts';
import '../../styles/syncs.css';
import { RunLink, TriggerButton, updateSync } from './actions.tsx';
import { Reasons, Why } from './explain.tsx';
import { Fields } from './fields.tsx';
import { History } from './history.tsx';
import { Proposals } from './proposals.tsx';
import { Rejections } from './rejected.tsx';
import { Runs } from './runs.tsx';
import { Settings } from './settings.tsx';
import { everyMs, type SyncConfig } from './words.ts';

type Props = { sync: SyncConfig };

function Actions({ sync }: Props) {
  const { lastRun, schedule, status } = sync;
  const open = lastRun !== null && isOpen(lastRun);
  const enabled = status === 'active';
  return (
    <>
      {may('sync:update') && (schedule !== null || !enabled) && (
        // Both are undone by the other, so nothing is asked.
        <ActionButton
          label={enabled ? 'Pause schedule' : status === 'paused' ? 'Resume' : 'Enable schedule'}
          run={() => updateSync(sync, { enabled: !enabled })}
        />
      )}
      {may('sync:create') && !open && <TriggerButton sync={sync} label="Full run" mode="full" />}
      {may('sync:create') && !open && <TriggerButton sync={sync} label="Run now" kind="primary" />}
      {open && (
        <a class="button primary" href={`${base}/runs/${lastRun.id}`}>
          Follow the run
        </a>
      )}
    </>
  );
}

/** What isn't green now, with what mends it. */
function Attention({ sync }: Props) {
  const { lastRun, pausedReason, heldDeletions, staleFields, freshness, freshnessTarget } = sync;
  const failed = lastRun?.status === 'failed';
  const isRed = failed || lastRun?.status === 'partial';
  const isStale = freshness?.isStale === true;
  if (!isRed && !isStale && pausedReason === null && heldDeletions === null && staleFields.length === 0)
    return null;
  return (
    <Why title="What needs attention" failed={failed || pausedReason !== null}>
      {pausedReason !== null && <p>The sync is paused: no run starts by itself until this is mended.</p>}
      {isStale && (
        <p>
          The data are older than the freshness target of {formatCount(freshnessTarget ?? 0, 'minute')}, since{' '}
          <Time at={freshness.staleSince} relative />.
        </p>
      )}
      <Reasons sync={sync} run={isRed ? lastRun : null} />
    </Why>
  );
}

const tabs = [
  ['', 'Runs'],
  ['rejected', 'Rejected records'],
  ['deletions', 'Held deletions'],
  ['fields', 'Fields'],
  ['settings', 'Settings'],
] as const;

const AllRuns = ({ sync: { id } }: Props) => (
  <>
    <History syncId={id} />
    <Runs syncId={id} />
  </>
);
const parts: Readonly<Record<string, (props: Props) => ComponentChild>> = {
  rejected: Rejections,
  deletions: Proposals,
  fields: Fields,
  settings: Settings,
};

export function SyncScreen({ params }: ScreenProps) {
  const { id = '' } = params;
  const read = useGet('/sync-configs/{id}', { path: { id } }, { everyMs });
  const sync = read.data;
  const above = [{ to: `${base}/syncs`, title: 'Syncs' }];
  if (sync === undefined) return <Unread read={read} title="Sync" above={above} />;
  const Part = parts[query.value.get('show') ?? ''] ?? AllRuns;
  return (
    <Page
      title={sync.name}
      above={above}
      lead={
        <StateLead state={syncState(sync)}>
          {sync.recordType} · {describeSchedule(sync.schedule, sync.timezone)}
        </StateLead>
      }
      actions={<Actions sync={sync} />}
    >
      <div class="stack">
        <Attention sync={sync} />
        <Stats
          kind="words"
          values={[
            ['Records', formatNumber(sync.records)],
            ['Data from', <Time key="at" at={sync.syncedAt} relative none="No data yet" />],
            ['Last run', <RunLink key="run" run={sync.lastRun} />],
            ['Next run', <Time key="at" at={sync.nextRunAt} relative none="Not scheduled" />],
          ]}
        />
        <Tabs label="Parts of the sync" tabs={tabs} />
        <Part sync={sync} />
      </div>
    </Page>
  );
}
