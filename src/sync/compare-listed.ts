// Lists the changed records without reading them, and compares: every id must have been read. This finds locked records, which no page
// returns and whose omission a total count doesn't reveal, and records whose modification time lies an hour back.
import type { Connector, ListedRecord } from '../connectors/connector.ts';
import type { RunState } from '../warehouse/run-state-row.ts';
import { isValidId } from '../warehouse/validate-values.ts';
import { canonicalText } from './compare.ts';
import { filterUnreadIds, readLocalByIds } from './local-records.ts';
import { recordsUnreadable } from './proof.ts';
import { addFacts, assertPageAdvances, type RunReadContext, rereadByIds, saveStep } from './read-context.ts';

/** The largest step back of a clock in a zone with daylight saving: a time in the repeated hour may be read as the one an hour earlier. */
const repeatedHourMs = 3_600_000;

/** The instant from which changes are listed: as early as a repeated hour may put a change that happened at `since` or later. */
export const withRepeatedHour = (since: string): Date => new Date(Date.parse(since) - repeatedHourMs);

const idsPerListing = 1_000;
/** Pages of ids that are compared per stored checkpoint: listing them again costs little, and usually no id is missing. */
const listingsPerCheckpoint = 10;

type Listing = {
  readonly missing: readonly string[];
  /** Records that were listed and not read, because the time here is that of the ERP. */
  readonly unchanged: number;
  readonly lastId: string | null;
  readonly hasMore: boolean;
};

/** The stored modification times of these records, by id; undefined where the configuration doesn't sync the modification time. */
async function readStoredTimes(
  reading: RunReadContext,
  state: RunState,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string | null> | undefined> {
  const { modifiedField } = reading.recordType;
  const column = state.columns.find(({ field, part, type }) => field === modifiedField && part === 'value' && type === 'time');
  if (column === undefined) return undefined;
  const rows = ids.length === 0 ? [] : await readLocalByIds(reading, state, [column], ids);
  return new Map(rows.map(({ id, cells }) => [id, cells[0] ?? null]));
}

/**
 * The ids that must be read: those that this run has not read, except records of the hour before `since` that are stored here with the
 * ERP's modification time.
 */
async function filterMissing(reading: RunReadContext, state: RunState, listed: readonly ListedRecord[]): Promise<string[]> {
  const ids = listed.map(({ id }) => id);
  const unread = new Set(await filterUnreadIds(reading, state, ids));
  const sinceMs = Math.floor(Date.parse(state.plan.since ?? '') / 1_000) * 1_000;
  const isEarlier = ({ modifiedAt }: ListedRecord): boolean => modifiedAt !== null && Date.parse(modifiedAt) < sinceMs;
  const earlier = listed.filter((record) => unread.has(record.id) && isEarlier(record));
  const stored = await readStoredTimes(
    reading,
    state,
    earlier.map(({ id }) => id),
  );
  for (const { id, modifiedAt } of earlier)
    if (stored?.has(id) === true && stored.get(id) === canonicalText(modifiedAt, 'time')) unread.delete(id);
  return [...unread];
}

/** Lists the next pages of ids, up to and including the first page with an id that must be read. */
async function findMissing(reading: RunReadContext, state: RunState, list: (afterId: string | null) => ReturnType<Connector['listIds']>) {
  let found: Listing = { missing: [], unchanged: 0, lastId: state.checkpoint, hasMore: true };
  let from = state.checkpoint;
  for (let pages = 0; pages < listingsPerCheckpoint && found.hasMore && found.missing.length === 0; pages += 1) {
    from = found.lastId;
    const page = await list(from);
    reading.signal.throwIfAborted();
    // An invalid id was rejected with its page and can't be requested.
    const listed = page.listed.filter(({ id }) => isValidId(id, state.plan.idType));
    const lastId = listed.at(-1)?.id ?? null;
    assertPageAdvances({ hasMore: page.hasMore, lastId }, from);
    const missing = await filterMissing(reading, state, listed);
    found = { missing, unchanged: found.unchanged + listed.length - missing.length, lastId, hasMore: page.hasMore };
  }
  return { ...found, from };
}

/**
 * The next pages of the list. An id that is listed, can't be read by id, and is still listed afterwards fails the run: throws `ProofFailed`
 * `COUNT_MISMATCH`, and what the connector and `stageRunPage` throw.
 */
export async function compareListed(reading: RunReadContext, state: RunState): Promise<RunState> {
  const { connector, recordType, signal } = reading;
  const { since } = state.plan;
  const changedSince = since === null ? null : withRepeatedHour(since);
  const list = (afterId: string | null) => connector.listIds({ recordType, afterId, changedSince, limit: idsPerListing, signal });
  const { missing, unchanged, lastId, hasMore, from } = await findMissing(reading, state, list);
  const { state: read, absent } = await rereadByIds(reading, state, missing, null);
  if (absent.length > 0) {
    const still = new Set((await list(from)).listed.map(({ id }) => id));
    const locked = absent.filter((id) => still.has(id));
    if (locked.length > 0) throw recordsUnreadable(locked);
  }
  const counted = { read: missing.length - absent.length, listed: unchanged + missing.length };
  const facts = addFacts(read, 'changed', { ...counted, listedSince: changedSince?.toISOString() ?? null });
  return saveStep(reading, read, { lastId, plan: { step: hasMore ? 'listed' : 'lineChanges', ...facts } });
}
