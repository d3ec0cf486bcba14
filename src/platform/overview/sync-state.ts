// The state of each sync: the worst of what is known about it. Pure.
import { instantOrNull } from '../../http/fields.ts';
import { findNextSlot } from '../../sync/index.ts';
import { type SyncOverview, type SyncState, syncStates } from './overview.schemas.ts';
import type { SyncRow } from './overview.store.ts';

/** What the warehouse has of the record type of a sync. */
export type TypeFigures = Pick<
  SyncOverview,
  'records' | 'rejectedRecords' | 'staleFields' | 'heldDeletions' | 'syncedAt'
>;

/** The threshold of the alert that docs/operations.md recommends for syncs that are behind. */
const staleAfterSeconds = 3_600;
/** A run that takes this long is no reason any more to be behind. */
const longRunSeconds = 86_400;

/** Older than its target, or late: a run that is being worked on may take longer than the interval of its schedule. */
export function isStale({
  behind_seconds: behind,
  run_status: status,
  stale_since: staleSince,
}: Pick<SyncRow, 'behind_seconds' | 'run_status' | 'stale_since'>): boolean {
  if (staleSince !== null) return true;
  const isWorkedOn = status === 'running' || status === 'publishing';
  return behind !== null && behind > (isWorkedOn ? longRunSeconds : staleAfterSeconds);
}

function computeState(row: SyncRow, { heldDeletions, staleFields, rejectedRecords }: TypeFigures): SyncState {
  if (!row.enabled) return 'disabled';
  if (row.paused_reason !== null) return 'paused';
  if (row.ended_status === 'failed') return 'failing';
  if (heldDeletions !== null) return 'held';
  if (staleFields.length > 0) return 'drift';
  if (row.ended_status === 'partial' || rejectedRecords > 0) return 'partial';
  if (isStale(row)) return 'stale';
  if (row.is_open) return 'running';
  return row.ended_status === null ? 'new' : 'ok';
}

/**
 * Why the sync is paused, or what was wrong with its last run. Runs that earlier releases stored have `{id}`
 * in their fix for the id of the sync.
 */
export function toProblem({ id, enabled, paused_reason: paused, ended_error: error }: SyncRow) {
  const problem = enabled ? (paused ?? error) : null;
  return problem && { code: problem.code, message: problem.message, fix: problem.fix.replaceAll('{id}', id) };
}

const toLastRun = (row: SyncRow): SyncOverview['lastRun'] =>
  row.run_id === null || row.run_status === null
    ? null
    : {
        id: row.run_id,
        status: row.run_status,
        mode: row.run_mode,
        startedAt: instantOrNull(row.run_started_at),
        finishedAt: instantOrNull(row.run_finished_at),
        percent: row.is_open ? row.run_percent : null,
      };

export function describeSync(row: SyncRow, figures: TypeFigures, now: Date): SyncOverview {
  const { schedule, timezone, enabled, paused_reason: paused } = row;
  const isIdle = !enabled || paused !== null || schedule === null;
  return {
    id: row.id,
    recordType: row.record_type,
    label: row.name,
    state: computeState(row, figures),
    problem: toProblem(row),
    lastRun: toLastRun(row),
    lastSucceededAt: instantOrNull(row.published_at),
    behindSeconds: row.behind_seconds === null ? null : Math.max(0, Math.floor(row.behind_seconds)),
    nextRunAt: isIdle ? null : instantOrNull(findNextSlot(schedule, timezone, now)),
    ...figures,
  };
}

/** The worst first; equal ones stay in their order. */
export const byState = (a: SyncOverview, b: SyncOverview): number =>
  syncStates.indexOf(a.state) - syncStates.indexOf(b.state);

export const countStates = (syncs: readonly SyncOverview[]): Record<SyncState, number> =>
  Object.fromEntries(
    syncStates.map((state) => [state, syncs.filter((sync) => sync.state === state).length]),
  ) as Record<SyncState, number>;
