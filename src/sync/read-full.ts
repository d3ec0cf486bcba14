// The reading half of a full run: every page into staging, then the proof that they are all there. Stops at the next page when
// the lease is lost or someone asked to cancel.
import type { RunState } from '../warehouse/run-row.ts';
import { readApproved, readFeed } from './find-deletions.ts';
import { unreadIds } from './own-records.ts';
import { type ReadyPage, toStaged } from './page-reader.ts';
import { checkFields, checkPages, checkStaged, checkVolume, compareWithErp, unresolved } from './proof.ts';
import { checkAscent, checkOnward, idsAtOnce, type Reading, report, stage } from './reading.ts';
import { ProofFailed } from './retry.ts';
import type { ProofCheck } from './runs.store.ts';

function checkPage(page: ReadyPage, state: RunState, expected: number): void {
  checkOnward(page, state.checkpoint);
  checkAscent(page, state);
  if (page.records.length + page.rejected.length === 0 && state.page === 0 && expected > 0) {
    throw new ProofFailed(
      'ZERO_ROWS',
      `The ERP counts ${expected} records and returned none`,
      "Check the integration role's permissions; nothing was changed here.",
    );
  }
}

async function readAllPages(reading: Reading): Promise<RunState> {
  const { signal, connector, recordType, prepared, readPage } = reading;
  const expected = await connector.count(recordType, signal);
  let { state } = prepared;
  await report(reading, 'reading', state, expected, false);
  while (!state.complete) {
    const page = await readPage(state.checkpoint, null);
    checkPage(page, state, expected);
    state = await stage(reading, state, page);
    await report(reading, 'reading', state, expected, true);
  }
  return state;
}

/** Fetches single records that the scan of ids found and the pages did not bring; `unread` are those that did not come. */
async function fetchMissing(reading: Reading, state: RunState, missing: readonly string[]): Promise<{ state: RunState; unread: string[] }> {
  const { connector, recordType, prepared, signal } = reading;
  const unread = new Set(missing);
  let current = state;
  for (let start = 0; start < missing.length; start += idsAtOnce) {
    const ids = missing.slice(start, start + idsAtOnce);
    const page = await connector.readByIds({ recordType, fields: prepared.fields, ids, signal });
    signal.throwIfAborted();
    for (const { id } of [...page.records, ...page.rejected]) unread.delete(id);
    current = await stage(reading, current, { ...(await toStaged(page, current)), lastId: current.checkpoint, hasMore: false });
  }
  return { state: current, unread: [...unread] };
}

/** What a complete read lacks is absent; whether the ERP or a person also says so decides how many may go. */
async function explainAbsent(reading: Reading, state: RunState): Promise<RunState> {
  const { ctx, config, prepared } = reading;
  const approved = await readApproved(reading, state);
  if (config.deletions === 'none') return approved;
  const absent = new Set(await unreadIds(reading, approved));
  if (absent.size === 0 || prepared.highWater === null) return approved;
  const since = new Date(new Date(prepared.highWater).getTime() - ctx.settings.sync.overlapMs);
  return readFeed(reading, approved, since, absent);
}

/** A full run up to the moment where it may be published. */
export async function readEverything(reading: Reading): Promise<{ state: RunState; proof: ProofCheck[] }> {
  const { ctx, prepared } = reading;
  const read = await readAllPages(reading);
  await report(reading, 'proving', read, null, false);
  const pages = checkPages(read);
  let compared = await compareWithErp(reading, read, false);
  let { state, unread } = await fetchMissing(reading, read, compared.missing);
  if (unread.length > 0) {
    // Listed a moment ago, unreadable now: either just deleted, which a second scan shows, or hidden from us, which fails the run.
    compared = await compareWithErp(reading, state, true);
    ({ state, unread } = await fetchMissing(reading, state, compared.missing));
  }
  if (unread.length > 0) throw unresolved(unread);
  state = await explainAbsent(reading, state);
  const volume = await checkVolume(reading, state);
  return { state, proof: [pages, compared.check, await checkStaged(ctx, prepared.schema, state), ...volume, checkFields(prepared)] };
}
