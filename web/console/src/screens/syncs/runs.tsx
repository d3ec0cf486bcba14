// The runs of a sync, newest first.
import { stateColumn, stateFilter } from '../../parts/detail.tsx';
import { List, listQuery } from '../../parts/list.tsx';
import { Section } from '../../parts/page.tsx';
import type { Column } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import { base } from '../../router.ts';
import { isOpen, runStates } from '../../states.ts';
import {
  describeCounts,
  describeDuration,
  describeProgress,
  everyMs,
  modeWords,
  type Run,
  type RunStatus,
  triggerWords,
} from './words.ts';

const columns: readonly Column<Run>[] = [
  {
    title: 'Started',
    cell: ({ id, startedAt, queuedAt, mode, trigger }) => (
      <>
        <a href={`${base}/runs/${id}`}>
          <Time at={startedAt ?? queuedAt} />
        </a>
        <span class="fine">
          {modeWords[mode]}, {triggerWords[trigger]}
        </span>
      </>
    ),
  },
  stateColumn(runStates),
  {
    title: 'Records',
    cell: (run) => (
      <>
        {run.counts !== null
          ? describeCounts(run.counts)
          : isOpen(run) && run.progress && describeProgress(run.progress)}
        {run.error !== null && <span class="fine clip">{run.error.message}</span>}
      </>
    ),
  },
  { title: 'Duration', align: 'end', minor: true, cell: describeDuration },
];

export function Runs({ syncId }: { syncId: string }) {
  const read = useGet(
    '/sync-configs/{id}/runs',
    { path: { id: syncId }, query: listQuery<{ status: RunStatus }>('status') },
    { everyMs },
  );
  return (
    <Section title="Runs">
      <List
        label="List of runs"
        read={read}
        columns={columns}
        filters={[stateFilter(runStates)]}
        empty="This sync has not run yet."
        next="Run it now: the first run reads every record."
      />
    </Section>
  );
}
