// The reading half of a run: pages into staging, then the proof that they are all there. Stops at the next page when the lease
// is lost or someone asked to cancel.
import { type Connector, ErpError, type Page, type RecordTypeMetadata } from '../connectors/connector.ts';
import type { TenantCtx } from '../core/ctx.ts';
import { inDataTransaction } from '../db/transaction.ts';
import { encodeRecord } from '../warehouse/encode.ts';
import { LostLease, type RunState } from '../warehouse/run-row.ts';
import { findUnstorable, isUnstorable, type StagedPage, stagePage } from '../warehouse/staging.ts';
import { Cancelled } from './interruption.ts';
import type { PreparedRun } from './prepare.ts';
import { checkFields, checkPages, checkStaged, compareWithErp, unresolved } from './proof.ts';
import { ProofFailed } from './retry.ts';
import { type Lease, noteProgress, type ProofCheck, type RunProgress } from './runs.store.ts';

export type Reading = {
  readonly ctx: TenantCtx;
  readonly lease: Lease;
  readonly signal: AbortSignal;
  readonly connector: Connector;
  readonly recordType: RecordTypeMetadata;
  readonly prepared: PreparedRun;
};

/** All lines of these records come in one answer. */
const idsAtOnce = 200;

const toStaged = (page: Page, state: RunState): StagedPage => {
  const rejected = new Map(page.rejected.map((record) => [record.id, record]));
  return {
    records: page.records.filter(({ id }) => !rejected.has(id)).map((record) => encodeRecord(record, state.columns)),
    rejected: [...rejected.values()],
    lastId: page.lastId,
    hasMore: page.hasMore,
  };
};

const percentOf = (fetched: number, expected: number | null): number | null =>
  expected === null ? null : expected === 0 ? 100 : Math.min(100, Math.floor((fetched / expected) * 100));

/** Shows the progress; throws when this worker must not go on. */
export async function report(
  { ctx, lease }: Pick<Reading, 'ctx' | 'lease'>,
  phase: RunProgress['phase'],
  { counters: { fetched, pages } }: RunState,
  expected: number | null,
  moved: boolean,
): Promise<void> {
  const { held, cancelRequested } = await noteProgress(
    ctx,
    lease,
    { phase, fetched, expected, pages, percent: percentOf(fetched, expected) },
    moved,
  );
  if (!held) throw new LostLease('a newer lease holds this run');
  if (cancelRequested) throw new Cancelled('cancelled');
}

/** A record that PostgreSQL can't store is rejected; the others of its page are staged. */
async function stage({ ctx, prepared: { schema, generation } }: Reading, state: RunState, page: StagedPage): Promise<RunState> {
  const write = (wanted: StagedPage) => inDataTransaction(ctx.db.data, (client) => stagePage(client, schema, state, wanted, generation));
  try {
    return await write(page);
  } catch (error) {
    if (!isUnstorable(error)) throw error;
    const refused = await inDataTransaction(ctx.db.data, (client) => findUnstorable(client, schema, state, page.records, generation));
    if (refused.length === 0) throw error;
    const ids = new Set(refused.map(({ id }) => id));
    return write({ ...page, records: page.records.filter(({ id }) => !ids.has(id)), rejected: [...page.rejected, ...refused] });
  }
}

function checkPage(page: Page, state: RunState, expected: number): void {
  if (page.hasMore && (page.lastId === null || page.lastId === state.checkpoint)) {
    throw new ErpError('answer', 'PAGE_WITHOUT_END', 'The ERP announced more records and named none to go on from', {
      fix: "Run the sync again; if it repeats, report it to the ERP's support.",
    });
  }
  if (page.records.length + page.rejected.length === 0 && state.page === 0 && expected > 0) {
    throw new ProofFailed(
      'ZERO_ROWS',
      `The ERP counts ${expected} records and returned none`,
      "Check the integration role's permissions; nothing was changed here.",
    );
  }
}

export async function readAllPages(reading: Reading): Promise<RunState> {
  const { ctx, signal, connector, recordType, prepared } = reading;
  const expected = await connector.count(recordType, signal);
  let { state } = prepared;
  await report(reading, 'reading', state, expected, false);
  while (!state.complete) {
    const page = await connector.readPage({
      recordType,
      fields: prepared.fields,
      afterId: state.checkpoint,
      changedSince: null,
      limit: ctx.settings.sync.pageSize,
      signal,
    });
    signal.throwIfAborted();
    checkPage(page, state, expected);
    state = await stage(reading, state, toStaged(page, state));
    await report(reading, 'reading', state, expected, true);
  }
  return state;
}

/** Fetches single records that the scan of ids found and the pages did not bring; `unread` are those that did not come. */
async function fetchMissing(reading: Reading, state: RunState, missing: readonly string[]): Promise<{ state: RunState; unread: string[] }> {
  const { connector, recordType, prepared, signal } = reading;
  const unread = new Set(missing);
  let current = state;
  for (let start = 0; start < missing.length; start += idsAtOnce) {
    const ids = missing.slice(start, start + idsAtOnce);
    const page = await connector.readByIds({ recordType, fields: prepared.fields, ids, signal });
    signal.throwIfAborted();
    for (const { id } of [...page.records, ...page.rejected]) unread.delete(id);
    current = await stage(reading, current, { ...toStaged(page, current), lastId: current.checkpoint, hasMore: false });
  }
  return { state: current, unread: [...unread] };
}

export async function proveRun(reading: Reading, read: RunState): Promise<{ state: RunState; proof: ProofCheck[] }> {
  const { ctx, prepared } = reading;
  await report(reading, 'proving', read, null, false);
  const pages = checkPages(read);
  let compared = await compareWithErp(reading, read, false);
  let { state, unread } = await fetchMissing(reading, read, compared.missing);
  if (unread.length > 0) {
    // Listed a moment ago, unreadable now: either just deleted, which a second scan shows, or hidden from us, which fails the run.
    compared = await compareWithErp(reading, state, true);
    ({ state, unread } = await fetchMissing(reading, state, compared.missing));
  }
  if (unread.length > 0) throw unresolved(unread);
  return { state, proof: [pages, compared.check, await checkStaged(ctx, prepared.schema, state), checkFields(prepared)] };
}
