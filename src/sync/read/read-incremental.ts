// The reading half of an incremental run, step by step: changed records, records rejected before, requested
// records, open records (which can change without a new modification time), deletions, and then the proof by
// count or by a scan. A run that reads only requested records begins with these, and goes on only when the ERP
// lacks some. Each call does one bounded piece of a step and stores its progress, so that any process can resume.

import { listUnconfirmedAbsentIds } from '../../warehouse/deletions.ts';
import { countLocal } from '../../warehouse/local-records.ts';
import { listUnreadRejectedIds } from '../../warehouse/rejections.ts';
import type { RunState, RunStep } from '../../warehouse/run-state-row.ts';
import { isValidId } from '../../warehouse/validate-values.ts';
import { assertPageAdvances, idsPerRequest } from '../account/read-by-ids.ts';
import { readApprovedDeletions, readDeletionFeed } from '../deletions/deletion-feed.ts';
import { markMoved } from '../deletions/mark-moved.ts';
import { hasReleasedRecords, markReferenced } from '../deletions/mark-referenced.ts';
import { proveFields, proveStaged, proveVolume } from '../prove/run-proof.ts';
import { listRereads } from '../queue/rereads.store.ts';
import type { RunProofCheck } from '../queue/runs.store.ts';
import {
  addFacts,
  assertAscendingPage,
  type Counted,
  type RunReadContext,
  reportProgress,
  rereadByIds,
  saveStep,
  stageRunPage,
} from '../stage/read-context.ts';
import { describeLineProof, readChangedLines } from './changed-lines.ts';
import { buildIncrementalProof } from './incremental-proof.ts';
import { compareListed } from './listed-changes.ts';
import { readOpen } from './open-records.ts';
import { readRolling } from './rolling-read.ts';
import { scanNextRange } from './scan.ts';
import { readTracked } from './tracked-changes.ts';
import { withholdEmptied } from './withhold-emptied.ts';

type Step = (reading: RunReadContext, state: RunState) => Promise<RunState>;

const findLatest = (times: readonly (string | null)[]): string | null =>
  times.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null);

/** Asked only where one page doesn't hold all changes: otherwise it costs more than it is worth. */
async function countChanges(
  { connector, recordType, signal }: RunReadContext,
  { plan: { since, changes } }: RunState,
) {
  if (changes !== undefined || since === null || connector.countChanged === undefined) return {};
  const { records } = await connector.countChanged({ recordType, since: new Date(since), signal });
  signal.throwIfAborted();
  return { changes: records };
}

const readPage: Step = async (reading, state) => {
  const { since, maxModified, changeToken = null } = state.plan;
  if (changeToken !== null) return readTracked(reading, state, changeToken);
  const page = await reading.readPage(state.checkpoint, since);
  assertPageAdvances(page, state.checkpoint);
  assertAscendingPage(reading, page, state);
  return stageRunPage(reading, state, {
    ...page,
    hasMore: true, // more steps follow, whatever this one does
    plan: {
      ...(page.hasMore && (await countChanges(reading, state))),
      step: page.hasMore ? 'pages' : 'listed',
      maxModified: findLatest([maxModified, page.maxModified]),
      ...addFacts(state, 'changed', { pages: 1, read: page.records.length + page.rejected.length }),
    },
  });
};

const rereadRejected: Step = async (reading, state) => {
  const ids = await listUnreadRejectedIds(reading, state, idsPerRequest);
  const lastId = ids.at(-1);
  if (lastId === undefined) return saveStep(reading, state, { plan: { step: 'requested' } });
  const { state: read } = await rereadByIds(reading, state, ids, 'absent');
  return saveStep(reading, read, { lastId, plan: addFacts(read, 'rejected', { read: ids.length }) });
};

/** What is no id of the record type any more is passed over: another query may define the type since. */
const readRequested: Step = async (reading, state) => {
  const { mode, idType } = state.plan;
  const listed = await listRereads(reading.ctx, state.runId, state.checkpoint, idsPerRequest);
  const lastId = listed.at(-1);
  if (lastId === undefined)
    return saveStep(reading, state, {
      plan: { step: mode === 'reread' ? await toNextOf(reading, state, 'feed') : 'open' },
    });
  const ids = listed.filter((id) => isValidId(id, idType));
  const { state: read, absent } = await rereadByIds(reading, state, ids, 'absent');
  const facts = addFacts(read, 'requested', { requested: ids.length, absent: absent.length });
  return saveStep(reading, read, { lastId, plan: facts });
};

/** The next step of a run that reads only requested records, while some are absent and unconfirmed. */
const toNextOf = async (reading: RunReadContext, state: RunState, step: RunStep): Promise<RunStep> =>
  (await listUnconfirmedAbsentIds(reading, state)).length > 0 ? step : 'done';

const readDeletions: Step = async (reading, state) => {
  const { since, mode } = state.plan;
  const isFeedUsed = reading.config.deletions !== 'none' && since !== null;
  const concern = mode === 'reread' ? new Set(await listUnconfirmedAbsentIds(reading, state)) : null;
  const read = isFeedUsed ? await readDeletionFeed(reading, state, new Date(since), concern) : state;
  const step = mode === 'reread' ? await toNextOf(reading, read, 'approved') : 'approved';
  return saveStep(reading, read, { plan: { step } });
};

const readApprovedProposals: Step = async (reading, state) =>
  saveStep(reading, await readApprovedDeletions(reading, state), { plan: { step: 'count' } });

/**
 * A scan follows when the counts differ, when the last published run read by another filter, when absent
 * records are not confirmed as deleted, when the last scan was on another calendar day of the ERP, or when
 * records that were held back because others named them no longer are.
 */
const compareCounts: Step = async (reading, state) => {
  const { connector, recordType, signal, prepared } = reading;
  const counted = await connector.count(recordType, signal);
  const { all, kept } = await countLocal(reading, state);
  const unconfirmed = await listUnconfirmedAbsentIds(reading, state);
  // A day before that of the last scan counts too: the ERP's clock or zone was changed.
  const isNewDay = prepared.scannedOn === null || state.plan.today !== prepared.scannedOn;
  const isDue = isNewDay || prepared.hasNewFilter || (await hasReleasedRecords(reading, state));
  const facts = addFacts(state, 'count', {
    erp: String(counted),
    here: String(all),
    kept: String(kept),
    unexplained: unconfirmed.length,
    due: isDue,
  });
  if (counted === all - kept && unconfirmed.length === 0 && !isDue)
    return saveStep(reading, state, { plan: { step: 'done', ...facts } });
  return saveStep(reading, state, { plan: { step: 'scan', counted, listed: 0, ended: false, ...facts } });
};

const steps: Readonly<Record<Exclude<RunStep, 'done'>, Step>> = {
  pages: readPage,
  listed: compareListed,
  lineChanges: readChangedLines,
  rejected: rereadRejected,
  requested: readRequested,
  open: readOpen,
  rolling: readRolling,
  feed: readDeletions,
  approved: readApprovedProposals,
  count: compareCounts,
  scan: scanNextRange,
  rescan: scanNextRange,
};
const proving: ReadonlySet<RunStep> = new Set(['count', 'scan', 'rescan']);

/** What the current step has done of what the ERP counted for it; null for steps that nothing counts. */
function countedFor({
  plan: { step, changes, listed, counted },
  counters: { fetched },
}: RunState): Counted | null {
  if (step === 'pages') return changes === undefined ? null : { done: fetched, expected: changes };
  return step === 'scan' || step === 'rescan' ? { done: listed, expected: counted } : null;
}

/**
 * Carries out an incremental run, or one that reads only requested records, up to the point where it may be published. Throws `ProofFailed` when the
 * proof fails, `LostLease` or `Cancelled` when this worker must stop, and the connector's errors.
 */
export async function readIncremental(
  reading: RunReadContext,
): Promise<{ state: RunState; proof: RunProofCheck[] }> {
  let { state } = reading.prepared;
  await reportProgress(
    reading,
    proving.has(state.plan.step) ? 'proving' : 'reading',
    state,
    countedFor(state),
    false,
  );
  for (let { step } = state.plan; step !== 'done'; { step } = state.plan) {
    state = await steps[step](reading, state);
    await reportProgress(
      reading,
      proving.has(state.plan.step) ? 'proving' : 'reading',
      state,
      countedFor(state),
      true,
    );
  }
  state = await markReferenced(reading, await markMoved(reading, state));
  state = await withholdEmptied(reading, state);
  const staged = await proveStaged(reading.ctx, reading.prepared.schema, state);
  const volume = await proveVolume(reading, state);
  return {
    state,
    proof: [
      ...buildIncrementalProof(reading, state),
      ...describeLineProof(reading, state),
      staged,
      ...volume,
      proveFields(reading.prepared, state),
    ],
  };
}
