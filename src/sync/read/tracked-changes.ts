// Reads the records that the ERP reports as changed since the run before, where it keeps track of changes. The report is a
// hint: each of these records is read by its id, and one that is gone is deleted only where it can't be read.
import { ErpError } from '../../connectors/connector.ts';
import type { RunState } from '../../warehouse/run-state-row.ts';
import { rereadKnown } from '../deletions/deletion-feed.ts';
import { addFacts, type RunReadContext, rereadByIds, saveStep } from '../stage/read-context.ts';

const expired = (message: string): ErpError =>
  new ErpError('query', 'CHANGES_EXPIRED', message, {
    fix: 'No action is needed: the next attempt reads all records.',
  });

/** Far more than this many changes for each record are no report that ends. */
const maxChangesPerRecord = 10;
function assertEnds({ prepared }: RunReadContext, { facts }: Pick<RunState['plan'], 'facts'>): void {
  const reported = Number(facts['changed']?.['reported'] ?? 0);
  if (reported > maxChangesPerRecord * (prepared.rowCount + 1_000))
    throw expired(`The ERP reports ${reported} changes of ${prepared.rowCount} records, and goes on`);
}

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
  if (connector.changeTracking === undefined) throw expired('The ERP no longer keeps track of changes');
  const part = await connector.changeTracking.list({ recordType, token, signal });
  signal.throwIfAborted();
  const ids = [...new Set(part.changed)];
  const removed = [...new Set(part.removed)];
  const changed = await rereadByIds(reading, state, ids, 'absent');
  const gone = config.deletions === 'none' ? [] : removed;
  const { state: read, absent } = await rereadKnown(reading, changed.state, gone, 'feed');
  const facts = addFacts(read, 'changed', {
    ...{ pages: 1, reported: ids.length + removed.length },
    read: ids.length - changed.absent.length,
  });
  const feed = { listed: removed.length, deleted: absent.length };
  assertEnds(reading, facts);
  return saveStep(reading, read, {
    plan: {
      step: part.hasMore ? 'pages' : 'rejected',
      changeToken: part.token,
      feed: 'hidden',
      ...addFacts({ plan: { ...read.plan, ...facts } }, 'feed', feed),
    },
  });
}
