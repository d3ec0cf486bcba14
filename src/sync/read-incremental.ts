// The reading half of an incremental run, step by step: what changed, what was rejected before, what is open and changes in
// silence, what was deleted, and then the proof by number or by a complete scan. Each call does one bounded piece and writes down
// how far it is, so that any process can go on from there.
import { type Connector, type OpenWhen, scannedFields } from '../connectors/connector.ts';
import type { RunState, RunStep } from '../warehouse/run-row.ts';
import { isSoundId } from '../warehouse/soundness.ts';
import { quoted } from '../warehouse/table.ts';
import { columnsToCompare, differs, fieldsToScan } from './compare.ts';
import { readApproved, readFeed } from './find-deletions.ts';
import { countOwn, openIds, openRejectedIds, ownByIds, unreadOf, unsureIds } from './own-records.ts';
import { checkFields, checkStaged, checkVolume, proofOfChanges, unresolved } from './proof.ts';
import { addFacts, checkAscent, checkOnward, idsAtOnce, note, type Reading, report, reread, stage } from './reading.ts';
import type { ProofCheck } from './runs.store.ts';
import { scanOn } from './scan.ts';

type Step = (reading: Reading, state: RunState) => Promise<RunState>;

const latest = (times: readonly (string | null)[]): string | null =>
  times.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null);

const readPage: Step = async (reading, state) => {
  const { since, maxModified } = state.plan;
  const page = await reading.readPage(state.checkpoint, since);
  checkOnward(page, state.checkpoint);
  checkAscent(page, state);
  return stage(reading, state, {
    ...page,
    hasMore: true, // the run goes on, whatever this step does
    plan: {
      step: page.hasMore ? 'pages' : 'listed',
      maxModified: latest([maxModified, page.maxModified]),
      ...addFacts(state, 'changed', { pages: 1, read: page.records.length + page.rejected.length }),
    },
  });
};

const listAtOnce = 1_000;
/** So many pages of ids are compared before that is written down: listed again, they cost little, and mostly nothing is missing. */
const listsPerNote = 10;

type Listed = { readonly missing: readonly string[]; readonly lastId: string | null; readonly hasMore: boolean };

/** The next pages of ids, up to and with the first one that has an id which this run has not read. */
async function findUnread(reading: Reading, state: RunState, list: (afterId: string | null) => ReturnType<Connector['listIds']>) {
  let found: Listed = { missing: [], lastId: state.checkpoint, hasMore: true };
  let from = state.checkpoint;
  for (let pages = 0; pages < listsPerNote && found.hasMore && found.missing.length === 0; pages += 1) {
    from = found.lastId;
    const { ids: listed, hasMore } = await list(from);
    reading.signal.throwIfAborted();
    // What is no id of this type was rejected with its page, and can't be asked for.
    const ids = listed.filter((id) => isSoundId(id, state.plan.idType));
    const lastId = ids.at(-1) ?? null;
    checkOnward({ hasMore, lastId }, from);
    found = { missing: await unreadOf(reading, state, ids), lastId, hasMore };
  }
  return { ...found, from };
}

/**
 * What changed is listed by id alone, and every id must have been read: a record that is locked comes in no page, and a count of all
 * records does not miss it. What is listed, is asked for by id, does not come, and is still listed then, fails the run.
 */
const compareListed: Step = async (reading, state) => {
  const { connector, recordType, signal } = reading;
  const { since } = state.plan;
  const changedSince = since === null ? null : new Date(since);
  const list = (afterId: string | null) => connector.listIds({ recordType, afterId, changedSince, limit: listAtOnce, signal });
  const { missing, lastId, hasMore, from } = await findUnread(reading, state, list);
  const { state: read, absent } = await reread(reading, state, missing, null);
  if (absent.length > 0) {
    const still = new Set((await list(from)).ids);
    const locked = absent.filter((id) => still.has(id));
    if (locked.length > 0) throw unresolved(locked);
  }
  const facts = addFacts(read, 'changed', { read: missing.length - absent.length });
  return note(reading, read, { lastId, plan: { step: hasMore ? 'listed' : 'rejected', ...facts } });
};

const rereadRejected: Step = async (reading, state) => {
  const ids = await openRejectedIds(reading, state, idsAtOnce);
  const lastId = ids.at(-1);
  if (lastId === undefined) return note(reading, state, { plan: { step: 'open' } });
  const { state: read } = await reread(reading, state, ids, 'absent');
  return note(reading, read, { lastId, plan: addFacts(read, 'rejected', { read: ids.length }) });
};

type Asked = { readonly condition: string; readonly values: readonly string[] };

/** Which of our rows are open; null when none is, or when nothing of them changes in silence. */
function askOpen({ recordType, prepared }: Reading, state: RunState): Asked | null {
  const wanted = new Set(prepared.fields);
  const openWhen: OpenWhen = recordType.openWhen;
  if (openWhen === null || !recordType.fields.some(({ name, volatile, syncable }) => volatile && syncable && wanted.has(name))) return null;
  if (openWhen === 'always') return { condition: 'true', values: [] };
  const column = state.columns.find(({ field, part, state: is }) => field === openWhen.field && part === 'value' && is === 'live');
  if (column === undefined) return { condition: 'true', values: [] };
  const name = `t.${quoted(column.column)}`;
  const isNumber = column.type === 'number' || column.type === 'integer';
  const condition = isNumber ? `${name} <> all($4::numeric[])` : `${name}::text <> all($4::text[])`;
  return { condition: `(${name} is null or ${condition})`, values: openWhen.isNoneOf };
}

const hasVolatileLines = ({ recordType, prepared }: Reading): boolean =>
  recordType.fields.some(({ name, type, volatile }) => type === 'lines' && volatile && prepared.fields.includes(name));

/** Which of these differ from what is stored; those that the ERP doesn't list are left to what looks for deletions. */
async function findDiffering(reading: Reading, state: RunState, ids: readonly string[]): Promise<string[]> {
  const { connector, recordType, prepared, signal } = reading;
  const behind = new Set(scannedFields(recordType).map(({ name }) => name));
  const fields = fieldsToScan(recordType, prepared.fields).filter((name) => behind.has(name) || name === recordType.modifiedField);
  const columns = columnsToCompare(state.columns, fields);
  const page = await connector.scan({ recordType, fields, ids, signal });
  signal.throwIfAborted();
  const ours = new Map((await ownByIds(reading, state, columns, ids)).map((record) => [record.id, record.cells]));
  const changed = page.records.filter((record) => differs(record, columns, ours.get(record.id) ?? []));
  return [...changed, ...page.rejected].map(({ id }) => id).filter((id) => ours.has(id));
}

const scanAtOnce = 1_000;
const readOpen: Step = async (reading, state) => {
  const asked = askOpen(reading, state);
  if (asked === null) return note(reading, state, { plan: { step: 'feed' } });
  const whole = hasVolatileLines(reading);
  const ids = await openIds(reading, state, asked.condition, asked.values, whole ? idsAtOnce : scanAtOnce);
  const lastId = ids.at(-1);
  if (lastId === undefined) return note(reading, state, { plan: { step: 'feed' } });
  const changed = whole ? ids : await findDiffering(reading, state, ids);
  const { state: read } = await reread(reading, state, changed, null);
  return note(reading, read, { lastId, plan: addFacts(read, 'open', { checked: ids.length, read: changed.length }) });
};

const readDeletions: Step = async (reading, state) => {
  const { since } = state.plan;
  const isAsked = reading.config.deletions !== 'none' && since !== null;
  const read = isAsked ? await readFeed(reading, state, new Date(since), null) : state;
  return note(reading, read, { plan: { step: 'approved' } });
};

const carryOutApproved: Step = async (reading, state) => note(reading, await readApproved(reading, state), { plan: { step: 'count' } });

/** A scan is called for by a difference in number, by absence that nobody explains, and by time. */
const compareCounts: Step = async (reading, state) => {
  const { ctx, connector, recordType, signal, prepared } = reading;
  const counted = await connector.count(recordType, signal);
  const own = await countOwn(reading, state);
  const unsure = await unsureIds(reading, state);
  const sinceScanMs =
    prepared.reconciledAt === null ? Number.POSITIVE_INFINITY : Date.parse(state.counters.erpStartedAt) - prepared.reconciledAt.getTime();
  const isDue = sinceScanMs >= ctx.settings.sync.reconcileEveryMs;
  const facts = addFacts(state, 'count', { erp: String(counted), here: String(own), unexplained: unsure.length, due: isDue });
  if (counted === own && unsure.length === 0 && !isDue) return note(reading, state, { plan: { step: 'done', ...facts } });
  return note(reading, state, { plan: { step: 'scan', counted, listed: 0, unread: [], ended: false, ...facts } });
};

const steps: Readonly<Record<Exclude<RunStep, 'done'>, Step>> = {
  pages: readPage,
  listed: compareListed,
  rejected: rereadRejected,
  open: readOpen,
  feed: readDeletions,
  approved: carryOutApproved,
  count: compareCounts,
  scan: scanOn,
  rescan: scanOn,
};
const proving: ReadonlySet<RunStep> = new Set(['count', 'scan', 'rescan']);

/** An incremental run up to the moment where it may be published. */
export async function readChanges(reading: Reading): Promise<{ state: RunState; proof: ProofCheck[] }> {
  let { state } = reading.prepared;
  await report(reading, 'reading', state, null, false);
  for (let { step } = state.plan; step !== 'done'; { step } = state.plan) {
    state = await steps[step](reading, state);
    await report(reading, proving.has(state.plan.step) ? 'proving' : 'reading', state, null, true);
  }
  const staged = await checkStaged(reading.ctx, reading.prepared.schema, state);
  const volume = await checkVolume(reading, state);
  return { state, proof: [...proofOfChanges(state), staged, ...volume, checkFields(reading.prepared)] };
}
