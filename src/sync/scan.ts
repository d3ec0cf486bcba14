// The complete scan of an incremental run: the ERP's ids, modification times, volatile values and labels against ours, range by
// range in the order of ids. What is missing here or differs is fetched; what the ERP lacks is noted as absent. Never more than a
// page of either side is in memory.
import type { ScannedRecord, ScanPage } from '../connectors/connector.ts';
import type { RecordColumn } from '../warehouse/columns.ts';
import type { RunState } from '../warehouse/run-row.ts';
import { columnsToCompare, differs, fieldsToScan } from './compare.ts';
import { readFeed } from './find-deletions.ts';
import { heldBefore, type OwnRecord, ownRange, rejectedNow, unreadOf, unsureIds } from './own-records.ts';
import { mismatch, unresolved } from './proof.ts';
import { addFacts, checkAscent, checkOnward, isBefore, note, type Reading, reread } from './reading.ts';

const scanPage = 1_000;

type Range = {
  readonly theirs: readonly ScannedRecord[];
  readonly unreadable: readonly string[];
  /** Rows whose id is no id of this type: the ERP counts them. */
  readonly strange: number;
  readonly ours: readonly OwnRecord[];
  /** Both sides are complete up to here; null: to the end. */
  readonly upTo: string | null;
};

/** Cuts both sides where the shorter one ends for now. */
function cutRange(page: ScanPage, ours: readonly OwnRecord[], idType: 'integer' | 'text'): Range {
  const ends = [page.hasMore ? page.lastId : null, ours.length === scanPage ? (ours.at(-1)?.id ?? null) : null].filter((id) => id !== null);
  const [first, second] = ends;
  const upTo = first === undefined ? null : second === undefined || isBefore(first, second, idType) ? first : second;
  const within = ({ id }: { id: string }): boolean => upTo === null || !isBefore(upTo, id, idType);
  const isId = ({ id }: { id: string }): boolean => idType === 'text' || /^-?\d+$/.test(id);
  const isWhole = upTo === null || upTo === page.lastId;
  return {
    theirs: page.records.filter(within),
    unreadable: page.rejected
      .filter(isId)
      .filter(within)
      .map(({ id }) => id),
    strange: isWhole ? page.rejected.filter((record) => !isId(record)).length : 0,
    ours: ours.filter(within),
    upTo,
  };
}

type Found = { readonly fetch: string[]; readonly absent: string[]; readonly listed: number };

/** `returned` were out of sight for a while: they are read whatever their time says, which knows but seconds. */
type Known = { readonly rejected: ReadonlySet<string>; readonly returned: ReadonlySet<string> };

function compareRange(
  { theirs, unreadable, strange, ours }: Range,
  columns: readonly RecordColumn[],
  { rejected, returned }: Known,
): Found {
  const held = new Map(ours.filter(({ gone }) => !gone).map((record) => [record.id, record]));
  const fetch = [...new Set(unreadable)].filter((id) => !rejected.has(id));
  for (const record of theirs) {
    const own = held.get(record.id);
    if (rejected.has(record.id)) continue;
    if (own === undefined || returned.has(record.id) || differs(record, columns, own.cells)) fetch.push(record.id);
  }
  const listed = new Set([...unreadable, ...theirs.map(({ id }) => id)]);
  // By rows, as the ERP counts them: an id that it gives twice counts twice.
  return { fetch, absent: [...held.keys()].filter((id) => !listed.has(id)), listed: theirs.length + unreadable.length + strange };
}

/** Asks for them by id: what the list passed over may be there all the same. */
async function confirmAbsent({ connector, recordType, signal }: Reading, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const { records, rejected } = await connector.scan({ recordType, fields: [], ids, signal });
  const found = new Set([...records, ...rejected].map(({ id }) => id));
  return ids.filter((id) => !found.has(id));
}

/** One range; after the last one, the judgement. */
export async function scanOn(reading: Reading, state: RunState): Promise<RunState> {
  if (state.plan.ended) return endScan(reading, state);
  const { connector, recordType, prepared, signal } = reading;
  const fields = fieldsToScan(recordType, prepared.fields);
  const columns = columnsToCompare(state.columns, fields);
  const page = await connector.scan({ recordType, fields, afterId: state.checkpoint, limit: scanPage, signal });
  signal.throwIfAborted();
  checkOnward(page, state.checkpoint);
  checkAscent(page, state);
  const ours = await ownRange(reading, state, columns, page.hasMore ? page.lastId : null, scanPage);
  const range = cutRange(page, ours, state.plan.idType);
  const ids = [...range.theirs.map(({ id }) => id), ...range.unreadable];
  const returned = await unreadOf(reading, state, [...(await heldBefore(reading, state, ids))]);
  const known: Known = { rejected: await rejectedNow(reading, state, ids), returned: new Set(returned) };
  const found = compareRange(range, columns, known);
  const { state: read, absent: unread } = await reread(reading, state, found.fetch, null);
  const absent = await confirmAbsent(reading, found.absent);
  const facts = addFacts(read, 'scan', { listed: found.listed, fetched: found.fetch.length, absent: absent.length });
  return note(reading, read, {
    lastId: range.upTo,
    absent: absent.map((id) => ({ id, proof: 'absent' as const })),
    plan: { listed: read.plan.listed + found.listed, unread: [...read.plan.unread, ...unread], ended: range.upTo === null, ...facts },
  });
}

/**
 * A scan that lists fewer ids than the ERP counts, before and after it, is no evidence of anything. It is made twice; what was listed
 * and could not be read may have been deleted just then, which the second one shows.
 */
async function endScan(reading: Reading, state: RunState): Promise<RunState> {
  const { counted, listed, unread, step } = state.plan;
  const after = await reading.connector.count(reading.recordType, reading.signal);
  const isConsistent = listed >= Math.min(counted, after) && listed <= Math.max(counted, after);
  if (isConsistent && unread.length === 0) return settleAbsent(reading, state, after);
  if (step === 'rescan') throw isConsistent ? unresolved(unread) : mismatch(`The ERP counts ${after} records and lists ${listed}`);
  return note(reading, state, {
    plan: { step: 'rescan', counted: after, listed: 0, unread: [], ended: false, ...addFacts(state, 'scan', { scans: 1 }) },
  });
}

/** Deleted since the list of deletions was read, perhaps: it is asked again before absence alone has to do. */
async function settleAbsent(reading: Reading, state: RunState, counted: number): Promise<RunState> {
  const { plan } = state;
  const isAsked = plan.feed === 'available' && plan.since !== null && reading.config.deletions !== 'none';
  const unsure = isAsked ? await unsureIds(reading, state) : [];
  const told = unsure.length === 0 || plan.since === null ? state : await readFeed(reading, state, new Date(plan.since), new Set(unsure));
  return note(reading, told, { plan: { step: 'done', scanned: true, ...addFacts(told, 'scan', { scans: 1, erp: String(counted) }) } });
}
