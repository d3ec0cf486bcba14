// Queues runs of all syncs of an organization at once.
import { createId } from '../../core/id.ts';
import { enqueueJob } from '../../db/jobs.ts';
import type { Tx } from '../../db/transaction.ts';
import { jobOfConfig, type RunRow } from './runs.store.ts';

type StartedRuns = {
  /** How many runs were queued. */
  readonly started: number;
  /** How many syncs had an open run already. */
  readonly open: number;
  /** How many syncs are disabled or paused. */
  readonly skipped: number;
};

/** Queues a run of each enabled sync that has none open, in its own mode unless one is given. */
export async function insertRunOfEach(
  tx: Tx,
  organizationId: string,
  mode: RunRow['mode'] | undefined,
): Promise<StartedRuns> {
  const configs = await tx('sync_configs as c')
    .where('c.organization_id', organizationId)
    .select<{ id: string; record_type: string; mode: RunRow['mode']; active: boolean; open: boolean }[]>(
      'c.id',
      'c.record_type',
      'c.mode',
      tx.raw('c.enabled and c.paused_reason is null as active'),
      tx.raw(
        "exists (select from sync_runs r where r.sync_config_id = c.id and r.status in ('queued', 'running', 'waiting', 'publishing')) as open",
      ),
    );
  const active = configs.filter((config) => config.active);
  const idle = active.filter(({ open }) => !open);
  const rows = idle.map(({ id, record_type, mode: own }) => ({
    id: createId(),
    organization_id: organizationId,
    sync_config_id: id,
    record_type,
    mode: mode ?? own,
    trigger: 'manual',
  }));
  const queued: { sync_config_id: string }[] =
    rows.length === 0
      ? []
      : await tx('sync_runs').insert(rows).onConflict().ignore().returning('sync_config_id');
  for (const { sync_config_id: id } of queued) await enqueueJob(tx, jobOfConfig(organizationId, id));
  return {
    started: queued.length,
    open: active.length - queued.length,
    skipped: configs.length - active.length,
  };
}
