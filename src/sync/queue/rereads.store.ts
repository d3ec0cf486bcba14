// Rows of sync_rereads: records that a caller asks to be read again. A run takes over at its start what is
// queued, and the transaction that stores its outcome deletes it; what is requested meanwhile is left to the
// next run. The only writer of sync_rereads.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { LostLease } from '../../db/job-lease.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import {
  findQueuedRun,
  heldRun,
  insertRun,
  type Lease,
  type RunRow,
  type SyncConfigRow,
} from './runs.store.ts';

/** How many records of one sync may be queued: a run reads them by id, and more are better read in full. */
export const maxQueuedRereads = 10_000;

type QueuedReread = { readonly run: RunRow; readonly isNew: boolean };

/**
 * Queues the records, and the run that reads them: the one that is queued already, or a new one that reads
 * nothing else. Undefined, with nothing to be committed, when more records than may be are then queued. Throws
 * an Error when another process started the queued run in between, and database errors.
 */
export async function queueRereads(
  tx: Tx,
  { organization_id: organizationId, id, record_type }: SyncConfigRow,
  recordIds: readonly string[],
): Promise<QueuedReread | undefined> {
  // In one order, so that concurrent requests can't deadlock.
  const rows = [...new Set(recordIds)]
    .sort()
    .map((record_id) => ({ organization_id: organizationId, sync_config_id: id, record_id, run_id: null }));
  await tx('sync_rereads').insert(rows).onConflict(['sync_config_id', 'record_id']).merge(['run_id']);
  const queued = await tx('sync_rereads')
    .where({ sync_config_id: id })
    .count<{ count: string }[]>('* as count');
  if (Number(queued[0]?.count) > maxQueuedRereads) return undefined;
  // Its row is locked: it can't start, and take over what is queued, before this is committed.
  const waiting = await findQueuedRun(tx, organizationId, id).forUpdate();
  if (waiting !== undefined) return { run: waiting, isNew: false };
  const wanted = { sync_config_id: id, record_type, mode: 'reread', trigger: 'manual' } as const;
  const inserted = await insertRun(tx, organizationId, wanted);
  const run = inserted ?? (await findQueuedRun(tx, organizationId, id).forUpdate());
  if (run === undefined) throw new Error('a run was neither inserted nor found');
  return { run, isNew: inserted !== undefined };
}

/**
 * Takes over all records that are queued, also those that a failed run left. Call it before the run reads its
 * first record: it must read each of them from then on. Throws `LostLease` when a newer lease holds the run.
 */
export const takeRereads = (ctx: Pick<Ctx, 'db'>, lease: Lease, configId: string): Promise<void> =>
  inTransaction({ db: ctx.db, organizationId: lease.organizationId }, async (tx) => {
    const held = await heldRun(tx, lease).forUpdate().first('id');
    if (held === undefined) throw new LostLease('a newer lease holds the run');
    await tx('sync_rereads').where({ sync_config_id: configId }).update({ run_id: lease.runId });
  });

/** Records that the run took over and that were not requested again since, by id, after the given one. */
export const listRereads = (
  ctx: TenantCtx,
  runId: string,
  afterId: string | null,
  limit: number,
): Promise<string[]> =>
  inTransaction(ctx, (tx) =>
    tx('sync_rereads')
      .where({ run_id: runId })
      .where((query) => (afterId === null ? query : query.where('record_id', '>', afterId)))
      .orderBy('record_id')
      .limit(limit)
      .pluck<string[]>('record_id'),
  );

/** Removes what the run has read, in the transaction that stores its outcome. */
export const deleteRereads = (tx: Tx, runId: string): Promise<number> =>
  tx('sync_rereads').where({ run_id: runId }).delete();
