// The public interface of the sync engine: what platform, admin and app may use.

export { type RestoredRuns, resetWarehouseEpochs, restartSyncs } from './after-restore.ts';
export { startCertificateWatch } from './certificate-watch.ts';
export {
  createTenantConnector,
  fetchAndStoreDescriptions,
  noConnectionAdvice,
  refreshMetadata,
  secretBinding,
} from './connection.ts';
export {
  type ConnectionVerdict,
  readConnectionRevision,
  resetConnectionStatus,
  saveConnectionTest,
} from './connection-status.ts';
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
} from './deletion-proposals.ts';
export { findDueSlot, findNextSlot, findScheduleProblem } from './due.ts';
export { estimateLoads, type LoadEstimates } from './estimate-loads.ts';
export { readStoredRecords, type StoredRecords, syncedAtText } from './full-reads.ts';
export { enqueueAlertMails, listAlertRecipients, recordSyncHealth } from './health.ts';
export {
  buildWantedIndexes,
  discardOtherIndexes,
  findIndexesToBuild,
  reconcileIndexes,
  saveWantedIndexes,
} from './index-jobs.ts';
export { listMaskedSources } from './masked-sources.ts';
export { requireFullRun } from './query-sources.ts';
export { canFilterBySubsidiary, withFilter } from './record-filter.ts';
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
} from './record-types.store.ts';
export { failRun, releaseRun, secondsSinceLastPage } from './release.ts';
export { pruneTombstones } from './retention.ts';
export { waitsForMove } from './retry.ts';
export { insertRunEvent } from './run-events.store.ts';
export { insertRunOfEach } from './run-of-each.store.ts';
export { isFinal, type RunStatus, runStatuses } from './run-state.ts';
export {
  findOpenRun,
  findRun,
  findSyncConfig,
  insertRun,
  queueRun,
  type RunRow,
  runColumns,
  type SyncConfigRow,
} from './runs.store.ts';
export { type Scheduler, startScheduler } from './scheduler.ts';
export { type EnteredColumns, enterShownColumns } from './shown-columns.ts';
export { acceptMissingFields, type FieldGaps, readFieldGaps } from './stale-fields.ts';
export {
  type CountedTable,
  countRejections,
  countSyncedRecords,
  countWarehouseRows,
  filterRejectedIds,
  listLoadingFields,
  listRunRejections,
  listTypeRejections,
  purgeWarehouse,
} from './warehouse-queries.ts';
