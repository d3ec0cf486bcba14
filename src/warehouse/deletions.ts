// Decides, as part of publishing, which absent records are deleted and which wait in a proposal for approval. Records that the ERP lists
// as deleted, or whose deletion was approved, are deleted; merely absent ones only when there are few and no stored record names them.
import type { PoolClient } from 'pg';
import { type RunState, usesFreshTable } from './run-state-row.ts';
import type { Reference } from './staging.ts';
import { quoteIdentifier } from './table.ts';

export type DeletionRules = {
  readonly deletions: 'feed' | 'reconcile' | 'none';
  readonly maxDeleteShare: number;
};
export type FoundAbsent = {
  readonly absent: readonly string[];
  /** Ids that the ERP lists as deleted or has under another record type, or whose deletion was approved. */
  readonly confirmed: ReadonlySet<string>;
  /** Ids that stored records name. */
  readonly referenced: ReadonlySet<string>;
  /** Ids whose deletion an administrator rejected. */
  readonly rejected: ReadonlySet<string>;
};
export type DeletionDecision = {
  readonly remove: readonly string[];
  /** Absent records that stay, for a proposal: `open` (waits for approval) or `kept` (the configuration deletes nothing). */
  readonly stay: readonly string[];
  /** Absent records that stay because their deletion was rejected. */
  readonly rejected: readonly string[];
};

/** How many unconfirmed deletions are carried out without approval: the configured share, or a tenth and at most twenty, or one. */
export const maxDeletions = (rowCount: string, share: number): number => {
  const rows = Number(rowCount);
  // Rounded first: 100 × 0.29 is 28.999… in binary floating point.
  return Math.max(Math.floor(Number((rows * share).toFixed(6))), Math.min(20, Math.floor(rows / 10)), 1);
};

/**
 * With `feed`, absence alone deletes nothing unless the ERP hides its deletion feed. Unconfirmed deletions never empty a table, and
 * referenced records count towards the limit although they stay. Pure.
 */
export function decideDeletions(
  { absent, confirmed, referenced, rejected }: FoundAbsent,
  rowCount: string,
  { deletions, maxDeleteShare }: DeletionRules,
  feed: RunState['plan']['feed'],
): DeletionDecision {
  const split = (remove: ReadonlySet<string>): DeletionDecision => {
    const stay = absent.filter((id) => !remove.has(id));
    return {
      remove: absent.filter((id) => remove.has(id)),
      stay: stay.filter((id) => !rejected.has(id)),
      rejected: stay.filter((id) => rejected.has(id)),
    };
  };
  if (deletions === 'none') return split(new Set());
  const sure = absent.filter((id) => confirmed.has(id));
  const unconfirmed = absent.filter((id) => !confirmed.has(id) && !rejected.has(id));
  const mayDelete = (deletions === 'reconcile' || feed === 'hidden') && unconfirmed.length <= maxDeletions(rowCount, maxDeleteShare);
  const going = mayDelete ? unconfirmed.filter((id) => !referenced.has(id)) : [];
  const empties = sure.length + going.length >= Number(rowCount);
  return split(new Set(empties ? sure : [...sure, ...going]));
}

export type RunTarget = { readonly client: PoolClient; readonly schema: string; readonly state: RunState };

/** SQL that casts a text to the id type of the record type. */
export const idCast = (expression: string, { plan }: RunState): string => `${expression}::${plan.idType === 'integer' ? 'bigint' : 'text'}`;

/** What the run found absent, of the rows that the table has and the run did not read. */
export async function readAbsent({ client, schema, state }: RunTarget, table: string): Promise<Omit<FoundAbsent, 'rejected'>> {
  const ofRun = usesFreshTable(state) ? '' : 'and s.run_id = $1';
  const id = idCast('d.id', state);
  const { rows } = await client.query<{ id: string; proof: string; referenced_by: readonly Reference[] | null }>(
    `select d.id, d.proof, d.referenced_by from ${schema}.staged_deletions d where d.run_id = $1
     and exists (select from ${schema}.${quoteIdentifier(table)} t where t.id = ${id})
     and not exists (select from ${schema}.${quoteIdentifier(state.targetTable)} s where s.id = ${id} ${ofRun}) order by ${id}`,
    [state.runId],
  );
  const moved = new Set(state.plan.moved);
  return {
    absent: rows.map((row) => row.id),
    confirmed: new Set(rows.filter(({ id: absent, proof }) => proof !== 'absent' || moved.has(absent)).map((row) => row.id)),
    referenced: new Set(rows.filter((row) => row.referenced_by !== null).map((row) => row.id)),
  };
}
