// The ids that the ERP listed while a run proves that it read everything: stored page by page, so that an
// attempt goes on where the one before it stopped.
import type { PoolClient } from 'pg';
import { LostLease, type RunState } from './run-state-row.ts';
import { sql, tableOf } from './sql.ts';

/**
 * `rows`: an id that is listed twice counts twice. `counted`: what the ERP counted before the first page;
 * null before there is one, and for pages that a count of their own confirmed.
 */
export type ListedIds = {
  readonly ids: readonly string[];
  readonly rows: number;
  readonly pages: number;
  readonly counted: number | null;
  readonly isComplete: boolean;
};
type Row = { ids: string[]; counted: string | null; is_last: boolean };

export async function readListedIds(
  client: PoolClient,
  schema: string,
  { runId }: Pick<RunState, 'runId'>,
): Promise<ListedIds> {
  const { rows } = await client.query<Row>(
    `select ids, counted, is_last from ${schema}.listed_ids where run_id = $1 order by page`,
    [runId],
  );
  const ids = rows.flatMap((row) => row.ids);
  const counted = rows[0]?.counted ?? null;
  return {
    ids,
    rows: ids.length,
    pages: rows.length,
    counted: counted === null ? null : Number(counted),
    isComplete: rows.at(-1)?.is_last === true,
  };
}

export type ListedPage = {
  readonly page: number;
  readonly ids: readonly string[];
  readonly counted: number | null;
  readonly isLast: boolean;
};

/** A page that an earlier attempt stored is replaced. Throws `LostLease` when a newer lease holds the run. */
export async function writeListedPage(
  client: PoolClient,
  schema: string,
  state: RunState,
  listed: ListedPage,
): Promise<void> {
  // The lock keeps another worker from taking the run over before this page is there.
  const { rowCount } = await client.query(
    `select from ${schema}.run_state where run_id = $1 and lease_epoch = $2 and outcome is null for share`,
    [state.runId, state.leaseEpoch],
  );
  if (rowCount !== 1) throw new LostLease('a newer lease holds the run');
  await client.query(
    sql`insert into ${tableOf(schema, 'listed_ids')} (run_id, page, record_type, counted, ids, is_last)
     values (${state.runId}, ${listed.page}, ${state.recordType}, ${listed.counted}, ${listed.ids}, ${listed.isLast})
     on conflict (run_id, page) do update set counted = excluded.counted, ids = excluded.ids, is_last = excluded.is_last`,
  );
}

/** The next list starts from its first page. */
export async function deleteListedIds(
  client: PoolClient,
  schema: string,
  { runId }: Pick<RunState, 'runId'>,
): Promise<void> {
  await client.query(`delete from ${schema}.listed_ids where run_id = $1`, [runId]);
}
