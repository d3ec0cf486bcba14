import type { JobKind } from '../../src/db/jobs.ts';
import type { Tx } from '../../src/db/transaction.ts';

type JobRow = { key: string; due_at: Date; attempts: number; lease_id: string | null; error: string | null };

export const findJob = (tx: Tx, kind: JobKind, key: string): Promise<JobRow | undefined> =>
  tx('jobs').where({ kind, key }).first();

/** The leases of these jobs end: their workers died. */
export const endLeases = (tx: Tx, kind: JobKind): Promise<number> =>
  tx('jobs')
    .where({ kind })
    .whereNotNull('lease_id')
    .update({ due_at: new Date(0) });

/** Makes the jobs due that no one works on; locked in one order, so that two at once can't deadlock. */
export async function makeDue(tx: Tx, kind: JobKind): Promise<number> {
  const idle = tx('jobs').where({ kind }).whereNull('lease_id').orderBy(['organization_id', 'key']);
  const keys: string[] = await idle.forUpdate().pluck('key');
  return tx('jobs')
    .where({ kind })
    .whereIn('key', keys)
    .update({ due_at: new Date(0) });
}
