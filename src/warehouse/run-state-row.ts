// The row of run_state that says where a run stands: which lease holds it, where its pages go, how far it is, how it came out.
// Only the holder of the newest lease may change it.
import type { PoolClient } from 'pg';
import type { RecordColumn } from './columns.ts';
import { quoted, stagingTable } from './table.ts';

export type RunCounters = { readonly fetched: number; readonly rejected: number; readonly pages: number };

/** The steps of a run, in order. A full run has `pages` alone; `scan` and `rescan` come only when something calls for them. */
export type RunStep = 'pages' | 'listed' | 'rejected' | 'open' | 'feed' | 'approved' | 'count' | 'scan' | 'rescan' | 'done';

/** What a run set out to do and has found besides rows: all that a resumed or re-published run needs to know without the ERP. */
export type RunPlan = {
  readonly mode: 'incremental' | 'full';
  readonly idType: 'integer' | 'text';
  readonly step: RunStep;
  /** Records changed from here on are read, RFC 3339; null reads all. */
  readonly since: string | null;
  /** The latest modification time that the pages brought. */
  readonly maxModified: string | null;
  /** Whether the ERP's own list of deletions could be read. */
  readonly feed: 'unknown' | 'available' | 'hidden';
  /** A complete scan came to its end: what it did not list is absent. */
  readonly scanned: boolean;
  /** Approved proposals that this run carries out. */
  readonly approved: readonly string[];
  /** The table, at this generation, against which a complete read compares its pages; null where every row is staged. */
  readonly comparedWith?: ComparedWith | null;
  /** Of the scan under way: the ERP's count before it, how many ids it listed, and which of them could not be read. */
  readonly counted: number;
  readonly listed: number;
  readonly unread: readonly string[];
  /** It came to its end, which is still to be judged. */
  readonly ended: boolean;
  /** For the proof, by check. */
  readonly facts: Readonly<Record<string, Readonly<Record<string, number | string | boolean | null>>>>;
};

export type ComparedWith = { readonly table: string; readonly generation: string };

export const startPlan = (of: Pick<RunPlan, 'mode' | 'idType' | 'since'>): RunPlan => ({
  ...of,
  step: 'pages',
  maxModified: null,
  feed: 'unknown',
  scanned: false,
  approved: [],
  counted: 0,
  listed: 0,
  unread: [],
  ended: false,
  facts: {},
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
  /** The ERP said that nothing follows. */
  readonly complete: boolean;
  readonly plan: RunPlan;
  readonly counters: RunCounters & { readonly erpStartedAt: string };
  readonly outcome: PublishOutcome | null;
};

/** What a published run did; written with the data, copied to the queue afterwards. */
export type PublishOutcome = {
  readonly status: 'succeeded' | 'partial';
  readonly generation: string;
  readonly counts: { fetched: number; inserted: number; updated: number; unchanged: number; deleted: number; rejected: number };
  /** Ids that are absent in the ERP but stay, because so many at once need a person's word. */
  readonly heldDeletions: number;
  /** Where they are listed. */
  readonly proposalId?: string | null;
};

/** Another worker holds the run, or the page was already written: stop, and touch nothing more. */
export class LostLease extends Error {
  override readonly name = 'LostLease';
}

/** Stands for a run that is over: rejections keep saying which run met them last. */
export const noRun = '00000000-0000-0000-0000-000000000000';

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

const stateOf = (row: StateRow): RunState => ({
  runId: row.run_id,
  recordType: row.record_type,
  leaseEpoch: row.lease_epoch,
  targetTable: row.target_table,
  columns: row.columns,
  page: row.page,
  checkpoint: row.checkpoint,
  complete: row.complete,
  // A run that an older version of this service began read everything.
  plan: row.plan ?? startPlan({ mode: 'full', idType: 'integer', since: null }),
  counters: row.counters,
  outcome: row.outcome,
});

export async function readRunState(client: Pick<PoolClient, 'query'>, schema: string, runId: string): Promise<RunState | undefined> {
  const { rows } = await client.query<StateRow>(`select * from ${schema}.run_state where run_id = $1`, [runId]);
  return rows[0] === undefined ? undefined : stateOf(rows[0]);
}

/** Whether the run stages into a table of its own, which goes live as it is. */
export const isFresh = (state: Pick<RunState, 'targetTable' | 'recordType'>): boolean =>
  state.targetTable !== stagingTable(state.recordType);

/** Nobody reads that table and nobody will: it is dropped some time later. */
async function retireUnlessActive(client: PoolClient, schema: string, table: string): Promise<void> {
  await client.query(
    `insert into ${schema}.retired_tables (table_name) select $1 where not exists (select from ${schema}.record_state where active_table = $1)
     on conflict do nothing`,
    [table],
  );
}

/** Starts a run from its first page, or from nothing again; what earlier tries and ended runs of the record type left goes away. */
export async function startRunState(
  client: PoolClient,
  schema: string,
  state: Omit<RunState, 'page' | 'checkpoint' | 'complete' | 'outcome'>,
): Promise<void> {
  const before = await client.query<StateRow>(`select * from ${schema}.run_state where run_id = $1 for update`, [state.runId]);
  const { rowCount } = await client.query(
    `insert into ${schema}.run_state as held (run_id, record_type, lease_epoch, target_table, columns, counters, plan) values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (run_id) do update set lease_epoch = excluded.lease_epoch, target_table = excluded.target_table, columns = excluded.columns,
       counters = excluded.counters, plan = excluded.plan, page = 0, checkpoint = null, complete = false, started_at = now(), updated_at = now()
     where held.lease_epoch <= excluded.lease_epoch and held.outcome is null`,
    [
      state.runId,
      state.recordType,
      state.leaseEpoch,
      state.targetTable,
      ...[state.columns, state.counters, state.plan].map((value) => JSON.stringify(value)),
    ],
  );
  if (rowCount !== 1) throw new LostLease('a newer lease holds this run');
  const abandoned = before.rows[0] === undefined ? undefined : stateOf(before.rows[0]);
  if (abandoned !== undefined && isFresh(abandoned)) await retireUnlessActive(client, schema, abandoned.targetTable);
  await client.query(`delete from ${schema}.${quoted(stagingTable(state.recordType))}`);
  for (const table of ['staged_deletions', 'staged_unchanged'])
    await client.query(`delete from ${schema}.${table} where record_type = $1`, [state.recordType]);
  // A rejection that this run's earlier try met is met again, or is solved.
  await client.query(`update ${schema}.rejections set run_id = $3 where record_type = $1 and run_id = $2`, [
    state.recordType,
    state.runId,
    noRun,
  ]);
  await client.query(`delete from ${schema}.run_state where record_type = $1 and run_id <> $2 and updated_at < now() - interval '1 day'`, [
    state.recordType,
    state.runId,
  ]);
}

/** Takes a run over from an older lease and says where it stands; undefined when it never began. */
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
  if (row.lease_epoch !== leaseEpoch) throw new LostLease('a newer lease holds this run');
  return stateOf(row);
}

/**
 * Clears away what an unpublished run staged, once no transaction of it is under way. Returns the outcome, and touches nothing,
 * when the run was published after all: the answer to its COMMIT was lost.
 */
export async function discardRun(client: PoolClient, schema: string, runId: string): Promise<PublishOutcome | null> {
  const { rows } = await client.query<StateRow>(`select * from ${schema}.run_state where run_id = $1 for update`, [runId]);
  const row = rows[0];
  if (row === undefined) return null;
  if (row.outcome !== null) return row.outcome;
  const state = stateOf(row);
  await client.query(`delete from ${schema}.${quoted(stagingTable(state.recordType))} where run_id = $1`, [runId]);
  for (const table of ['staged_deletions', 'staged_unchanged'])
    await client.query(`delete from ${schema}.${table} where run_id = $1`, [runId]);
  if (isFresh(state)) await retireUnlessActive(client, schema, state.targetTable);
  await client.query(`delete from ${schema}.run_state where run_id = $1`, [runId]);
  return null;
}
