// Writes one page of a run: its rows, its rejected records, its checkpoint and its counters, all in one transaction that only
// the holder of the lease can make, and only once per page.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { RejectedRecord } from '../connectors/connector.ts';
import { sqlState } from '../db/pg-errors.ts';
import { copyCell, type EncodedRecord } from './encode.ts';
import { isFresh, LostLease, type RunState } from './run-row.ts';
import { quoted } from './table.ts';

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

/** One line of COPY text after the other, so that a page is never held twice. */
function* copyLines(state: RunState, records: readonly EncodedRecord[], generation: string): Generator<string> {
  const fresh = isFresh(state);
  for (const { id, hash, cells } of records) {
    const first = fresh ? [id, generation] : [state.runId, id];
    yield `${[...first, `\\x${hash.toString('hex')}`, ...cells].map(copyCell).join('\t')}\n`;
  }
}

async function copyRows(
  client: PoolClient,
  schema: string,
  state: RunState,
  records: readonly EncodedRecord[],
  generation: string,
): Promise<void> {
  if (records.length === 0) return;
  const leading = isFresh(state) ? ['id', 'generation', 'content_hash'] : ['run_id', 'id', 'content_hash'];
  const names = [...leading, ...state.columns.map(({ column }) => column)].map(quoted).join(', ');
  const target = client.query(copyFrom(`copy ${schema}.${quoted(state.targetTable)} (${names}) from stdin`));
  await pipeline(Readable.from(copyLines(state, records, generation)), target);
}

/** PostgreSQL refuses a value (SQLSTATE 22: out of range, malformed) or a row as too large (54). */
export const isUnstorable = (error: unknown): boolean => /^(22|54)...$/.test(sqlState(error) ?? '');

/** Which of these records PostgreSQL refuses. Writes nothing. */
export async function findUnstorable(
  client: PoolClient,
  schema: string,
  state: RunState,
  records: readonly EncodedRecord[],
  generation: string,
): Promise<RejectedRecord[]> {
  await client.query('savepoint trial');
  const failure: unknown = await copyRows(client, schema, state, records, generation).then(
    () => undefined,
    (error: unknown) => error,
  );
  await client.query('rollback to savepoint trial');
  if (failure === undefined) return [];
  if (!isUnstorable(failure) || !(failure instanceof Error)) throw failure;
  const [first] = records;
  if (first !== undefined && records.length === 1)
    return [{ id: first.id, code: 'VALUE_UNSTORABLE', message: `The database refuses a value: ${failure.message}`.slice(0, 500) }];
  const middle = Math.ceil(records.length / 2);
  return [
    ...(await findUnstorable(client, schema, state, records.slice(0, middle), generation)),
    ...(await findUnstorable(client, schema, state, records.slice(middle), generation)),
  ];
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
  await copyRows(client, schema, state, page.records, generation);
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
