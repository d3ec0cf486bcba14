// Finds the absent records that may be deleted without approval: those that the ERP itself lists as deleted,
// and those whose deletion an administrator approved. Each is requested by id first; one that still exists is
// read again instead of deleted.

import { listApprovedProposals } from '../../warehouse/deletion-proposals.ts';
import { filterKnownIds } from '../../warehouse/local-records.ts';
import type { RunState } from '../../warehouse/run-state-row.ts';
import type { AbsentRecord } from '../../warehouse/staging.ts';
import { writeRunEvent } from '../queue/run-events.store.ts';
import { addFacts, type RunReadContext, rereadByIds, saveStep } from '../stage/read-context.ts';

/** As `rereadByIds`, for those of the ids that are stored here. */
export async function rereadKnown(
  reading: RunReadContext,
  state: RunState,
  ids: readonly string[],
  proof: AbsentRecord['proof'],
): ReturnType<typeof rereadByIds> {
  return rereadByIds(reading, state, await filterKnownIds(reading, state, ids), proof);
}

/**
 * Stages the deletions of known records that the ERP lists since `since`, each confirmed by id; none where it
 * has no such list. `concern` narrows the list to those ids; null takes every known record. Throws as `stageRunPage` and the connector.
 */
export async function readDeletionFeed(
  reading: RunReadContext,
  state: RunState,
  since: Date,
  concern: ReadonlySet<string> | null,
): Promise<RunState> {
  const { ctx, lease, connector, recordType, signal } = reading;
  const feed = await connector.deletedSince?.({ recordType, since, signal });
  if (feed === undefined) return saveStep(reading, state, { plan: { feed: 'hidden' } });
  if (!feed.available) {
    if (state.plan.feed !== 'hidden' && state.plan.mode === 'incremental')
      await writeRunEvent(
        ctx,
        lease.runId,
        'warning',
        "the ERP's list of deletions can't be read; deletions are found by comparing ids",
        { reason: feed.reason, fix: feed.fix },
      );
    return saveStep(reading, state, {
      plan: { feed: 'hidden', ...addFacts(state, 'feed', { available: false }) },
    });
  }
  const listed = feed.deleted.map(({ id }) => id).filter((id) => concern === null || concern.has(id));
  const { state: read, absent } = await rereadKnown(reading, state, listed, 'feed');
  const facts = addFacts(read, 'feed', {
    available: true,
    listed: feed.deleted.length,
    deleted: absent.length,
  });
  return saveStep(reading, read, { plan: { feed: 'available', ...facts } });
}

/**
 * Stages approved deletions; a record that exists in the ERP again is read instead. Throws what
 * `stageRunPage` and the connector throw.
 */
export async function readApprovedDeletions(reading: RunReadContext, state: RunState): Promise<RunState> {
  const proposals = reading.config.deletions === 'none' ? [] : await listApprovedProposals(reading, state);
  if (proposals.length === 0) return state;
  let current = state;
  let removed = 0;
  for (const { ids } of proposals) {
    const confirmed = await rereadKnown(reading, current, ids, 'approved');
    removed += confirmed.absent.length;
    current = confirmed.state;
  }
  const approved = proposals.map(({ id }) => id);
  return saveStep(reading, current, {
    plan: { approved, ...addFacts(current, 'approved', { proposals: proposals.length, removed }) },
  });
}
