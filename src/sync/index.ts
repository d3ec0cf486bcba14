// The door of the sync engine: what platform and app may use of it.
export { startCertificateWatch } from './certificate-watch.ts';
export { openConnectorOf, readMetadata, refreshMetadata, secretBinding } from './connection.ts';
export { dueSlot, nextSlot, scheduleProblem } from './due.ts';
export { allRecipients, mailEach, noteHealth } from './health.ts';
export { buildWantedIndexes, fitIndexes, forgetOtherIndexes, indexesToBuild, rememberWantedIndexes } from './index-jobs.ts';
export { failRun, releaseRun, secondsWithoutPage } from './release.ts';
export { type RestoredRuns, renewWarehouse, restartSyncs } from './restored.ts';
export { pruneTombstones } from './retention.ts';
export { insertRunEvent } from './run-events.store.ts';
export { isFinal, type RunStatus, runStatuses } from './run-state.ts';
export { type ConfigRow, findConfig, findOpenRun, findRun, insertRun, type RunRow, runColumns } from './runs.store.ts';
export { type Scheduler, startScheduler } from './scheduler.ts';
export {
  approveProposal,
  type CountedTable,
  countWarehouse,
  findProposal,
  type HeldDeletions,
  heldDeletions,
  loadingFields,
  openRejections,
  purgeWarehouse,
  rejectedRecords,
  stillRejected,
  syncedRecords,
} from './warehouse-facts.ts';
