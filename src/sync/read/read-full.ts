// The reading half of a full run: stages every page, then proves that all records were read. Stops at the
// next page when the lease is lost or the run is cancelled.
import type { RunState } from '../../warehouse/run-state-row.ts';
import { assertPageAdvances, readByIds } from '../account/read-by-ids.ts';
import { confirmAbsences, proveAbsences } from '../deletions/confirm-absences.ts';
import { markMoved } from '../deletions/mark-moved.ts';
import { markReferenced } from '../deletions/mark-referenced.ts';
import { assertNoLongerListed } from '../prove/counted-pages.ts';
import { compareWithErp, proveFields, provePages, proveStaged, proveVolume } from '../prove/run-proof.ts';
import { ProofFailed } from '../queue/retry.ts';
import type { RunProofCheck } from '../queue/runs.store.ts';
import { type ReadyPage, toStagedPage } from '../stage/page-reader.ts';
import {
  assertAscendingPage,
  type RunReadContext,
  reportProgress,
  stageRunPage,
} from '../stage/read-context.ts';
import { describeLineProof } from './changed-lines.ts';
import { withholdEmptied } from './withhold-emptied.ts';

function assertPagePlausible(
  reading: RunReadContext,
  page: ReadyPage,
  state: RunState,
  expected: number,
): void {
  assertPageAdvances(page, state.checkpoint);
  assertAscendingPage(reading, page, state);
  if (page.records.length + page.rejected.length === 0 && state.page === 0 && expected > 0) {
    throw new ProofFailed(
      'ZERO_ROWS',
      `The ERP counts ${expected} records but returned none`,
      "Check the integration role's permissions, then run the sync again. Nothing was published.",
    );
  }
}

async function readAllPages(reading: RunReadContext): Promise<RunState> {
  const { signal, connector, recordType, prepared, readPage } = reading;
  const expected = await connector.count(recordType, signal);
  let { state } = prepared;
  const report = (moved: boolean) =>
    reportProgress(reading, 'reading', state, { done: state.counters.fetched, expected }, moved);
  await report(false);
  while (!state.complete) {
    const page = await readPage(state.checkpoint, null);
    assertPagePlausible(reading, page, state, expected);
    const { changeToken, ...staged } = page;
    const plan = {
      ...(page.isUnordered === true && { isUnordered: true as const }),
      ...(!page.hasMore && { changeToken }),
    };
    state = await stageRunPage(reading, state, { ...staged, plan });
    await report(true);
  }
  return state;
}

/**
 * Fetches records by id that the list of ids has and the pages did not return; `unread` are those that could
 * not be read this way.
 */
async function fetchMissing(
  reading: RunReadContext,
  state: RunState,
  missing: readonly string[],
): Promise<{ state: RunState; unread: ReadonlySet<string> }> {
  const unread = new Set(missing);
  let current = state;
  for await (const { page } of readByIds(reading, reading.prepared.fields, missing)) {
    for (const { id } of [...page.records, ...page.rejected]) unread.delete(id);
    current = await stageRunPage(reading, current, {
      ...(await toStagedPage(reading.rules, page, current)),
      rereads: true, // an attempt that was interrupted may have found it absent
      lastId: current.checkpoint,
      hasMore: false,
    });
    await reportProgress(reading, 'proving', current, null, true);
  }
  return { state: current, unread };
}

/**
 * Carries out a full run up to the point where it may be published. Throws `ProofFailed` when the proof
 * fails, `LostLease` or `Cancelled` when this worker must stop, and the connector's errors.
 */
export async function readFull(
  reading: RunReadContext,
): Promise<{ state: RunState; proof: RunProofCheck[] }> {
  const { ctx, prepared } = reading;
  const read = await readAllPages(reading);
  await reportProgress(reading, 'proving', read, null, false);
  const pages = provePages(read);
  const report = (done: number, expected: number) =>
    reportProgress(reading, 'proving', read, { done, expected }, true);
  const compared = await compareWithErp(reading, read, report);
  const fetched = await fetchMissing(reading, read, compared.missing);
  await assertNoLongerListed(reading, fetched.unread);
  let state = await withholdEmptied(reading, await confirmAbsences(reading, fetched.state));
  state = await markReferenced(reading, await markMoved(reading, state));
  const volume = await proveVolume(reading, state);
  const lines = describeLineProof(reading, state);
  const staged = await proveStaged(ctx, prepared.schema, state);
  return {
    state,
    proof: [
      pages,
      compared.check,
      ...proveAbsences(reading, state),
      ...lines,
      staged,
      ...volume,
      proveFields(prepared, state),
    ],
  };
}
