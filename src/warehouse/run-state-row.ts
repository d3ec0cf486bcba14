// The row of run_state: which lease holds a run, which table its pages are staged in, its progress and its
// outcome. Only the holder of the newest lease may change it.

import type { PoolClient } from 'pg';
import type { RecordFilter } from '../connectors/discovery.ts';
import { LostLease } from '../db/job-lease.ts';
import type { RecordColumn } from './columns.ts';
import type { StalePlan } from './record-state.ts';
import { sql, tableOf } from './sql.ts';
import { quoteIdentifier, stagingTable } from './table.ts';

export type RunCounters = { readonly fetched: number; readonly rejected: number; readonly pages: number };

/**
 * The steps of a run, in order. A full run has only `pages` and `done`; one that reads only requested records
 * begins with `requested` and ends after it unless the ERP lacks some of them; `scan` and `rescan` happen only
 * when they are needed.
 */
export type RunStep =
  | 'pages'
  | 'listed'
  | 'lineChanges'
  | 'rejected'
  | 'requested'
  | 'open'
  | 'rolling'
  | 'feed'
  | 'approved'
  | 'count'
  | 'scan'
  | 'rescan'
  | 'done';

/**
 * What a run is to do, and what it found in addition to rows: all that a resumed or re-published run needs to
 * know without the ERP.
 */
export type RunPlan = {
  /** `reread`: only records that were requested. */
  readonly mode: 'incremental' | 'full' | 'reread';
  readonly idType: 'integer' | 'text';
  readonly step: RunStep;
  /** Records changed at or after this instant are read, RFC 3339; null reads all records. */
  readonly since: string | null;
  /** How many records the ERP counts as changed since then; absent where it was not asked. */
  readonly changes?: number;
  /**
   * From which the next run lists the changes that the ERP tracks; in an incremental run first that from which
   * it lists them itself. Null or absent where changes are found otherwise.
   */
  readonly changeToken?: string | null;
  /** Pages that were read have no order of ids: see `RecordPage.isUnordered`. */
  readonly isUnordered?: true;
  /** The latest modification time that was read. */
  readonly maxModified: string | null;
  /** Whether the ERP's own list of deletions could be read; `hidden` also where it has none. */
  readonly feed: 'unknown' | 'available' | 'hidden';
  /** The run's scan has ended: records that it did not list are absent. */
  readonly scanned: boolean;
  /** Approved proposals that this run carries out. */
  readonly approved: readonly string[];
  /** Ids of absent records that the ERP has under another record type. */
  readonly moved: readonly string[];
  /** The ERP's calendar day when the run started, YYYY-MM-DD; null while unknown. */
  readonly today: string | null;
  /** Only records that pass are read; null for all. Absent in runs that an older version began. */
  readonly filter?: RecordFilter | null;
  /** `listedTypes` of the description that the run reads by; absent in runs of an older version. */
  readonly types?: Readonly<Record<string, string>> | null;
  /** Fields, by name, whose stored values stay because they are unreadable or empty: not published. */
  readonly stale: StalePlan;
  /** The run's part of the rolling full read; null when it read none. */
  readonly rolling: RollingSlice | null;
  /** Table and generation that a complete read compares its pages with; null when every row is staged. */
  readonly comparedWith?: ComparedWith | null;
  /** Of the current scan: the ERP's count before it, and the number of rows listed. */
  readonly counted: number;
  readonly listed: number;
  /** The current scan listed its last range and is still to be evaluated. */
  readonly ended: boolean;
  /** Pages are staged only after a comparison with the ERP's totals; absent in runs of an older version. */
  readonly provesPages?: true;
  /** Whether all that is staged is on disk, see `flushStaged`; absent in runs that an older version began. */
  readonly flush?: 'pending' | 'done';
  /** Facts for the proof, by check. */
  readonly facts: Readonly<
    Record<string, Readonly<Record<string, number | string | boolean | readonly string[] | null>>>
  >;
};

/**
 * `startedAt`: the ERP's clock at the start of the pass. `from` and `to`: the ids between which records were
 * read, null at either end.
 */
export type RollingSlice = {
  readonly startedAt: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly records: number;
  readonly pages: number;
  /** The slice reached the last record. */
  readonly ended: boolean;
};

export type ComparedWith = { readonly table: string; readonly generation: string };

export const createRunPlan = (of: Pick<RunPlan, 'mode' | 'idType' | 'since'>): RunPlan => ({
  ...of,
  step: of.mode === 'reread' ? 'requested' : 'pages',
  maxModified: null,
  feed: 'unknown',
  scanned: false,
  approved: [],
  moved: [],
  today: null,
  stale: {},
  rolling: null,
  counted: 0,
  listed: 0,
  ended: false,
  // Marks runs that confirm absence by id: the older version of this service, which may have started the run,
  // didn't.
  facts: of.mode === 'full' ? { absent: { read: 0, absent: 0 } } : {},
});

export type RunState = {
  readonly runId: string;
  readonly recordType: string;
  readonly leaseEpoch: number;
  /** The staging table, or the fresh table that goes live when the run is published. */
  readonly targetTable: string;
  readonly columns: readonly RecordColumn[];
  readonly page: number;
  readonly checkpoint: string | null;
  /** Reading is complete: the ERP marked the last page as the last. */
  readonly complete: boolean;
  readonly plan: RunPlan;
  readonly counters: RunCounters & { readonly erpStartedAt: string };
  readonly outcome: PublishOutcome | null;
};

/** What a published run did; written with the data, copied to the queue afterwards. */
export type PublishOutcome = {
  readonly status: 'succeeded' | 'partial';
  readonly generation: string;
  readonly counts: {
    fetched: number;
    inserted: number;
    updated: number;
    unchanged: number;
    deleted: number;
    rejected: number;
  };
  /** The number of records that are absent in the ERP but stay until their deletion is approved. */
  readonly heldDeletions: number;
  /** The proposal that lists them. */
  readonly proposalId?: string | null;
  /**
   * The fields whose stored values stay, without those that are accepted as missing; absent when an older
   * version published.
   */
  readonly stale?: StalePlan;
};

export { LostLease };

/** The `run_id` of rejections that no current run has met; `last_run_id` names the last run that did. */
export const noRunId = '00000000-0000-0000-0000-000000000000';

type StateRow = {
  run_id: string;
  record_type: string;
  lease_epoch: number;
  target_table: string;
  columns: RecordColumn[];
  page: number;
  checkpoint: string | null;
  complete: boolean;
  plan: RunPlan | null;
  counters: RunState['counters'];
  outcome: PublishOutcome | null;
};

const toRunState = (row: StateRow): RunState => ({
  runId: row.run_id,
  recordType: row.record_type,
  leaseEpoch: row.lease_epoch,
  targetTable: row.target_table,
  columns: row.columns,
  page: row.page,
  checkpoint: row.checkpoint,
  complete: row.complete,
  // A run that was started by an older version of this service has no plan and reads everything, or lacks
  // some of the plan's fields.
  plan: { ...createRunPlan({ mode: 'full', idType: 'integer', since: null }), facts: {}, ...row.plan },
  counters: row.counters,
  outcome: row.outcome,
});

export async function readRunState(
  client: Pick<PoolClient, 'query'>,
  schema: string,
  runId: string,
): Promise<RunState | undefined> {
  const { rows } = await client.query<StateRow>(`select * from ${schema}.run_state where run_id = $1`, [
    runId,
  ]);
  return rows[0] === undefined ? undefined : toRunState(rows[0]);
}

/** What runs store next to their staged rows; each has `run_id` and `record_type`. */
export const tablesOfRuns = ['staged_deletions', 'staged_unchanged', 'listed_ids'] as const;

/** Whether the run stages into a table of its own, which goes live as a whole. */
export const usesFreshTable = (state: Pick<RunState, 'targetTable' | 'recordType'>): boolean =>
  state.targetTable !== stagingTable(state.recordType);

/** Marks a table that no reader uses or will use, so that it is dropped later. */
async function retireUnlessActive(client: PoolClient, schema: string, table: string): Promise<void> {
  const active = await client.query(`select from ${schema}.record_state where active_table = $1`, [table]);
  if (active.rowCount === 0)
    await client.query(
      `insert into ${schema}.retired_tables (table_name) values ($1) on conflict do nothing`,
      [table],
    );
}

/** What this run's earlier attempts and ended runs of the record type staged. */
async function deleteStaged(client: PoolClient, schema: string, recordType: string, runId: string) {
  await client.query(`delete from ${schema}.${quoteIdentifier(stagingTable(recordType))}`);
  for (const table of tablesOfRuns)
    await client.query(`delete from ${schema}.${table} where record_type = $1`, [recordType]);
  // Rejections of this run's earlier attempt: the records are rejected again, or they can be stored now.
  await client.query(`update ${schema}.rejections set run_id = $3 where record_type = $1 and run_id = $2`, [
    recordType,
    runId,
    noRunId,
  ]);
  await client.query(
    `delete from ${schema}.run_state where record_type = $1 and run_id <> $2 and updated_at < now() - interval '1 day'`,
    [recordType, runId],
  );
}

/** Of a row of `run_state`: this lease still holds the run, at this page. */
export const isHeldSql = ({ runId, leaseEpoch, page }: RunState) =>
  sql`run_id = ${runId} and lease_epoch = ${leaseEpoch} and page = ${page} and outcome is null`;

/**
 * Starts a run, or restarts it, from its first page. Deletes what earlier attempts and ended runs of the
 * record type staged. Throws `LostLease` when a newer lease holds the run or it was already published.
 */
export async function initRunState(
  client: PoolClient,
  schema: string,
  state: Omit<RunState, 'page' | 'checkpoint' | 'complete' | 'outcome'>,
): Promise<void> {
  const before = await client.query<StateRow>(
    `select * from ${schema}.run_state where run_id = $1 for update`,
    [state.runId],
  );
  const [columns, counters, plan] = [state.columns, state.counters, state.plan].map((value) =>
    JSON.stringify(value),
  );
  const { rowCount } = await client.query(
    sql`insert into ${tableOf(schema, 'run_state')} as stored (run_id, record_type, lease_epoch, target_table, columns, counters, plan)
     values (${state.runId}, ${state.recordType}, ${state.leaseEpoch}, ${state.targetTable}, ${columns}, ${counters}, ${plan})
     on conflict (run_id) do update set lease_epoch = excluded.lease_epoch, target_table = excluded.target_table, columns = excluded.columns,
       counters = excluded.counters, plan = excluded.plan, page = 0, checkpoint = null, complete = false,
       started_at = excluded.started_at, updated_at = excluded.updated_at
     where stored.lease_epoch <= excluded.lease_epoch and stored.outcome is null`,
  );
  if (rowCount !== 1) throw new LostLease('a newer lease holds the run');
  const abandoned = before.rows[0] === undefined ? undefined : toRunState(before.rows[0]);
  if (abandoned !== undefined && usesFreshTable(abandoned))
    await retireUnlessActive(client, schema, abandoned.targetTable);
  await deleteStaged(client, schema, state.recordType, state.runId);
}

/**
 * Takes a run over from an older lease and returns its state; undefined when it was never started. Throws
 * `LostLease` when a newer lease holds it.
 */
export async function takeOverRunState(
  client: PoolClient,
  schema: string,
  runId: string,
  leaseEpoch: number,
): Promise<RunState | undefined> {
  const { rows } = await client.query<StateRow>(
    `update ${schema}.run_state set lease_epoch = greatest(lease_epoch, $2), updated_at = now() where run_id = $1 returning *`,
    [runId, leaseEpoch],
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  if (row.lease_epoch !== leaseEpoch) throw new LostLease('a newer lease holds the run');
  return toRunState(row);
}

/**
 * Deletes what an unpublished run staged, after waiting for any open transaction of the run. Returns the
 * outcome, and deletes nothing, when the run was published after all: its COMMIT succeeded although the
 * response was lost.
 */
export async function discardRun(
  client: PoolClient,
  schema: string,
  runId: string,
): Promise<PublishOutcome | null> {
  const { rows } = await client.query<StateRow>(
    `select * from ${schema}.run_state where run_id = $1 for update`,
    [runId],
  );
  const row = rows[0];
  if (row === undefined) return null;
  if (row.outcome !== null) return row.outcome;
  const state = toRunState(row);
  await client.query(
    `delete from ${schema}.${quoteIdentifier(stagingTable(state.recordType))} where run_id = $1`,
    [runId],
  );
  for (const table of tablesOfRuns)
    await client.query(`delete from ${schema}.${table} where run_id = $1`, [runId]);
  if (usesFreshTable(state)) await retireUnlessActive(client, schema, state.targetTable);
  await client.query(`delete from ${schema}.run_state where run_id = $1`, [runId]);
  return null;
}
