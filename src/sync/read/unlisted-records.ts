// Stored records that a scan in the ERP's own order of ids didn't list. Such a scan has no ranges of ids, so
// the ids of its pages are stored, and compared with those of all stored records when it ends.
import { inDataTransaction } from '../../db/transaction.ts';
import { deleteListedIds, writeListedPage } from '../../warehouse/listed-ids.ts';
import { listUnlistedIds } from '../../warehouse/local-records.ts';
import type { RunState } from '../../warehouse/run-state-row.ts';
import { filterConfirmedAbsent } from '../deletions/confirm-absences.ts';
import { addFacts, type RunReadContext, rereadByIds, saveStep } from '../stage/read-context.ts';

const idsPerRequest = 1_000;

/** Stores the ids of the next page; the first page replaces what an earlier scan stored. Throws `LostLease`. */
export const storeListed = (
  { ctx, prepared: { schema } }: RunReadContext,
  state: RunState,
  ids: readonly string[],
  isLast: boolean,
): Promise<void> =>
  inDataTransaction(ctx.db.data, async (client) => {
    if (state.checkpoint === null) await deleteListedIds(client, schema, state);
    await writeListedPage(client, schema, state, { page: state.plan.listed, ids, counted: null, isLast });
  });

/**
 * After the last page: requests the stored records that no page listed by id, and stages those that are gone
 * as absent. No-op where the scan compared ranges. Throws what `saveStep` and the connector throw.
 */
export async function stageUnlisted(reading: RunReadContext, state: RunState): Promise<RunState> {
  if (reading.recordType.keyOrder !== 'server') return state;
  const unlisted = await listUnlistedIds(reading, state);
  let current = state;
  for (let start = 0; start < unlisted.length; start += idsPerRequest) {
    const ids = unlisted.slice(start, start + idsPerRequest);
    const absent = new Set(await filterConfirmedAbsent(reading, ids));
    const existing = ids.filter((id) => !absent.has(id));
    const { state: read } = await rereadByIds(reading, current, existing, 'absent');
    current = await saveStep(reading, read, {
      absent: [...absent].map((id) => ({ id, proof: 'absent' as const })),
      plan: addFacts(read, 'scan', { absent: absent.size, fetched: existing.length }),
    });
  }
  return current;
}
