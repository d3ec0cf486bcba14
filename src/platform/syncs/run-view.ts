import type { TenantCtx } from '../../core/ctx.ts';
import { isOnFormerServer } from '../../db/former-warehouse.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { isFinal, type RunRow, waitsForMove } from '../../sync/index.ts';

/** The estimate holds only while a worker reads; runs of older versions have none. */
const toProgress = ({ progress, status }: RunRow) =>
  progress === null
    ? null
    : {
        ...progress,
        done: progress.done ?? progress.fetched,
        estimatedSecondsLeft: status === 'running' ? (progress.estimatedSecondsLeft ?? null) : null,
      };

/** A run as API callers see it. */
export const runView = ({ db, organizationId }: Pick<TenantCtx, 'db' | 'organizationId'>, row: RunRow) => ({
  id: row.id,
  syncConfigId: row.sync_config_id,
  recordType: row.record_type,
  mode: row.mode,
  status: row.status,
  trigger: row.trigger,
  attempt: row.attempt,
  scheduledFor: instantOrNull(row.scheduled_for),
  queuedAt: instant(row.queued_at),
  startedAt: instantOrNull(row.started_at),
  finishedAt: instantOrNull(row.finished_at),
  progress: toProgress(row),
  counts: row.counts,
  generation: row.generation,
  requests: row.requests,
  error: row.error ?? (!isFinal(row.status) && isOnFormerServer(db, organizationId) ? waitsForMove : null),
  retryOf: row.retry_of,
});
