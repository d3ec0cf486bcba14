// One run: live while it is open; afterwards what it did, what it proved, and why it isn't green.
import { useEffect } from 'preact/hooks';
import { api } from '../../api.ts';
import { formatCount, formatDuration, formatNumber } from '../../format.ts';
import { StateLead, Unread } from '../../parts/detail.tsx';
import { Stats } from '../../parts/list.tsx';
import { Page } from '../../parts/page.tsx';
import { Progress } from '../../parts/plot.tsx';
import { Problem } from '../../parts/problem.tsx';
import { ActionButton, ConfirmButton } from '../../parts/record-form.tsx';
import { Time } from '../../parts/time.tsx';
import { invalidate, useGet } from '../../query.ts';
import { base, type ScreenProps } from '../../router.ts';
import { may } from '../../session.ts';
import { isOpen, runStates } from '../../states.ts';
import '../../styles/syncs.css';
import { showRun } from './actions.tsx';
import { Events } from './events.tsx';
import { WhyNotGreen } from './explain.tsx';
import { type LiveRun, useLiveRun } from './follow-run.ts';
import { NextStep } from './next-step.tsx';
import { Proof } from './proof.tsx';
import { Rejections } from './rejected.tsx';
import {
  describeDuration,
  describeProgress,
  modeWords,
  phaseWords,
  type Run,
  triggerWords,
} from './words.ts';

const phases = Object.entries(phaseWords);

/** Where an open run is among its phases. */
function Phases({ run }: { run: Run }) {
  const current = run.status === 'publishing' ? 'publishing' : run.progress?.phase;
  const at = phases.findIndex(([phase]) => phase === current);
  return (
    <ol class="phases">
      {phases.map(([phase, [title]], index) => (
        <li key={phase} class={index < at ? 'done' : ''} aria-current={index === at ? 'step' : undefined}>
          {title}
        </li>
      ))}
    </ol>
  );
}

function describePace({ progress, requests }: Run, pace: number | null): string {
  const left = progress?.estimatedSecondsLeft ?? null;
  const parts = [
    pace !== null && `${formatNumber(Math.max(1, pace))} records a second`,
    left !== null && `about ${formatDuration(left * 1000)} left in this phase`,
    requests !== null && formatCount(requests, 'request'),
  ];
  return parts.filter(Boolean).join(' · ');
}

function OpenRun({ run, live, reload }: { run: Run; live: LiveRun; reload: () => void }) {
  const { progress, status } = run;
  const isPublishing = status === 'publishing' || progress?.phase === 'publishing';
  return (
    <section class="card stack" aria-label="Progress">
      <Phases run={run} />
      {progress === null ? (
        <p class="muted">
          {status === 'queued' ? 'Queued: a worker takes it up within seconds.' : 'Starting.'}
        </p>
      ) : (
        <Progress
          done={progress.done}
          total={isPublishing ? null : progress.expected}
          label={describeProgress(progress)}
        />
      )}
      <p class="fine">{describePace(run, live.pace)}</p>
      {live.lost && (
        <p class="note warn">
          Live updates stopped.{' '}
          <button type="button" class="link" onClick={reload}>
            Read the run again
          </button>
        </p>
      )}
    </section>
  );
}

/** What an ended run did, in numbers. */
function Outcome({ run, held }: { run: Run; held: number | null }) {
  const { counts, requests } = run;
  const show = (value: number | null | undefined) => (value == null ? null : formatNumber(value));
  return (
    <Stats
      kind="dense"
      values={[
        ['Duration', describeDuration(run)],
        ['Read', show(counts?.fetched)],
        ['New', show(counts?.inserted)],
        ['Updated', show(counts?.updated)],
        ['Unchanged', show(counts?.unchanged)],
        ['Deleted', show(counts?.deleted)],
        ['Deletions held', show(held)],
        ['Rejected', show(counts?.rejected)],
        ['Requests', show(requests)],
      ]}
    />
  );
}

function Actions({ run }: { run: Run }) {
  const { id, status, progress } = run;
  const params = { path: { id } };
  if (!may('sync:update') || status === 'succeeded' || status === 'publishing') return null;
  if (!isOpen(run))
    return (
      <ActionButton
        label="Run again"
        kind="primary"
        run={async () => showRun(await api.POST('/sync-runs/{id}/retry', { params }))}
      />
    );
  return (
    <ConfirmButton
      label="Cancel run…"
      title="Cancel this run"
      action="Cancel the run"
      run={async () => {
        await api.POST('/sync-runs/{id}/cancel', { params });
        await invalidate('/sync-runs');
      }}
    >
      <p>
        The run stops at its next step. What it has read so far (
        {formatCount(progress?.fetched ?? 0, 'record')}) is discarded and nothing is published; what was
        published before stays. Scheduled runs continue.
      </p>
    </ConfirmButton>
  );
}

function Details({ run, live, reload }: { run: Run; live: LiveRun; reload: () => void }) {
  const { id, status, progress, counts, syncConfigId } = run;
  const open = isOpen(run);
  const isRed = status === 'partial' || status === 'failed';
  const sync = useGet(isRed ? '/sync-configs/{id}' : null, { path: { id: syncConfigId } });
  const deletions = sync.data?.heldDeletions ?? null;
  const held = deletions?.proposalId === run.error?.proposalId ? (deletions?.count ?? null) : null;
  const isExplained =
    status === 'waiting' || status === 'cancelled' || (isRed && (sync.data ?? sync.error) !== undefined);
  return (
    <div class="stack">
      {/* Said to screen readers when it changes; the percentage isn't, it changes too often. */}
      <p class="visually-hidden" role="status">
        {runStates[status][1]} {open && progress !== null && phaseWords[progress.phase]?.[0]}
      </p>
      {open && <OpenRun run={run} live={live} reload={reload} />}
      {isExplained && <WhyNotGreen run={run} sync={sync.data} />}
      {status === 'succeeded' && <NextStep />}
      {!open && <Outcome run={run} held={held} />}
      {(counts?.rejected ?? 0) > 0 && <Rejections runId={id} sync={{ id: syncConfigId }} />}
      {!open && <Proof runId={id} />}
      <Events runId={id} live={open ? live.log : undefined} />
    </div>
  );
}

/** `/runs/:id`. */
export function RunScreen({ params }: ScreenProps) {
  const { id = '' } = params;
  const read = useGet('/sync-runs/{id}', { path: { id } });
  const first = read.data;
  const reload = (): void => void read.reload();
  const live = useLiveRun(id, first !== undefined && isOpen(first));
  // The stream's state is newer than what was read, until the run is read again at its end.
  const run = first !== undefined && isOpen(first) ? (live.run ?? first) : first;
  const state = run && runStates[run.status];
  const title = run === undefined ? 'Run' : `Run of ${run.recordType}`;
  useEffect(() => {
    if (state !== undefined) document.title = `${state[1]}: ${title} · Portal Service`;
  }, [state, title]);
  const above = [{ to: `${base}/syncs`, title: 'Syncs' }];
  if (run === undefined || state === undefined) return <Unread read={read} title={title} above={above} />;
  return (
    <Page
      title={title}
      above={[...above, { to: `${base}/syncs/${run.syncConfigId}`, title: run.recordType }]}
      lead={
        <StateLead state={state}>
          {modeWords[run.mode]} run, started {triggerWords[run.trigger]} ·{' '}
          <Time at={run.startedAt ?? run.queuedAt} />
        </StateLead>
      }
      actions={<Actions run={run} />}
    >
      <Problem error={read.error} retry={reload} />
      <Details run={run} live={live} reload={reload} />
    </Page>
  );
}
