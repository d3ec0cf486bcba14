// The syncs, worst first: state, how new the data is, the last and the next run.
import { formatNumber } from '../../format.ts';
import { Badge } from '../../parts/badge.tsx';
import { ageColumn } from '../../parts/list.tsx';
import { Section } from '../../parts/page.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { base } from '../../router.ts';
import { syncStates } from '../../states.ts';
import type { OverviewData } from './data.ts';

type AllSyncs = NonNullable<OverviewData['syncs']>;
type Sync = AllSyncs['configs'][number];

/** The list of syncs has the rest. */
const maxShown = 10;

function State({ sync: { state, lastRun } }: { sync: Sync }) {
  const [tone, word] = syncStates[state];
  const percent = state === 'running' ? (lastRun?.percent ?? null) : null;
  return <Badge tone={tone}>{percent === null ? word : `${word}, ${percent} %`}</Badge>;
}

function LastRun({ run }: { run: Sync['lastRun'] }) {
  if (run === null) return <span class="muted">None yet</span>;
  const at = run.finishedAt ?? run.startedAt;
  return <a href={`${base}/runs/${run.id}`}>{at === null ? 'Queued' : <Time at={at} relative />}</a>;
}

const columns: readonly Column<Sync>[] = [
  { title: 'Sync', cell: ({ id, label }) => <a href={`${base}/syncs/${id}`}>{label}</a> },
  { title: 'State', cell: (sync) => <State sync={sync} /> },
  {
    title: 'Data from',
    minor: true,
    cell: ({ syncedAt }) => <Time at={syncedAt} relative none="None yet" />,
  },
  { title: 'Last run', cell: ({ lastRun }) => <LastRun run={lastRun} /> },
  ageColumn('Next run', 'nextRunAt', 'Not scheduled'),
  { title: 'Records', align: 'end', minor: true, cell: ({ records }) => formatNumber(records) },
];

export function Syncs({ syncs: { total, configs } }: { syncs: AllSyncs }) {
  const shown = configs.slice(0, maxShown);
  return (
    <Section
      title="Syncs"
      actions={
        <a href={`${base}/syncs`}>
          {total > shown.length ? `All ${formatNumber(total)} syncs` : 'All syncs'}
        </a>
      }
    >
      <Table
        label="List of syncs"
        columns={columns}
        rows={shown}
        rowKey={({ id }) => id}
        empty={
          <p class="muted">
            Nothing is synced. <a href={`${base}/record-types`}>Choose record types</a>
          </p>
        }
      />
    </Section>
  );
}
