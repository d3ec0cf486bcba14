// Which absent records may go without asking: those that the ERP itself lists as deleted, and those that a person approved. Each
// is asked for by id first; what is still there is read instead.

import type { RunState } from '../warehouse/run-row.ts';
import type { AbsentRecord } from '../warehouse/staging.ts';
import { approvedProposals, knownIds } from './own-records.ts';
import { addFacts, note, type Reading, reread } from './reading.ts';
import { writeRunEvent } from './run-events.store.ts';

async function confirm(reading: Reading, state: RunState, ids: readonly string[], proof: AbsentRecord['proof']) {
  return reread(reading, state, await knownIds(reading, state, ids), proof);
}

/** `concern` narrows the list to what matters; null takes all that is known here. */
export async function readFeed(reading: Reading, state: RunState, since: Date, concern: ReadonlySet<string> | null): Promise<RunState> {
  const { ctx, lease, connector, recordType, signal } = reading;
  const answer = await connector.deletedSince({ recordType, since, signal });
  if (!answer.available) {
    if (state.plan.feed !== 'hidden' && state.plan.mode === 'incremental')
      await writeRunEvent(ctx, lease.runId, 'warning', "the ERP's list of deletions can't be read; deletions are found by comparing ids", {
        reason: answer.reason,
        fix: answer.fix,
      });
    return note(reading, state, { plan: { feed: 'hidden', ...addFacts(state, 'feed', { available: false }) } });
  }
  const listed = answer.deleted.map(({ id }) => id).filter((id) => concern === null || concern.has(id));
  const { state: read, absent } = await confirm(reading, state, listed, 'feed');
  const facts = addFacts(read, 'feed', { available: true, listed: answer.deleted.length, deleted: absent.length });
  return note(reading, read, { plan: { feed: 'available', ...facts } });
}

/** What a person approved is removed only while the ERP still does not know it. */
export async function readApproved(reading: Reading, state: RunState): Promise<RunState> {
  const proposals = reading.config.deletions === 'none' ? [] : await approvedProposals(reading, state);
  if (proposals.length === 0) return state;
  let current = state;
  let removed = 0;
  for (const { ids } of proposals) {
    const confirmed = await confirm(reading, current, ids, 'approved');
    removed += confirmed.absent.length;
    current = confirmed.state;
  }
  const approved = proposals.map(({ id }) => id);
  return note(reading, current, { plan: { approved, ...addFacts(current, 'approved', { proposals: proposals.length, removed }) } });
}
