// The public interface of the sync engine: what platform, admin and app may use.

export {
  createTenantConnector,
  fetchAndStoreDescriptions,
  noConnectionAdvice,
  refreshMetadata,
} from './account/connection.ts';
export {
  type ConnectionName,
  connectionOf,
  groupByConnection,
  isOneOf,
  namePrefix,
  selectConnection,
} from './account/connection-of.ts';
export {
  type ConnectionVerdict,
  readConnectionRevision,
  resetConnectionStatus,
  saveConnectionTest,
} from './account/connection-status.ts';
export { estimateLoads, type LoadEstimates } from './account/estimate-loads.ts';
export { requireFullRun } from './account/query-sources.ts';
export { canFilterBySubsidiary, withFilter } from './account/record-filter.ts';
export {
  findDescription,
  findRecordType,
  findSyncConfigIds,
  hasReadableFields,
  listHeads,
  listSyncableNames,
  readMetadataStatus,
  readRecordTypes,
  type StoredHead,
  type StoredRecordType,
  toHead,
  writeDescriptions,
} from './account/record-types.store.ts';
export { startCertificateWatch } from './alerts/certificate-watch.ts';
export { recordFreshness } from './alerts/freshness.ts';
export { enqueueAlertMails, listAlertRecipients, recordSyncHealth } from './alerts/health.ts';
export {
  approveProposal,
  filterUnlistedIds,
  findProposal,
  type HeldDeletions,
  listHeldDeletions,
  listProposalRecords,
  listProposals,
  type ProposalRow,
  type ProposalStatus,
  proposalStatuses,
  rejectProposal,
  type ShowValue,
} from './deletions/deletion-proposals.ts';
export { pruneTombstones } from './deletions/prune-tombstones.ts';
export { acceptMissingFields, type FieldGaps, readFieldGaps } from './fields/accept-missing.ts';
export { type EnteredColumns, enterShownColumns } from './fields/enter-shown-columns.ts';
export { listMaskedSources } from './fields/masked-sources.ts';
export {
  buildWantedIndexes,
  discardOtherIndexes,
  findIndexesToBuild,
  reconcileIndexes,
  saveWantedIndexes,
} from './outcome/index-jobs.ts';
export { readStoredRecords, type StoredRecords, syncedAtText } from './outcome/stored-records.ts';
export { findDueSlot, findNextSlot, findScheduleProblem } from './queue/due-slots.ts';
export { maxQueuedRereads, queueRereads } from './queue/rereads.store.ts';
export { waitsForMove } from './queue/retry.ts';
export { insertRunEvent } from './queue/run-events.store.ts';
export { insertRunOfEach } from './queue/run-of-each.store.ts';
export { isFinal, type RunStatus, runModes, runStatuses } from './queue/run-state.ts';
export {
  findOpenRun,
  findRun,
  findSyncConfig,
  insertRun,
  queueRun,
  type RunRow,
  runColumns,
  type SyncConfigRow,
} from './queue/runs.store.ts';
export { type RestoredRuns, resetWarehouseEpochs, restartSyncs } from './run/after-restore.ts';
export { failRun, releaseRun, secondsSinceLastPage } from './run/release.ts';
export { type Scheduler, startScheduler } from './run/scheduler.ts';
