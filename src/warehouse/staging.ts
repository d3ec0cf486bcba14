// Writes one page of a run: its rows, its rejected records, its checkpoint and its counters, all in one transaction that only
// the holder of the lease can make, and only once per page.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { RejectedRecord } from '../connectors/connector.ts';
import type { RecordColumn } from './columns.ts';
import { copyCell, type EncodedRecord } from './encode.ts';
import { quoted, stagingTable } from './table.ts';

export type RunCounters = { readonly fetched: number; readonly rejected: number; readonly pages: number };

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
};

/** Another worker holds the run, or the page was already written: stop, and touch nothing more. */
export class LostLease extends Error {
  override readonly name = 'LostLease';
}

type StateRow = {
  run_id: string;
  record_type: string;
  lease_epoch: number;
  target_table: string;
  columns: RecordColumn[];
  page: number;
  checkpoint: string | null;
  complete: boolean;
  counters: RunState['counters'];
  outcome: PublishOutcome | null;
};

export async function readRunState(client: Pick<PoolClient, 'query'>, schema: string, runId: string): Promise<RunState | undefined> {
  const { rows } = await client.query<StateRow>(`select * from ${schema}.run_state where run_id = $1`, [runId]);
  const row = rows[0];
  if (row === undefined) return undefined;
  return {
    runId: row.run_id,
    recordType: row.record_type,
    leaseEpoch: row.lease_epoch,
    targetTable: row.target_table,
    columns: row.columns,
    page: row.page,
    checkpoint: row.checkpoint,
    complete: row.complete,
    counters: row.counters,
    outcome: row.outcome,
  };
}

/** Starts a run from its first page, or from nothing again; rows that an earlier try staged go away. */
export async function startRunState(
  client: PoolClient,
  schema: string,
  state: Omit<RunState, 'page' | 'checkpoint' | 'complete' | 'outcome'>,
): Promise<void> {
  const { rowCount } = await client.query(
    `insert into ${schema}.run_state as held (run_id, record_type, lease_epoch, target_table, columns, counters) values ($1, $2, $3, $4, $5, $6)
     on conflict (run_id) do update set lease_epoch = excluded.lease_epoch, target_table = excluded.target_table, columns = excluded.columns,
       counters = excluded.counters, page = 0, checkpoint = null, complete = false, started_at = now(), updated_at = now()
     where held.lease_epoch <= excluded.lease_epoch and held.outcome is null`,
    [state.runId, state.recordType, state.leaseEpoch, state.targetTable, JSON.stringify(state.columns), JSON.stringify(state.counters)],
  );
  if (rowCount !== 1) throw new LostLease('a newer lease holds this run');
  await client.query(`delete from ${schema}.${quoted(stagingTable(state.recordType))} where run_id = $1`, [state.runId]);
}

/** Takes a run over from an older lease, at its checkpoint. */
export async function takeOverRunState(client: PoolClient, schema: string, runId: string, leaseEpoch: number): Promise<void> {
  const { rowCount } = await client.query(
    `update ${schema}.run_state set lease_epoch = $2, updated_at = now() where run_id = $1 and lease_epoch <= $2`,
    [runId, leaseEpoch],
  );
  if (rowCount !== 1) throw new LostLease('a newer lease holds this run');
}

export type StagedPage = {
  readonly records: readonly EncodedRecord[];
  readonly rejected: readonly RejectedRecord[];
  readonly lastId: string | null;
  readonly hasMore: boolean;
};

const advance = ({ counters }: RunState, page: StagedPage): RunState['counters'] => ({
  ...counters,
  fetched: counters.fetched + page.records.length + page.rejected.length,
  rejected: counters.rejected + page.rejected.length,
  pages: counters.pages + 1,
});

async function copyRows(client: PoolClient, schema: string, state: RunState, page: StagedPage, generation: string): Promise<void> {
  if (page.records.length === 0) return;
  const fresh = state.targetTable !== stagingTable(state.recordType);
  const leading = fresh ? ['id', 'generation', 'content_hash'] : ['run_id', 'id', 'content_hash'];
  const names = [...leading, ...state.columns.map(({ column }) => column)].map(quoted).join(', ');
  const target = client.query(copyFrom(`copy ${schema}.${quoted(state.targetTable)} (${names}) from stdin`));
  const lines = page.records.map(({ id, hash, cells }) => {
    const first = fresh ? [id, generation] : [state.runId, id];
    return `${[...first, `\\x${hash.toString('hex')}`, ...cells].map(copyCell).join('\t')}\n`;
  });
  await pipeline(Readable.from(lines), target);
}

/** Returns the state after the page. `generation` is stamped only on rows of a fresh table. */
export async function stagePage(
  client: PoolClient,
  schema: string,
  state: RunState,
  page: StagedPage,
  generation: string,
): Promise<RunState> {
  const counters = advance(state, page);
  const next: RunState = { ...state, counters, page: state.page + 1, checkpoint: page.lastId ?? state.checkpoint, complete: !page.hasMore };
  const { rowCount } = await client.query(
    `update ${schema}.run_state set page = $4, checkpoint = $5, complete = $6, counters = $7, updated_at = now()
     where run_id = $1 and lease_epoch = $2 and page = $3 and outcome is null`,
    [state.runId, state.leaseEpoch, state.page, next.page, next.checkpoint, next.complete, JSON.stringify(counters)],
  );
  if (rowCount !== 1) throw new LostLease('a newer lease holds this run');
  await copyRows(client, schema, state, page, generation);
  if (page.rejected.length > 0) {
    await client.query(
      `insert into ${schema}.rejections as held (record_type, id, code, message, run_id)
       select $1, r.id, r.code, r.message, $2 from jsonb_to_recordset($3::jsonb) as r(id text, code text, message text)
       on conflict (record_type, id) do update set code = excluded.code, message = excluded.message, run_id = excluded.run_id`,
      [state.recordType, state.runId, JSON.stringify(page.rejected)],
    );
  }
  return next;
}

/** What a run that ended left behind. */
export async function clearStaging(client: Pick<PoolClient, 'query'>, schema: string, recordType: string, runId: string): Promise<void> {
  await client.query(`delete from ${schema}.${quoted(stagingTable(recordType))} where run_id = $1`, [runId]);
}
