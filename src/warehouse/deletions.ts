// Decides, as part of publishing, which absent records are deleted and which wait in a proposal for approval.
// Records that the ERP lists as deleted, or whose deletion was approved, are deleted; merely absent ones only
// where the ERP's list names no deletions of this record type, while they are few on a calendar day, and when
// no stored record names them.
import type { PoolClient } from 'pg';
import { sqlTypes } from './columns.ts';
import { asId, type LocalView, queryIds, tableNames } from './local-view.ts';
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
  /** Of these, ids that the ERP's list of deletions names. */
  readonly listed: ReadonlySet<string>;
  /** Ids that stored records name. */
  readonly referenced: ReadonlySet<string>;
  /** Ids whose deletion an administrator rejected. */
  readonly rejected: ReadonlySet<string>;
};
export type DeletionDecision = {
  readonly remove: readonly string[];
  /** Absent records for a proposal: `open` (waits for approval) or `kept` (by configuration). */
  readonly stay: readonly string[];
  /** Absent records that stay because their deletion was rejected. */
  readonly rejected: readonly string[];
};

/**
 * How many unconfirmed deletions a day may have without approval: the configured share, or a tenth and at
 * most twenty, or one.
 */
export const maxDeletions = (rows: number, share: number): number =>
  // Rounded first: 100 × 0.29 is 28.999… in binary floating point.
  Math.max(Math.floor(Number((rows * share).toFixed(6))), Math.min(20, Math.floor(rows / 10)), 1);

/** What earlier runs deleted of a record type. */
export type DeletionHistory = {
  /** The ERP's list named a deletion that was carried out: what it doesn't name was not deleted. */
  readonly listed: boolean;
  /** The ERP's calendar day of the last run, YYYY-MM-DD; null before the first. */
  readonly day: string | null;
  /** The number of records when that day began. */
  readonly rows: number;
  /** How many unconfirmed deletions it has had. */
  readonly unconfirmed: number;
};
export const noDeletions: DeletionHistory = { listed: false, day: null, rows: 0, unconfirmed: 0 };

/**
 * On a new day, with nothing deleted. A day that is unknown, or earlier because a clock was set back, is
 * still the last one. Pure.
 */
export const historyOn = (history: DeletionHistory, today: string | null, rowCount: string) =>
  history.day === null || (today !== null && today > history.day)
    ? { ...history, day: today, rows: Number(rowCount), unconfirmed: 0 }
    : history;

/** How many more records may be deleted on this day without a confirmation. Pure. */
export const remainingDeletions = ({ listed, rows, unconfirmed }: DeletionHistory, share: number): number =>
  listed ? 0 : Math.max(0, maxDeletions(rows, share) - unconfirmed);

/**
 * With `feed`, absence alone deletes nothing unless the ERP hides its deletion feed. Unconfirmed deletions
 * never empty a table, and referenced records count towards `allowed` although they stay. Pure.
 */
export function decideDeletions(
  { absent, confirmed, referenced, rejected }: Omit<FoundAbsent, 'listed'>,
  { rowCount, allowed }: { readonly rowCount: string; readonly allowed: number },
  { deletions }: Pick<DeletionRules, 'deletions'>,
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
  const mayDelete = (deletions === 'reconcile' || feed === 'hidden') && unconfirmed.length <= allowed;
  const going = mayDelete ? unconfirmed.filter((id) => !referenced.has(id)) : [];
  const empties = sure.length + going.length >= Number(rowCount);
  return split(new Set(empties ? sure : [...sure, ...going]));
}

export type RunTarget = { readonly client: PoolClient; readonly schema: string; readonly state: RunState };

/** SQL that casts a text to the id type of the record type. */
export const idCast = (expression: string, { plan }: RunState) => `${expression}::${sqlTypes[plan.idType]}`;

/** What the run found absent, of the rows that the table has and the run did not read. */
export async function readAbsent(
  { client, schema, state }: RunTarget,
  table: string,
): Promise<Omit<FoundAbsent, 'rejected'>> {
  const ofRun = usesFreshTable(state) ? '' : 'and s.run_id = $1';
  const id = idCast('d.id', state);
  const { rows } = await client.query<{
    id: string;
    proof: string;
    referenced_by: readonly Reference[] | null;
  }>(
    `select d.id, d.proof, d.referenced_by from ${schema}.staged_deletions d where d.run_id = $1
     and exists (select from ${schema}.${quoteIdentifier(table)} t where t.id = ${id})
     and not exists (select from ${schema}.${quoteIdentifier(state.targetTable)} s where s.id = ${id} ${ofRun}) order by ${id}`,
    [state.runId],
  );
  const moved = new Set(state.plan.moved);
  return {
    absent: rows.map((row) => row.id),
    confirmed: new Set(
      rows.filter(({ id: absent, proof }) => proof !== 'absent' || moved.has(absent)).map((row) => row.id),
    ),
    listed: new Set(rows.filter(({ proof }) => proof === 'feed').map((row) => row.id)),
    referenced: new Set(rows.filter((row) => row.referenced_by !== null).map((row) => row.id)),
  };
}

/**
 * Ids in the active table that the run found absent, confirmed neither by the ERP's deletion feed nor by an
 * approval, and not known to have another type.
 */
export async function listUnconfirmedAbsentIds(local: LocalView, state: RunState): Promise<string[]> {
  if (local.prepared.activeTable === null) return [];
  const { schema } = local.prepared;
  const { table } = tableNames(local, state);
  return queryIds(
    local,
    `select d.id from ${schema}.staged_deletions d where d.run_id = $1 and d.proof = 'absent' and d.id <> all($2::text[])
     and exists (select from ${table} t where t.id = ${asId('d.id', state)})`,
    [state.runId, state.plan.moved],
  );
}
