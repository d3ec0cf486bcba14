// Queues runs of all syncs of an organization at once.
import type { Tx } from '../../db/transaction.ts';
import { insertRun, type SyncConfigRow } from './runs.store.ts';

type StartedRuns = {
  /** How many runs were queued. */
  readonly started: number;
  /** How many syncs had an open run already, other than one that reads only requested records. */
  readonly open: number;
  /** How many syncs are disabled or paused. */
  readonly skipped: number;
};

/** Queues a run of each enabled sync that has none open, in its own mode unless one is given. */
export async function insertRunOfEach(
  tx: Tx,
  organizationId: string,
  mode: SyncConfigRow['mode'] | undefined,
): Promise<StartedRuns> {
  const configs = await tx('sync_configs as c')
    .where('c.organization_id', organizationId)
    .select<
      { id: string; record_type: string; mode: SyncConfigRow['mode']; active: boolean; open: boolean }[]
    >(
      'c.id',
      'c.record_type',
      'c.mode',
      tx.raw('c.enabled and c.paused_reason is null as active'),
      tx.raw(
        "exists (select from sync_runs r where r.sync_config_id = c.id and r.mode <> 'reread' and r.status in ('queued', 'running', 'waiting', 'publishing')) as open",
      ),
    );
  const active = configs.filter((config) => config.active);
  const idle = active.filter(({ open }) => !open);
  let started = 0;
  for (const { id, record_type, mode: own } of idle) {
    const run = { sync_config_id: id, record_type, mode: mode ?? own, trigger: 'manual' } as const;
    if ((await insertRun(tx, organizationId, run)) !== undefined) started += 1;
  }
  return {
    started,
    open: active.length - started,
    skipped: configs.length - active.length,
  };
}
