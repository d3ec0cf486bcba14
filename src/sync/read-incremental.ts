// The reading half of an incremental run, step by step: changed records, records rejected before, open records (which can change without
// a new modification time), deletions, and then the proof by count or by a scan. Each call does one bounded piece of a step and
// stores its progress, so that any process can resume from there.
import { type Connector, type OpenWhen, scannedFields } from '../connectors/connector.ts';
import type { RunState, RunStep } from '../warehouse/run-state-row.ts';
import { quoteIdentifier } from '../warehouse/table.ts';
import { isValidId } from '../warehouse/validate-values.ts';
import { columnsToCompare, differsFromErp, fieldsToScan } from './compare.ts';
import { readApprovedDeletions, readDeletionFeed } from './find-deletions.ts';
import {
  countLocal,
  filterUnreadIds,
  listOpenIds,
  listUnconfirmedAbsentIds,
  listUnreadRejectedIds,
  readLocalByIds,
} from './local-records.ts';
import { buildIncrementalProof, proveFields, proveStaged, proveVolume, recordsUnreadable } from './proof.ts';
import {
  addFacts,
  assertAscendingPage,
  assertPageAdvances,
  idsPerRequest,
  type RunReadContext,
  reportProgress,
  rereadByIds,
  saveStep,
  stageRunPage,
} from './read-context.ts';
import type { RunProofCheck } from './runs.store.ts';
import { scanNextRange } from './scan.ts';

type Step = (reading: RunReadContext, state: RunState) => Promise<RunState>;

const latestOf = (times: readonly (string | null)[]): string | null =>
  times.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null);

const readPage: Step = async (reading, state) => {
  const { since, maxModified } = state.plan;
  const page = await reading.readPage(state.checkpoint, since);
  assertPageAdvances(page, state.checkpoint);
  assertAscendingPage(page, state);
  return stageRunPage(reading, state, {
    ...page,
    hasMore: true, // more steps follow, whatever this one does
    plan: {
      step: page.hasMore ? 'pages' : 'listed',
      maxModified: latestOf([maxModified, page.maxModified]),
      ...addFacts(state, 'changed', { pages: 1, read: page.records.length + page.rejected.length }),
    },
  });
};

const idsPerListing = 1_000;
/** Pages of ids that are compared per stored checkpoint: listing them again costs little, and usually no id is missing. */
const listingsPerCheckpoint = 10;

type Listing = { readonly missing: readonly string[]; readonly lastId: string | null; readonly hasMore: boolean };

/** Lists the next pages of ids, up to and including the first page with an id that this run has not read. */
async function findUnreadListed(
  reading: RunReadContext,
  state: RunState,
  list: (afterId: string | null) => ReturnType<Connector['listIds']>,
) {
  let found: Listing = { missing: [], lastId: state.checkpoint, hasMore: true };
  let from = state.checkpoint;
  for (let pages = 0; pages < listingsPerCheckpoint && found.hasMore && found.missing.length === 0; pages += 1) {
    from = found.lastId;
    const { ids: listed, hasMore } = await list(from);
    reading.signal.throwIfAborted();
    // An invalid id was rejected with its page and can't be requested.
    const ids = listed.filter((id) => isValidId(id, state.plan.idType));
    const lastId = ids.at(-1) ?? null;
    assertPageAdvances({ hasMore, lastId }, from);
    found = { missing: await filterUnreadIds(reading, state, ids), lastId, hasMore };
  }
  return { ...found, from };
}

/**
 * Lists the changed records by id alone, and compares: every id must have been read. This finds locked records, which no page returns and
 * whose omission a total count doesn't reveal. An id that is listed, can't be read by id, and is still listed afterwards fails the run.
 */
const compareListed: Step = async (reading, state) => {
  const { connector, recordType, signal } = reading;
  const { since } = state.plan;
  const changedSince = since === null ? null : new Date(since);
  const list = (afterId: string | null) => connector.listIds({ recordType, afterId, changedSince, limit: idsPerListing, signal });
  const { missing, lastId, hasMore, from } = await findUnreadListed(reading, state, list);
  const { state: read, absent } = await rereadByIds(reading, state, missing, null);
  if (absent.length > 0) {
    const still = new Set((await list(from)).ids);
    const locked = absent.filter((id) => still.has(id));
    if (locked.length > 0) throw recordsUnreadable(locked);
  }
  const facts = addFacts(read, 'changed', { read: missing.length - absent.length });
  return saveStep(reading, read, { lastId, plan: { step: hasMore ? 'listed' : 'rejected', ...facts } });
};

const rereadRejected: Step = async (reading, state) => {
  const ids = await listUnreadRejectedIds(reading, state, idsPerRequest);
  const lastId = ids.at(-1);
  if (lastId === undefined) return saveStep(reading, state, { plan: { step: 'open' } });
  const { state: read } = await rereadByIds(reading, state, ids, 'absent');
  return saveStep(reading, read, { lastId, plan: addFacts(read, 'rejected', { read: ids.length }) });
};

type OpenCondition = { readonly condition: string; readonly values: readonly string[] };

/** SQL condition for the local rows that are open; null when none can be, or when no field changes without a new modification time. */
function openConditionOf({ recordType, prepared }: RunReadContext, state: RunState): OpenCondition | null {
  const wanted = new Set(prepared.fields);
  const openWhen: OpenWhen = recordType.openWhen;
  if (openWhen === null || !recordType.fields.some(({ name, volatile, syncable }) => volatile && syncable && wanted.has(name))) return null;
  if (openWhen === 'always') return { condition: 'true', values: [] };
  const column = state.columns.find(
    ({ field, part, state: columnState }) => field === openWhen.field && part === 'value' && columnState === 'live',
  );
  if (column === undefined) return { condition: 'true', values: [] };
  const name = `t.${quoteIdentifier(column.column)}`;
  const isNumber = column.type === 'number' || column.type === 'integer';
  const condition = isNumber ? `${name} <> all($4::numeric[])` : `${name}::text <> all($4::text[])`;
  return { condition: `(${name} is null or ${condition})`, values: openWhen.isNoneOf };
}

const hasVolatileLines = ({ recordType, prepared }: RunReadContext): boolean =>
  recordType.fields.some(({ name, type, volatile }) => type === 'lines' && volatile && prepared.fields.includes(name));

/** The given ids whose record differs from the stored one. Ids that the ERP doesn't return are left to the deletion steps. */
async function findDiffering(reading: RunReadContext, state: RunState, ids: readonly string[]): Promise<string[]> {
  const { connector, recordType, prepared, signal } = reading;
  const volatile = new Set(scannedFields(recordType).map(({ name }) => name));
  const fields = fieldsToScan(recordType, prepared.fields).filter((name) => volatile.has(name) || name === recordType.modifiedField);
  const columns = columnsToCompare(state.columns, fields);
  const page = await connector.scan({ recordType, fields, ids, signal });
  signal.throwIfAborted();
  const local = new Map((await readLocalByIds(reading, state, columns, ids)).map((record) => [record.id, record.cells]));
  const changed = page.records.filter((record) => differsFromErp(record, columns, local.get(record.id) ?? []));
  return [...changed, ...page.rejected].map(({ id }) => id).filter((id) => local.has(id));
}

const idsPerScan = 1_000;
const readOpen: Step = async (reading, state) => {
  const open = openConditionOf(reading, state);
  if (open === null) return saveStep(reading, state, { plan: { step: 'feed' } });
  const rereadsAll = hasVolatileLines(reading);
  const ids = await listOpenIds(reading, state, open.condition, open.values, rereadsAll ? idsPerRequest : idsPerScan);
  const lastId = ids.at(-1);
  if (lastId === undefined) return saveStep(reading, state, { plan: { step: 'feed' } });
  const changed = rereadsAll ? ids : await findDiffering(reading, state, ids);
  const { state: read } = await rereadByIds(reading, state, changed, null);
  return saveStep(reading, read, { lastId, plan: addFacts(read, 'open', { checked: ids.length, read: changed.length }) });
};

const readDeletions: Step = async (reading, state) => {
  const { since } = state.plan;
  const isFeedUsed = reading.config.deletions !== 'none' && since !== null;
  const read = isFeedUsed ? await readDeletionFeed(reading, state, new Date(since), null) : state;
  return saveStep(reading, read, { plan: { step: 'approved' } });
};

const readApprovedProposals: Step = async (reading, state) =>
  saveStep(reading, await readApprovedDeletions(reading, state), { plan: { step: 'count' } });

/** A scan follows when the counts differ, when absent records are not confirmed as deleted, or when the last scan is too old. */
const compareCounts: Step = async (reading, state) => {
  const { ctx, connector, recordType, signal, prepared } = reading;
  const counted = await connector.count(recordType, signal);
  const localCount = await countLocal(reading, state);
  const unconfirmed = await listUnconfirmedAbsentIds(reading, state);
  const sinceScanMs =
    prepared.lastScanAt === null ? Number.POSITIVE_INFINITY : Date.parse(state.counters.erpStartedAt) - prepared.lastScanAt.getTime();
  const isDue = sinceScanMs >= ctx.settings.sync.scanEveryMs;
  const facts = addFacts(state, 'count', { erp: String(counted), here: String(localCount), unexplained: unconfirmed.length, due: isDue });
  if (counted === localCount && unconfirmed.length === 0 && !isDue) return saveStep(reading, state, { plan: { step: 'done', ...facts } });
  return saveStep(reading, state, { plan: { step: 'scan', counted, listed: 0, unread: [], ended: false, ...facts } });
};

const steps: Readonly<Record<Exclude<RunStep, 'done'>, Step>> = {
  pages: readPage,
  listed: compareListed,
  rejected: rereadRejected,
  open: readOpen,
  feed: readDeletions,
  approved: readApprovedProposals,
  count: compareCounts,
  scan: scanNextRange,
  rescan: scanNextRange,
};
const proving: ReadonlySet<RunStep> = new Set(['count', 'scan', 'rescan']);

/**
 * Carries out an incremental run up to the point where it may be published. Throws `ProofFailed` when the proof fails, `LostLease` or
 * `Cancelled` when this worker must stop, and the connector's errors.
 */
export async function readIncremental(reading: RunReadContext): Promise<{ state: RunState; proof: RunProofCheck[] }> {
  let { state } = reading.prepared;
  await reportProgress(reading, 'reading', state, null, false);
  for (let { step } = state.plan; step !== 'done'; { step } = state.plan) {
    state = await steps[step](reading, state);
    await reportProgress(reading, proving.has(state.plan.step) ? 'proving' : 'reading', state, null, true);
  }
  const staged = await proveStaged(reading.ctx, reading.prepared.schema, state);
  const volume = await proveVolume(reading, state);
  return { state, proof: [...buildIncrementalProof(state), staged, ...volume, proveFields(reading.prepared)] };
}
