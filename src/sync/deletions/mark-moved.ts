// Absent records that the ERP has under another record type, with the same id: their type was changed, and
// they are deleted here however many they are. Looked up before a run is published, and only for absences
// that neither the deletion feed nor an approval confirms.
import { ErpError } from '../../connectors/connector.ts';
import { listUnconfirmedAbsentIds } from '../../warehouse/deletions.ts';
import type { RunState } from '../../warehouse/run-state-row.ts';
import { writeRunEvent } from '../queue/run-events.store.ts';
import { type RunReadContext, saveStep } from '../stage/read-context.ts';

const idsPerRequest = 1_000;

/** Where the ERP refuses the question, none is known to be of another type. */
const isRefused = (error: unknown): boolean =>
  error instanceof ErpError && ['forbidden', 'query'].includes(error.kind);

/**
 * Stores with the run which absent records have another type now. Throws what `stageRunPage` throws, and the
 * connector's other errors.
 */
export async function markMoved(reading: RunReadContext, state: RunState): Promise<RunState> {
  const { ctx, lease, connector, recordType, signal } = reading;
  if (connector.filterMoved === undefined) return state;
  const ids = await listUnconfirmedAbsentIds(reading, state);
  const moved: string[] = [];
  for (let start = 0; start < ids.length; start += idsPerRequest) {
    const some = ids.slice(start, start + idsPerRequest);
    const found = await connector.filterMoved({ recordType, ids: some, signal }).catch((error: unknown) => {
      if (!isRefused(error)) throw error;
      ctx.log.warn({ err: error }, 'the ERP refuses to say whether absent records have another type now');
      return [];
    });
    signal.throwIfAborted();
    moved.push(...found.filter((id) => some.includes(id)));
  }
  if (moved.length === 0) return state;
  await writeRunEvent(ctx, lease.runId, 'info', 'the ERP has absent records under another record type', {
    records: moved.length,
  });
  return saveStep(reading, state, { plan: { moved } });
}
