// Reads the records that the ERP reports as changed since the run before, where it keeps track of changes. The report is a
// hint: each of these records is read by its id, and one that is gone is deleted only where it can't be read.
import { ErpError } from '../../connectors/connector.ts';
import type { RunState } from '../../warehouse/run-state-row.ts';
import { rereadKnown } from '../deletions/deletion-feed.ts';
import { addFacts, type RunReadContext, rereadByIds, saveStep } from '../stage/read-context.ts';

/**
 * Reads the next part of the changes since `token`, and stores the token that follows it with what was read. Throws what
 * `stageRunPage` and the connector throw: `CHANGES_EXPIRED` where only a complete read can go on.
 */
export async function readTracked(
  reading: RunReadContext,
  state: RunState,
  token: string,
): Promise<RunState> {
  const { connector, recordType, signal, config } = reading;
  if (connector.changeTracking === undefined)
    throw new ErpError('query', 'CHANGES_EXPIRED', 'The ERP no longer keeps track of changes', {
      fix: 'No action is needed: the next attempt reads all records.',
    });
  const part = await connector.changeTracking.list({ recordType, token, signal });
  signal.throwIfAborted();
  const changed = await rereadByIds(reading, state, [...new Set(part.changed)], 'absent');
  const removed = config.deletions === 'none' ? [] : [...new Set(part.removed)];
  const { state: read, absent } = await rereadKnown(reading, changed.state, removed, 'feed');
  const facts = addFacts(read, 'changed', { pages: 1, read: part.changed.length - changed.absent.length });
  const feed = { listed: part.removed.length, deleted: absent.length };
  return saveStep(reading, read, {
    plan: {
      step: part.hasMore ? 'pages' : 'rejected',
      changeToken: part.token,
      feed: 'hidden',
      ...addFacts({ plan: { ...read.plan, ...facts } }, 'feed', feed),
    },
  });
}
