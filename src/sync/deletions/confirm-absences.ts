// Absence in a complete read: pages may miss a record, so nothing is absent before it was requested by id.

import { listIdsNotRead } from '../../warehouse/local-records.ts';
import type { RunState } from '../../warehouse/run-state-row.ts';
import type { RunProofCheck } from '../queue/runs.store.ts';
import {
  addFacts,
  type RunReadContext,
  reportProgress,
  rereadByIds,
  saveStep,
} from '../stage/read-context.ts';
import { readApprovedDeletions, readDeletionFeed } from './deletion-feed.ts';

const idsPerScan = 1_000;

/** Of at most 1,000 ids, those that the ERP doesn't return. Throws what the connector throws. */
export async function filterConfirmedAbsent(
  { connector, recordType, signal }: RunReadContext,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const { records, rejected } = await connector.scan({ recordType, fields: [], ids, signal });
  signal.throwIfAborted();
  const found = new Set([...records, ...rejected].map(({ id }) => id));
  return ids.filter((id) => !found.has(id));
}

/** Stages those that the deletion feed lists; without a high-water mark the feed has no beginning. */
async function readFeedForIds(reading: RunReadContext, state: RunState, ids: readonly string[]) {
  const { ctx, config, prepared } = reading;
  if (config.deletions === 'none' || prepared.highWater === null) return state;
  const since = new Date(new Date(prepared.highWater).getTime() - ctx.settings.sync.overlapMs);
  return readDeletionFeed(reading, state, since, new Set(ids));
}

/**
 * Explains every local record that the complete read did not return: carries out approvals, looks it up in
 * the deletion feed, and requests the rest by id. What exists is read; what doesn't is staged as absent. A
 * repeated call continues where an earlier one stopped. Throws what `stageRunPage` and the connector throw.
 */
export async function confirmAbsences(reading: RunReadContext, state: RunState): Promise<RunState> {
  let current = await readApprovedDeletions(reading, state);
  const notReturned = await listIdsNotRead(reading, current);
  if (notReturned.length === 0) return current;
  current = await readFeedForIds(reading, current, notReturned);
  const unread = await listIdsNotRead(reading, current);
  for (let start = 0; start < unread.length; start += idsPerScan) {
    const ids = unread.slice(start, start + idsPerScan);
    const absent = new Set(await filterConfirmedAbsent(reading, ids));
    const existing = ids.filter((id) => !absent.has(id));
    const read = await rereadByIds(reading, current, existing, 'absent');
    current = await saveStep(reading, read.state, {
      absent: [...absent].map((id) => ({ id, proof: 'absent' as const })),
      plan: addFacts(read.state, 'absent', {
        read: existing.length - read.absent.length,
        absent: absent.size + read.absent.length,
      }),
    });
    await reportProgress(reading, 'proving', current, null, true);
  }
  return current;
}

/** What `confirmAbsences` found; no check in a first load, before which nothing is stored. */
export function proveAbsences({ prepared }: RunReadContext, { plan: { facts } }: RunState): RunProofCheck[] {
  if (prepared.activeTable === null) return [];
  const { read = 0, absent = 0 } = facts['absent'] ?? {};
  const deleted = facts['feed']?.['deleted'] ?? 0;
  const message = `Every record stored here that no page contained was requested by id: ${read} exist and were read, ${absent} are absent in the ERP; in addition, the ERP lists ${deleted} as deleted`;
  return [{ check: 'absent', passed: true, message, facts: { read, absent, listed: deleted } }];
}
