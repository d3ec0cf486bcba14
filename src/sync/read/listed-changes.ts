// Lists the changed records without reading them, and compares: every id must have been read. This finds
// locked records, which no page returns and whose omission a total count doesn't reveal, and records whose
// modification time lies an hour back.
import type { ChangeCounts, Connector, IdRange } from '../../connectors/connector.ts';
import type { ListedRecord } from '../../connectors/source-records.ts';
import { filterUnreadIds, listNotStagedAs, readLocalByIds } from '../../warehouse/local-records.ts';
import type { RunState } from '../../warehouse/run-state-row.ts';
import { isValidId } from '../../warehouse/validate-values.ts';
import { assertPageAdvances } from '../account/read-by-ids.ts';
import { assertNoLongerListed, listCounted } from '../prove/counted-pages.ts';
import { addFacts, type RunReadContext, rereadByIds, saveStep } from '../stage/read-context.ts';

/**
 * The largest step back of a clock in a zone with daylight saving: a time in the repeated hour may be read as
 * the one an hour earlier.
 */
const repeatedHourMs = 3_600_000;

/**
 * The instant from which changes are listed: as early as a repeated hour may put a change that happened at
 * `since` or later.
 */
export const withRepeatedHour = (since: string): Date => new Date(Date.parse(since) - repeatedHourMs);

const idsPerListing = 1_000;
/** Pages of ids compared per checkpoint: listing them again costs little, and usually none is missing. */
const listingsPerCheckpoint = 10;

type Listing = {
  readonly missing: readonly string[];
  /** The number of rows, as the ERP counts them. */
  readonly rows: number;
  /** Records that were listed and not read, because the time here is that of the ERP. */
  readonly unchanged: number;
  readonly lastId: string | null;
  readonly hasMore: boolean;
};

/** The column of the modification time; undefined where the configuration doesn't sync it. */
const timeColumn = ({ recordType: { modifiedField } }: RunReadContext, { columns }: RunState) =>
  columns.find(({ field, part, type }) => field === modifiedField && part === 'value' && type === 'time');

const listIds = (listed: readonly ListedRecord[]): string[] => listed.map(({ id }) => id);

const isStoredAs = (stored: ReadonlyMap<string, string | null>, { id, modifiedAt }: ListedRecord): boolean =>
  stored.has(id) && stored.get(id) === modifiedAt;

/**
 * The ids that must be read: those that this run has not read, except records of the hour before `since` that
 * are stored here with the ERP's modification time; and those that it read with another modification time
 * than the listed one.
 */
async function filterMissing(reading: RunReadContext, state: RunState, listed: readonly ListedRecord[]) {
  const column = timeColumn(reading, state);
  if (column === undefined || listed.length === 0) return filterUnreadIds(reading, state, listIds(listed));
  const differing = await listNotStagedAs(reading, state, column, listed);
  const outdated = differing.filter(({ staged }) => staged).map(({ id }) => id);
  const notStaged = differing.filter(({ staged }) => !staged).map(({ id }) => id);
  const unread = new Set(await filterUnreadIds(reading, state, notStaged));
  const sinceMs = Math.floor(Date.parse(state.plan.since ?? '') / 1_000) * 1_000;
  const isEarlier = ({ modifiedAt }: ListedRecord) => modifiedAt !== null && Date.parse(modifiedAt) < sinceMs;
  const earlier = listed.filter((record) => unread.has(record.id) && isEarlier(record));
  const rows = earlier.length === 0 ? [] : await readLocalByIds(reading, state, [column], listIds(earlier));
  const stored = new Map(rows.map(({ id, cells }) => [id, cells[0] ?? null]));
  for (const record of earlier) if (isStoredAs(stored, record)) unread.delete(record.id);
  return [...unread, ...outdated];
}

type ListPage = (afterId: string | null) => ReturnType<Connector['listIds']>;

/**
 * The pages of a list of changes: once its length contradicted the ERP's counts, only such as the ERP's count
 * of the same ids confirms.
 */
export function listChanges<
  P extends { readonly rows: number; readonly lastId: string | null; readonly hasMore: boolean },
>(
  { connector, recordType, signal }: RunReadContext,
  { plan: { since, facts } }: RunState,
  selectCount: (counts: ChangeCounts) => number | null,
  list: (afterId: string | null) => Promise<P>,
): (afterId: string | null) => Promise<P> {
  const { countChanged } = connector;
  if (facts['listing']?.['counted'] !== true || countChanged === undefined || since === null) return list;
  return (afterId) =>
    listCounted({
      afterId,
      list: () => list(afterId),
      count: async (range: IdRange) => {
        const counts = await countChanged({ recordType, since: withRepeatedHour(since), signal, range });
        signal.throwIfAborted();
        return selectCount(counts) ?? 0;
      },
    });
}

/** Lists the next pages of ids, up to and including the first page with an id that must be read. */
async function findMissing(reading: RunReadContext, state: RunState, list: ListPage) {
  let found: Listing = { missing: [], rows: 0, unchanged: 0, lastId: state.checkpoint, hasMore: true };
  for (
    let pages = 0;
    pages < listingsPerCheckpoint && found.hasMore && found.missing.length === 0;
    pages += 1
  ) {
    const from = found.lastId;
    const page = await list(from);
    reading.signal.throwIfAborted();
    // An invalid id was rejected with its page and can't be requested.
    const listed = page.listed.filter(({ id }) => isValidId(id, state.plan.idType));
    const lastId = listed.at(-1)?.id ?? null;
    assertPageAdvances({ hasMore: page.hasMore, lastId }, from);
    const missing = await filterMissing(reading, state, listed);
    found = {
      missing,
      rows: found.rows + page.listed.length,
      unchanged: found.unchanged + listed.length - missing.length,
      lastId,
      hasMore: page.hasMore,
    };
  }
  return found;
}

/**
 * The next pages of the list. An id that is listed, can't be read by id, and is still listed afterwards fails
 * the run: throws `ProofFailed` `COUNT_MISMATCH`, and what the connector and `stageRunPage` throw.
 */
export async function compareListed(reading: RunReadContext, state: RunState): Promise<RunState> {
  const { connector, recordType, signal } = reading;
  const { since } = state.plan;
  const changedSince = since === null ? null : withRepeatedHour(since);
  const list = listChanges(
    reading,
    state,
    ({ records }) => records,
    async (afterId) => {
      const page = await connector.listIds({
        recordType,
        afterId,
        changedSince,
        limit: idsPerListing,
        signal,
      });
      return { ...page, rows: page.listed.length, lastId: page.listed.at(-1)?.id ?? null };
    },
  );
  const { missing, rows, unchanged, lastId, hasMore } = await findMissing(reading, state, list);
  const { state: read, absent } = await rereadByIds(reading, state, missing, null);
  await assertNoLongerListed(reading, absent);
  const counted = { read: missing.length - absent.length, listed: unchanged + missing.length };
  const facts = addFacts(read, 'changed', { ...counted, listedSince: changedSince?.toISOString() ?? null });
  const listing = addFacts({ ...read, plan: { ...read.plan, ...facts } }, 'listing', { rows });
  return saveStep(reading, read, { lastId, plan: { step: hasMore ? 'listed' : 'lineChanges', ...listing } });
}

/**
 * Ends the steps that list changes: the ERP's own counts of changed records, and of those with changed lines,
 * must be what was listed. Otherwise both lists are read again, with a count of each page. Throws the
 * connector's errors.
 */
export async function proveListed(reading: RunReadContext, state: RunState): Promise<RunState> {
  const { connector, recordType, signal } = reading;
  const { since, facts } = state.plan;
  const { rows = 0, lineRows, counted: isCounted = false } = facts['listing'] ?? {};
  const proved = () => saveStep(reading, state, { plan: { step: 'rejected' } });
  if (connector.countChanged === undefined || since === null || isCounted === true) return proved();
  const counted = await connector.countChanged({ recordType, since: withRepeatedHour(since), signal });
  signal.throwIfAborted();
  const hasRecords = Number(rows) === counted.records;
  const hasLines =
    lineRows === undefined ||
    counted.withChangedLines === null ||
    Number(lineRows) === counted.withChangedLines;
  if (hasRecords && hasLines) return proved();
  const changed = { ...facts['changed'], listed: 0 };
  return saveStep(reading, state, {
    plan: { step: 'listed', facts: { ...facts, changed, listing: { counted: true } } },
  });
}
