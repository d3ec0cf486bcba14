// What a run must prove before it may be published: that it read everything the ERP has. A difference in
// counts is resolved id by id; what remains unexplained after a second scan fails the run. There is no
// percentage tolerance.
import type { Connector, IdRange, RecordTypeMetadata } from '../../connectors/connector.ts';
import type { TenantCtx } from '../../core/ctx.ts';
import { inDataTransaction } from '../../db/transaction.ts';
import { deleteListedIds, readListedIds, writeListedPage } from '../../warehouse/listed-ids.ts';
import { queryIds, queryLocal } from '../../warehouse/local-view.ts';
import { type RunState, usesFreshTable } from '../../warehouse/run-state-row.ts';
import { quoteIdentifier } from '../../warehouse/table.ts';
import { unchangedCountSql, unchangedIdsSql } from '../../warehouse/unchanged.ts';
import { ProofFailed } from '../queue/retry.ts';
import {
  type Lease,
  listRecentVolumes,
  type RunProofCheck,
  type SyncConfigRow,
} from '../queue/runs.store.ts';
import { countMismatch, isBetween, listCounted } from './counted-pages.ts';

const idsPerScanPage = 1_000;
const maxShownIds = 20;

/** Reports how many ids were listed and stored so far, of those that the ERP counted. */
type ReportListed = (done: number, expected: number) => Promise<void>;

/** What the ERP counted before the first page; null when a count of its own confirms each page. */
type CountedBefore = number | null;

/** Goes on behind the pages of earlier attempts, in their way. `rows`: ids listed twice count twice. */
async function listAllIds(
  side: ErpSide,
  state: RunState,
  wanted: CountedBefore,
  onPage: (rows: number) => Promise<void>,
) {
  const { ctx, connector, recordType, signal, prepared } = side;
  const stored = await inDataTransaction(ctx.db.data, (client) =>
    readListedIds(client, prepared.schema, state),
  );
  const counted = stored.pages === 0 ? wanted : stored.counted;
  const ids = new Set(stored.ids);
  const count = (range: IdRange) => connector.count(recordType, signal, range);
  let { rows, isComplete } = stored;
  let afterId = stored.ids.at(-1) ?? null;
  for (let page = stored.pages; !isComplete; page += 1) {
    const list = async () => {
      const found = await connector.listIds({ recordType, afterId, limit: idsPerScanPage, signal });
      const listed = found.listed.map(({ id }) => id);
      return { listed, hasMore: found.hasMore, rows: listed.length, lastId: listed.at(-1) ?? null };
    };
    const found = await (counted === null ? listCounted({ afterId, list, count }) : list());
    if (found.hasMore && (found.lastId === null || found.lastId === afterId))
      throw countMismatch('The ERP reported that more ids follow but returned none');
    isComplete = !found.hasMore;
    const toStore = { page, ids: found.listed, counted, isLast: isComplete };
    await inDataTransaction(
      ctx.db.data,
      (client) => writeListedPage(client, prepared.schema, state, toStore),
      'ordered',
    );
    for (const id of found.listed) ids.add(id);
    rows += found.rows;
    afterId = found.lastId;
    await onPage(rows);
  }
  return { ids, rows, counted };
}

/**
 * Lists all ids. A list whose length is outside the ERP's counts before and after it, as when records were
 * created and others deleted meanwhile, is read again with a count of each page.
 */
async function listIdsConsistently(side: ErpSide, state: RunState, expected: number, report: ReportListed) {
  const { ctx, connector, recordType, signal, prepared } = side;
  const onPage = (done: number) => report(done, expected);
  const { ids, rows, counted } = await listAllIds(side, state, expected, onPage);
  if (counted === null) return ids;
  const after = await connector.count(recordType, signal);
  if (isBetween(rows, counted, after)) return ids;
  await inDataTransaction(ctx.db.data, (client) => deleteListedIds(client, prepared.schema, state));
  return (await listAllIds(side, state, null, onPage)).ids;
}

/**
 * SQL condition that selects the run's rows of its target table; $2 is the run's id, and `is not null` keeps
 * that parameter used.
 */
const ofRun = (state: RunState): string =>
  usesFreshTable(state) ? 'where $2::uuid is not null' : 'where run_id = $2';

async function listReadIds(ctx: TenantCtx, schema: string, state: RunState): Promise<Set<string>> {
  const ids = await queryIds(
    { ctx },
    `select id::text as id from ${schema}.${quoteIdentifier(state.targetTable)} ${ofRun(state)}
     union all select id::text from ${unchangedIdsSql(schema, state, '$2')} u
     union all select id from ${schema}.rejections where record_type = $1 and run_id = $2`,
    [state.recordType, state.runId],
  );
  return new Set(ids);
}

const minus = (a: ReadonlySet<string>, b: ReadonlySet<string>): string[] => [...a].filter((id) => !b.has(id));

export type ErpComparison = { readonly check: RunProofCheck; readonly missing: readonly string[] };
type ErpSide = {
  readonly ctx: TenantCtx;
  readonly signal: AbortSignal;
  readonly connector: Connector;
  readonly recordType: RecordTypeMetadata;
  readonly prepared: { readonly schema: string };
};

/**
 * Compares what was read with what the ERP has now: by count, and by id when the counts differ or records may
 * have moved between pages. `missing`
 * lists ids that were created meanwhile or skipped, and must still be fetched; records that were read and
 * have been deleted since are left to the next run. Throws `ProofFailed` `COUNT_MISMATCH` when the ERP's list
 * of ids contradicts its own counts page by page, and what `report` throws.
 */
export async function compareWithErp(
  side: ErpSide,
  state: RunState,
  report: ReportListed,
): Promise<ErpComparison> {
  const { ctx, signal, connector, recordType, prepared } = side;
  const expected = await connector.count(recordType, signal);
  const read = state.counters.fetched;
  if (expected === read && state.plan.isUnordered !== true) {
    const message = `The ERP counts ${expected} records, and ${read} were read`;
    return { missing: [], check: passed('count', message, { expected, read }) };
  }
  const erpIds = await listIdsConsistently(side, state, expected, report);
  const readIds = await listReadIds(ctx, prepared.schema, state);
  const missing = minus(erpIds, readIds);
  const vanished = minus(readIds, erpIds);
  const facts = {
    expected,
    read,
    missing: missing.slice(0, maxShownIds),
    missingCount: missing.length,
    vanished: vanished.slice(0, maxShownIds),
    vanishedCount: vanished.length,
  };
  const message = `The ERP counts ${expected} records, and ${read} were read. Every id was compared: ${missing.length} fetched by id, ${vanished.length} deleted in the meantime`;
  return { missing, check: passed('count', message, facts) };
}

export const passed = (check: string, message: string, facts: RunProofCheck['facts']): RunProofCheck => ({
  check,
  passed: true,
  message,
  facts,
});

export const pagesMessage = (pages: unknown): string =>
  pages === 1
    ? '1 page was read; the ERP marked it as the last'
    : `${pages} consecutive pages were read; the ERP marked the last one as the last`;

/** Throws `ProofFailed` `PAGES_INCOMPLETE` unless the ERP marked the last page as the last. */
export function provePages(state: RunState): RunProofCheck {
  if (!state.complete)
    throw new ProofFailed(
      'PAGES_INCOMPLETE',
      `The ERP did not mark the last of ${state.counters.pages} pages as the last`,
      'Run the sync again.',
    );
  const { pages } = state.counters;
  return passed('pages', pagesMessage(pages), { pages });
}

/** Throws `ProofFailed` `STAGED_MISMATCH` unless every record that was read is staged or rejected. */
export async function proveStaged(ctx: TenantCtx, schema: string, state: RunState): Promise<RunProofCheck> {
  const [row] = await queryLocal<{ staged: string; rejected: string }>(
    { ctx },
    `select (select count(*) from ${schema}.${quoteIdentifier(state.targetTable)} ${ofRun(state)}) + ${unchangedCountSql(schema, '$2')} as staged,
            (select count(*) from ${schema}.rejections where record_type = $1 and run_id = $2) as rejected`,
    [state.recordType, state.runId],
  );
  const [staged, rejected] = [Number(row?.staged ?? 0), Number(row?.rejected ?? 0)];
  if (rejected !== state.counters.rejected || staged + rejected !== state.counters.fetched) {
    throw new ProofFailed(
      'STAGED_MISMATCH',
      `${state.counters.fetched} records were read, but ${staged} are staged and ${rejected} rejected`,
      "Run the sync again; if it fails again, check the service's log.",
    );
  }
  const message = `Each of the ${staged + rejected} records read is staged or rejected`;
  return passed('staged', message, { staged, rejected });
}

/** Lists the fields whose values were not read or not taken over, so that none is dropped silently. */
export function proveFields(
  { fields, unreadable }: { readonly fields: readonly string[]; readonly unreadable: readonly string[] },
  { plan }: RunState,
): RunProofCheck {
  const stale = Object.keys(plan.stale);
  const vanished = unreadable.length === 0 ? '' : `; the ERP no longer offers ${unreadable.join(', ')}`;
  const kept = stale.length === 0 ? '' : `; the stored values stay of ${stale.join(', ')}`;
  return {
    check: 'fields',
    passed: unreadable.length + stale.length === 0,
    message: `The id and ${fields.length} other ${fields.length === 1 ? 'field was' : 'fields were'} read${vanished}${kept}`,
    facts: { fields: fields.length, unreadable, stale },
  };
}

/**
 * `runs`: how many earlier runs are compared; with fewer than `minRuns` there is no check. `slack` is a
 * number of records.
 */
const volumeBand = { runs: 20, minRuns: 5, below: 0.5, above: 2, slack: 100 };

/**
 * Compares the number of records read with the last runs of the same mode, without those that only the
 * rolling full read read. Outside the band it is a warning, never a failure. No check for a run that reads
 * only requested records.
 */
export async function proveVolume(
  { ctx, lease, config }: { ctx: TenantCtx; lease: Lease; config: Pick<SyncConfigRow, 'id'> },
  { counters, plan: { mode, facts: known } }: RunState,
): Promise<RunProofCheck[]> {
  if (mode === 'reread') return [];
  const fetched = counters.fetched - Number(known['rolling']?.['onlyHere'] ?? 0);
  const before = (await listRecentVolumes(ctx, config.id, mode, lease.runId, volumeBand.runs)).sort(
    (a, b) => a - b,
  );
  const [low, high] = [before[0], before.at(-1)];
  if (before.length < volumeBand.minRuns || low === undefined || high === undefined) return [];
  const isWithin =
    fetched >= Math.floor(low * volumeBand.below) && fetched <= high * volumeBand.above + volumeBand.slack;
  const message = `${fetched} records were read; the last ${before.length} runs read between ${low} and ${high}`;
  return [passed('volume', message, { fetched, low, high, level: isWithin ? 'info' : 'warning' })];
}
