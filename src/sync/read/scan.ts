// The scan of an incremental run: compares the ERP's ids, modification times, volatile values and labels with
// the local ones, range by range in id order. Records that are missing here or differ are fetched; records
// that the ERP lacks are staged as absent. Never more than one page of either side is in memory.
import type { ScanPage } from '../../connectors/connector.ts';
import type { ScannedRecord } from '../../connectors/source-records.ts';
import type { RecordColumn } from '../../warehouse/columns.ts';
import { filterProposedIds } from '../../warehouse/deletion-proposals.ts';
import { listUnconfirmedAbsentIds } from '../../warehouse/deletions.ts';
import {
  filterUnreadIds,
  type LocalRecord,
  readLocalByIds,
  readLocalRange,
} from '../../warehouse/local-records.ts';
import { publishedColumns } from '../../warehouse/merge-rows.ts';
import { filterRejectedInRun } from '../../warehouse/rejections.ts';
import type { RunState } from '../../warehouse/run-state-row.ts';
import { isValidId } from '../../warehouse/validate-values.ts';
import { assertPageAdvances, isIdBefore } from '../account/read-by-ids.ts';
import { filterConfirmedAbsent } from '../deletions/confirm-absences.ts';
import { readDeletionFeed } from '../deletions/deletion-feed.ts';
import { assertNoLongerListed, isBetween, listCounted } from '../prove/counted-pages.ts';
import {
  addFacts,
  assertAscendingPage,
  type RunReadContext,
  rereadByIds,
  saveStep,
} from '../stage/read-context.ts';
import { findWrongLines } from './changed-lines.ts';
import { columnsToCompare, differsFromErp, fieldsToScan } from './differs-from-erp.ts';
import { stageUnlisted, storeListed } from './unlisted-records.ts';

const recordsPerScanPage = 1_000;

/** `cells`: null for a record that this run has read. */
type KnownRecord = Omit<LocalRecord, 'cells'> & { readonly cells: LocalRecord['cells'] | null };

type ScanRange = {
  readonly erpRecords: readonly ScannedRecord[];
  readonly unreadable: readonly string[];
  /** The number of rows whose id is not valid for the id type: the ERP counts them too. */
  readonly invalidIds: number;
  readonly localRecords: readonly KnownRecord[];
  /** Both sides are complete up to and including this id; null: to the end. */
  readonly upTo: string | null;
};

/** Cuts both sides at the point up to which both were read. */
function cutRange(
  page: ScanPage,
  localRecords: readonly LocalRecord[],
  idType: 'integer' | 'text',
): ScanRange {
  const ends = [
    page.hasMore ? page.lastId : null,
    localRecords.length === recordsPerScanPage ? (localRecords.at(-1)?.id ?? null) : null,
  ].filter((id) => id !== null);
  const [first, second] = ends;
  const upTo =
    first === undefined ? null : second === undefined || isIdBefore(first, second, idType) ? first : second;
  const within = ({ id }: { id: string }): boolean => upTo === null || !isIdBefore(upTo, id, idType);
  const isId = ({ id }: { id: string }): boolean => isValidId(id, idType);
  const isWhole = upTo === null || upTo === page.lastId;
  return {
    erpRecords: page.records.filter(within),
    unreadable: page.rejected
      .filter(isId)
      .filter(within)
      .map(({ id }) => id),
    invalidIds: isWhole ? page.rejected.filter((record) => !isId(record)).length : 0,
    localRecords: localRecords.filter(within),
    upTo,
  };
}

type Found = { readonly fetch: string[]; readonly absent: string[]; readonly listed: number };

/**
 * `returned`: ids that a deletion proposal lists and the ERP returns again. They are read whatever their
 * modification time says, because that has a precision of one second.
 */
type Known = { readonly rejected: ReadonlySet<string>; readonly returned: ReadonlySet<string> };

function compareRange(
  { erpRecords, unreadable, invalidIds, localRecords }: ScanRange,
  columns: readonly RecordColumn[],
  { rejected, returned }: Known,
): Found {
  const present = new Map(localRecords.filter(({ absent }) => !absent).map((record) => [record.id, record]));
  const fetch = [...new Set(unreadable)].filter((id) => !rejected.has(id));
  for (const record of erpRecords) {
    const local = present.get(record.id);
    if (rejected.has(record.id)) continue;
    const cells = local?.cells;
    if (cells === null) continue;
    if (cells === undefined || returned.has(record.id) || differsFromErp(record, columns, cells))
      fetch.push(record.id);
  }
  const listed = new Set([...unreadable, ...erpRecords.map(({ id }) => id)]);
  // Counted by rows, as the ERP counts: an id that it lists twice counts twice.
  return {
    fetch,
    absent: [...present.keys()].filter((id) => !listed.has(id)),
    listed: erpRecords.length + unreadable.length + invalidIds,
  };
}

/**
 * Reads one record, which a run does that found nothing else to read: it fails for a line column that the
 * role can't read any more, and the metadata are then read again. Throws the connector's errors.
 */
async function readOneWithLines(
  { connector, recordType, prepared, signal }: RunReadContext,
  id: string | undefined,
): Promise<void> {
  const hasLines = recordType.fields.some(
    ({ name, type }) => type === 'lines' && prepared.fields.includes(name),
  );
  if (id !== undefined && hasLines)
    await connector.readByIds({ recordType, fields: prepared.fields, ids: [id], signal });
}

/** A page of a second scan is one that the ERP's count confirms. */
async function readScanPage(
  { connector, recordType, signal }: RunReadContext,
  { checkpoint, plan }: RunState,
  fields: readonly string[],
) {
  const list = async () => {
    const page = await connector.scan({
      recordType,
      fields,
      afterId: checkpoint,
      limit: recordsPerScanPage,
      signal,
    });
    signal.throwIfAborted();
    return { ...page, rows: page.records.length + page.rejected.length };
  };
  if (plan.step === 'scan') return list();
  return listCounted({
    afterId: checkpoint,
    list,
    count: (range) => connector.count(recordType, signal, range),
  });
}

type MatchPage = (
  reading: RunReadContext,
  state: RunState,
  page: ScanPage,
  columns: ReturnType<typeof columnsToCompare>,
) => Promise<ScanRange>;

const matchRange: MatchPage = async (reading, state, page, columns) => {
  const upTo = page.hasMore ? page.lastId : null;
  const localRecords = await readLocalRange(reading, state, columns, upTo, recordsPerScanPage);
  return cutRange(page, localRecords, state.plan.idType);
};

/**
 * Where only the ERP knows the order of ids, a page has no range here: its records are looked up by id, those
 * that the run has read count as compared, and the ids are stored for `stageUnlisted`.
 */
const matchById: MatchPage = async (reading, state, page, columns) => {
  const whole = cutRange({ ...page, hasMore: false }, [], state.plan.idType);
  const listed = [...whole.erpRecords.map(({ id }) => id), ...whole.unreadable].filter((id) =>
    isValidId(id, state.plan.idType),
  );
  await storeListed(reading, state, listed, !page.hasMore);
  const unread = new Set(await filterUnreadIds(reading, state, listed));
  return {
    ...whole,
    localRecords: [
      ...(await readLocalByIds(reading, state, columns, [...unread])),
      ...listed
        .filter((id) => !unread.has(id))
        .map((id) => ({ id, absent: false, rejected: false, cells: null })),
    ],
    upTo: page.hasMore ? page.lastId : null,
  };
};

async function comparePage(
  reading: RunReadContext,
  state: RunState,
  page: Awaited<ReturnType<typeof readScanPage>>,
  columns: ReturnType<typeof columnsToCompare>,
) {
  const range = await (reading.recordType.keyOrder === 'server' ? matchById : matchRange)(
    reading,
    state,
    page,
    columns,
  );
  const ids = [...range.erpRecords.map(({ id }) => id), ...range.unreadable];
  const returned = await filterUnreadIds(reading, state, [...(await filterProposedIds(reading, state, ids))]);
  const known: Known = {
    rejected: await filterRejectedInRun(reading, state, ids),
    returned: new Set(returned),
  };
  return { range, found: compareRange(range, columns, known) };
}

/**
 * Compares the next range, or evaluates the scan after the last range. Throws `ProofFailed` `COUNT_MISMATCH`
 * when the ERP counts other records than a second scan lists or lists records that can't be read, and what
 * the connector and `stageRunPage` throw.
 */
export async function scanNextRange(reading: RunReadContext, state: RunState): Promise<RunState> {
  if (state.plan.ended) return endScan(reading, state);
  const { recordType, prepared } = reading;
  const fields = fieldsToScan(recordType, prepared.fields);
  const columns = columnsToCompare(publishedColumns(state), fields);
  const page = await readScanPage(reading, state, fields);
  assertPageAdvances(page, state.checkpoint);
  assertAscendingPage(reading, page, state);
  const { range, found } = await comparePage(reading, state, page, columns);
  if (state.checkpoint === null) await readOneWithLines(reading, range.erpRecords[0]?.id);
  const differing = new Set(found.fetch);
  const unread = await filterUnreadIds(
    reading,
    state,
    range.erpRecords.map(({ id }) => id).filter((id) => !differing.has(id)),
  );
  const lines = await findWrongLines(reading, state, unread);
  const absent = new Set(await filterConfirmedAbsent(reading, found.absent));
  // What the scan skipped and exists all the same was compared with nothing.
  const skipped = found.absent.filter((id) => !absent.has(id));
  const fetch = [...found.fetch, ...lines.wrong, ...skipped];
  const { state: read, absent: unreadable } = await rereadByIds(reading, state, fetch, null);
  await assertNoLongerListed(reading, unreadable);
  const compared = [...new Set(columns.map(({ field }) => field))];
  const scanFacts = addFacts(read, 'scan', {
    listed: found.listed,
    fetched: fetch.length,
    absent: absent.size,
    fields: compared,
  });
  const facts = addFacts({ ...read, plan: { ...read.plan, ...scanFacts } }, 'lines', {
    scanned: lines.compared,
    scanRead: lines.wrong.length,
  });
  return saveStep(reading, read, {
    lastId: range.upTo,
    absent: [...absent].map((id) => ({ id, proof: 'absent' as const })),
    plan: { listed: read.plan.listed + found.listed, ended: range.upTo === null, ...facts },
  });
}

/**
 * A scan whose number of rows is outside the ERP's counts before and after it proves nothing, as when records
 * were created and others deleted meanwhile: a second one has a count of each page.
 */
async function endScan(reading: RunReadContext, state: RunState): Promise<RunState> {
  const { counted, listed, step } = state.plan;
  const after = await reading.connector.count(reading.recordType, reading.signal);
  if (isBetween(listed, counted, after) || step === 'rescan')
    return completeScan(reading, await stageUnlisted(reading, state), after);
  return saveStep(reading, state, {
    plan: {
      step: 'rescan',
      counted: after,
      listed: 0,
      ended: false,
      ...addFacts(state, 'scan', { scans: 1 }),
    },
  });
}

/**
 * Reads the deletion feed again for unconfirmed absent records, which may have been deleted after the feed
 * was read, and ends the scan.
 */
async function completeScan(reading: RunReadContext, state: RunState, counted: number): Promise<RunState> {
  const { plan } = state;
  const canReadFeed = plan.feed === 'available' && plan.since !== null && reading.config.deletions !== 'none';
  const unconfirmed = canReadFeed ? await listUnconfirmedAbsentIds(reading, state) : [];
  const read =
    unconfirmed.length === 0 || plan.since === null
      ? state
      : await readDeletionFeed(reading, state, new Date(plan.since), new Set(unconfirmed));
  return saveStep(reading, read, {
    plan: { step: 'done', scanned: true, ...addFacts(read, 'scan', { scans: 1, erp: String(counted) }) },
  });
}
