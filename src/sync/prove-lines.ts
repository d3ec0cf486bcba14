// Proves that no line of a record was lost: what was read is compared with the ERP's own totals, one aggregate request per 1,000 records.
// Records that differ are read again by id; what still differs fails the run. Also finds records of which only lines changed, by the lines'
// own modification times. Every step stores its progress, so that any process can resume from there.

import type { RunState } from '../warehouse/run-state-row.ts';
import { isValidId } from '../warehouse/validate-values.ts';
import { proveListed, withRepeatedHour } from './compare-listed.ts';
import {
  type ComparableLines,
  compareLines,
  type DifferingLines,
  findComparableLines,
  listNextToProve,
  type NextToProve,
} from './line-totals.ts';
import { filterUnreadIds } from './local-records.ts';
import { addFacts, assertPageAdvances, type RunReadContext, reportProgress, rereadByIds, saveStep } from './read-context.ts';
import { ProofFailed } from './retry.ts';
import type { RunProofCheck } from './runs.store.ts';

const idsPerRequest = 1_000;
/** How often records whose lines differ are read again, because they may have been edited in between, before the run fails. */
const maxRereads = 3;

/** The step that follows a count or a scan. */
export const stepAfterCount = (reading: RunReadContext, state: RunState): 'lines' | 'done' =>
  findComparableLines(reading, state) === null ? 'done' : 'lines';

/**
 * Reads the records again of which only lines changed since the run's `since`. Lists them page by page, by the modification times of the
 * lines, and reads only those whose stored lines differ from the ERP's totals. Throws what the connector and `stageRunPage` throw.
 */
export async function readChangedLines(reading: RunReadContext, state: RunState): Promise<RunState> {
  const { recordType, signal } = reading;
  const { since, idType } = state.plan;
  const lines = findComparableLines(reading, state);
  if (lines === null || recordType.linesModifiedField === null || since === null) return proveListed(reading, state);
  const page = await lines.reader.listChanged({
    recordType,
    since: withRepeatedHour(since),
    afterId: state.checkpoint,
    limit: idsPerRequest,
    signal,
  });
  signal.throwIfAborted();
  const lastId = page.ids.at(-1) ?? null;
  assertPageAdvances({ hasMore: page.hasMore, lastId }, state.checkpoint);
  const ids = await filterUnreadIds(
    reading,
    state,
    page.ids.filter((id) => isValidId(id, idType)),
  );
  const differing = ids.length === 0 ? [] : (await compareLines(reading, state, lines, ids, withRepeatedHour(since))).differing;
  const { state: read } = await rereadByIds(
    reading,
    state,
    differing.map(({ id }) => id),
    null,
  );
  const facts = addFacts(read, 'lines', { changed: ids.length, changedRead: differing.length });
  const listing = addFacts({ ...read, plan: { ...read.plan, ...facts } }, 'listing', { lineRows: page.ids.length });
  if (page.hasMore) return saveStep(reading, read, { lastId, plan: listing });
  return proveListed(reading, { ...read, plan: { ...read.plan, ...listing } });
}

/**
 * The ids among these whose lines here differ from the ERP's totals. For a scan: it finds lines that earlier runs left wrong. At most 1,000
 * ids; makes no request for none. Throws the connector's errors.
 */
export async function findWrongLines(
  reading: RunReadContext,
  state: RunState,
  ids: readonly string[],
): Promise<{ compared: number; wrong: string[] }> {
  const lines = findComparableLines(reading, state);
  if (lines === null || ids.length === 0) return { compared: 0, wrong: [] };
  const { differing } = await compareLines(reading, state, lines, ids);
  return { compared: ids.length, wrong: differing.filter(({ known }) => known).map(({ id }) => id) };
}

function linesMismatch(differing: readonly DifferingLines[]): ProofFailed {
  const first = differing.find(({ here, erp }) => here !== erp) ?? differing[0];
  const example = first === undefined || first.here === first.erp ? '' : `: ${first.here} lines were read, and the ERP counts ${first.erp}`;
  return new ProofFailed(
    'LINES_MISMATCH',
    `The lines of ${differing.length} records differ from the ERP's own totals, such as those of record ${first?.id}${example}`,
    'Run the sync again. If it fails again, check whether the integration role may view all lines of these records. Nothing was published.',
  );
}

/** Compares the lines of records that this run read, and reads those again that differ. Throws `ProofFailed` `LINES_MISMATCH`. */
async function proveLinesOf(reading: RunReadContext, state: RunState, lines: ComparableLines, ids: readonly string[]) {
  let current = state;
  let pending = ids;
  let reread = 0;
  let description = '';
  for (let round = 0; pending.length > 0; round += 1) {
    const { differing: found, compared } = await compareLines(reading, current, lines, pending);
    const differing = found.filter(({ known }) => known);
    if (round === 0) description = compared;
    if (differing.length > 0 && round === maxRereads) throw linesMismatch(differing);
    const wrong = differing.map(({ id }) => id);
    const { state: read, absent } = await rereadByIds(reading, current, wrong, null);
    // A record that was deleted after it was read is left to the next run.
    const gone = new Set(absent);
    pending = wrong.filter((id) => !gone.has(id));
    if (round === 0) reread = pending.length;
    current = read;
  }
  return { state: current, reread, description };
}

/** How many lists of records are proved per stored checkpoint: proving them again costs one request each. */
const listsPerCheckpoint = 10;

/** Proves the lines of one list of records. The state that it returns says so, and is stored with the next checkpoint. */
async function proveList(reading: RunReadContext, state: RunState, lines: ComparableLines, next: NextToProve): Promise<RunState> {
  let current = state;
  for (let start = 0; start < next.ids.length; start += idsPerRequest) {
    const ids = next.ids.slice(start, start + idsPerRequest);
    const { state: read, reread, description } = await proveLinesOf(reading, current, lines, ids);
    const facts = addFacts(read, 'lines', { records: ids.length, reread, compared: description });
    current = { ...read, plan: { ...read.plan, ...facts } };
  }
  const { lastId = current.checkpoint, provedPage = current.plan.provedPage } = next;
  return { ...current, checkpoint: lastId, plan: { ...current.plan, provedPage } };
}

/**
 * Proves the lines of the next records, or ends the step after the last. Throws `ProofFailed` `LINES_MISMATCH` when they still differ
 * after repeated reads, and what the connector and `stageRunPage` throw.
 */
export async function proveNextLines(reading: RunReadContext, state: RunState): Promise<RunState> {
  const lines = findComparableLines(reading, state);
  let current = state;
  for (let lists = 0; lines !== null && lists < listsPerCheckpoint; lists += 1) {
    const next = await listNextToProve(reading, current);
    if (next.ids.length === 0) break;
    current = await proveList(reading, current, lines, next);
    if (lists === listsPerCheckpoint - 1) return saveStep(reading, current, { lastId: current.checkpoint, plan: current.plan });
  }
  return saveStep(reading, current, { plan: { ...current.plan, step: 'done' } });
}

/**
 * Proves the lines of everything that a full run read. `before` is the state in which the run was resumed: if it had begun with the lines
 * and has read more records since, it starts again with the first. Throws what `proveNextLines` and `reportProgress` throw.
 */
export async function proveAllLines(reading: RunReadContext, before: RunState, state: RunState): Promise<RunState> {
  if (findComparableLines(reading, state) === null) return state;
  let current = state;
  const hasBegun = before.plan.step !== 'pages';
  if (hasBegun && (before.counters.fetched !== state.counters.fetched || state.plan.approved.length > 0)) {
    const { lines: _, ...facts } = state.plan.facts;
    current = await saveStep(reading, current, { plan: { step: 'pages', provedPage: -1, facts } });
  }
  if (current.plan.step === 'pages') current = await saveStep(reading, current, { plan: { step: 'lines' } });
  while (current.plan.step !== 'done') {
    current = await proveNextLines(reading, current);
    await reportProgress(reading, 'proving', current, null, true);
  }
  return current;
}

/** The check `lines`: what was compared, and nothing more. None where no lines are read or the ERP has no totals of them. */
export function describeLineProof(reading: RunReadContext, state: RunState): RunProofCheck[] {
  if (findComparableLines(reading, state) === null) return [];
  const {
    records = 0,
    reread = 0,
    compared = '',
    changed = 0,
    changedRead = 0,
    scanned = 0,
    scanRead = 0,
  } = state.plan.facts['lines'] ?? {};
  const parts = [
    Number(records) === 0
      ? 'No record was read, so no lines were compared with totals of the ERP'
      : `The lines of ${records} records that were read were compared with the ERP's own totals: ${compared}; ${reread} read again`,
    ...(Number(changed) === 0
      ? []
      : [`${changed} other records have lines that changed since ${state.plan.since}; ${changedRead} read again`]),
    ...(Number(scanned) === 0
      ? []
      : [`in the scan, the lines of ${scanned} stored records were compared likewise; ${scanRead} read again`]),
  ];
  const facts = { records, reread, compared, changed, changedRead, scanned, scanRead };
  return [{ check: 'lines', passed: true, message: parts.join('. '), facts }];
}
