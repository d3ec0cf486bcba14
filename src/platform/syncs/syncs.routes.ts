import { z } from 'zod';
import { Id, IdParams, isSpan, noSpan, queryInteger, spanFields } from '../../http/fields.ts';
import { createPageSchema, PageQuery, pageFields, sortFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import { runStatuses } from '../../sync/index.ts';
import { listAffectedVersions } from './affected-versions.ts';
import { BulkSyncConfigs, BulkSyncConfigsResult } from './bulk.schemas.ts';
import { createSyncConfigs } from './bulk.service.ts';
import { deletionProposalRoutes } from './deletion-proposals.routes.ts';
import { listDrift } from './drift.ts';
import { followRun } from './follow-run.ts';
import { readHistory, SyncHistory } from './history.ts';
import { acceptFields } from './missing-fields.ts';
import { listRejectedRecords, listSyncRunRejections, retryRejections } from './rejections.ts';
import * as runs from './runs.service.ts';
import {
  AffectedVersions,
  MissingFields,
  NewSyncConfig,
  RejectionRetry,
  RereadInput,
  StartedSyncRuns,
  SyncConfig,
  SyncConfigPatch,
  SyncDriftEvent,
  SyncProofCheck,
  SyncRejectedRecord,
  SyncRejection,
  SyncRun,
  SyncRunEvent,
  TriggeredSyncRun,
  TriggerInput,
} from './syncs.schemas.ts';
import * as service from './syncs.service.ts';
import { configSorts, configStatuses, runSorts } from './syncs.store.ts';

const runFilter = { ...sortFields(runSorts), ...spanFields, status: z.enum(runStatuses).optional() };
const recordType = z.string().min(1).max(63).optional();
const configFilter = z.strictObject({
  ...pageFields,
  ...sortFields(configSorts),
  q: z.string().min(1).max(120).optional(),
  recordType,
  status: z.enum(configStatuses).optional(),
  lastRunStatus: z.enum(runStatuses).optional().describe('Only syncs whose newest run has this status'),
});

export const syncRoutes = inGroup('Syncs', [
  defineRoute('listSyncConfigs', 'GET /sync-configs', {
    permission: 'sync:read',
    summary: 'List sync configurations',
    description:
      'Newest first unless sorted, each with its records, its last run, its next run, deletions that wait for approval and stale fields. ' +
      '`sort=attention`: paused ones first, then those whose last run failed or was partial, those that run, the others, and disabled ones.',
    query: configFilter,
    response: createPageSchema(SyncConfig),
    handler: (ctx, { query: { page, pageSize, ...filter } }) =>
      service.listSyncConfigs(ctx, { page, pageSize }, filter),
  }),
  defineRoute('createSyncConfig', 'POST /sync-configs', {
    permission: 'sync:create',
    summary: 'Create a sync configuration',
    description:
      "One configuration per record type. The record type and its fields must exist in the ERP's metadata.",
    body: NewSyncConfig,
    example: { name: 'Invoices', recordType: 'invoice', schedule: '*/15 * * * *', timezone: 'Europe/London' },
    response: SyncConfig,
    status: 201,
    handler: (ctx, { body }) => service.createSyncConfig(ctx, body),
  }),
  defineRoute('createSyncConfigs', 'POST /sync-configs/bulk', {
    permission: 'sync:create',
    summary: 'Create sync configurations of many record types',
    description:
      'Each record type is created, with the same settings and all fields, or refused with a reason; one that has a configuration stays as it ' +
      'is. Record types that no one asked for before are read from the ERP first. With `dryRun` nothing is created: the response estimates the ' +
      'first loads from the counts of the ERP and the measured time of its pages. After 503 a repeated request continues.',
    body: BulkSyncConfigs,
    example: {
      recordTypes: ['invoice', 'customer'],
      dryRun: true,
      schedule: '*/15 * * * *',
      timezone: 'Europe/London',
    },
    response: BulkSyncConfigsResult,
    handler: (ctx, { body }) => createSyncConfigs(ctx, body),
  }),
  defineRoute('getSyncConfig', 'GET /sync-configs/{id}', {
    permission: 'sync:read',
    summary: 'Retrieve a sync configuration',
    description: 'Includes its last run, its next run, deletions that wait for approval and stale fields.',
    params: IdParams,
    response: SyncConfig,
    handler: (ctx, { params }) => service.getSyncConfig(ctx, params.id),
  }),
  defineRoute('updateSyncConfig', 'PATCH /sync-configs/{id}', {
    permission: 'sync:update',
    summary: 'Update a sync configuration',
    description: 'An update resumes a paused sync.',
    params: IdParams,
    body: SyncConfigPatch,
    example: { schedule: '0 * * * *' },
    response: SyncConfig,
    handler: (ctx, { params, body }) => service.updateSyncConfig(ctx, params.id, body),
  }),
  defineRoute('deleteSyncConfig', 'DELETE /sync-configs/{id}', {
    permission: 'sync:delete',
    summary: 'Delete a sync configuration',
    description:
      'Stops syncing the record type; synced records stay available. Returns 422 while a published version or a view uses them.',
    params: IdParams,
    handler: (ctx, { params }) => service.deleteSyncConfig(ctx, params.id),
  }),
  defineRoute('triggerSync', 'POST /sync-configs/{id}/trigger', {
    permission: 'sync:create',
    summary: 'Start a sync run',
    description:
      'Queues a run. If one is queued or running, that run is returned instead, with `coalesced: true`. When a full run is requested, a queued ' +
      "incremental run becomes full, and a full run is queued after a running incremental one. A run that reads only requested records doesn't count.",
    params: IdParams,
    body: TriggerInput,
    example: { mode: 'full' },
    response: TriggeredSyncRun,
    status: 202,
    handler: (ctx, { params, body }) => runs.triggerSync(ctx, params.id, body.mode),
  }),
  defineRoute('triggerSyncs', 'POST /sync-configs/trigger', {
    permission: 'sync:create',
    summary: 'Start a run of every sync',
    description:
      'Queues a run of each enabled sync of which none is queued or running. Disabled and paused syncs are skipped. Without `mode` each runs ' +
      'in its own.',
    body: TriggerInput,
    example: {},
    response: StartedSyncRuns,
    status: 202,
    handler: (ctx, { body }) => runs.triggerSyncs(ctx, body.mode),
  }),
  defineRoute('rereadRecords', 'POST /sync-configs/{id}/reread', {
    permission: 'sync:create',
    summary: 'Read records again',
    description:
      'For a script in the ERP that knows what has just changed. The ids are queued for the next run. If no run is queued, one is that reads only ' +
      'these records; it starts at once, or after the run in progress. Otherwise the queued run reads them too, and is returned with ' +
      '`coalesced: true`. A record that the ERP no longer has is deleted under the rules for deletions. An id stays queued until a run that read ' +
      'it has been published.',
    params: IdParams,
    body: RereadInput,
    example: { ids: ['1042', '1043'] },
    response: TriggeredSyncRun,
    status: 202,
    handler: (ctx, { params, body }) => runs.rereadRecords(ctx, params.id, body.ids),
  }),
  ...deletionProposalRoutes,
  defineRoute('acceptMissingFields', 'POST /sync-configs/{id}/accept-missing-fields', {
    permission: 'sync:update',
    summary: 'Accept missing fields',
    description:
      'Accepts that stale fields are missing in the ERP for good, and queues a run. An unreadable field keeps its values and is null for ' +
      'new records; an empty field becomes empty in all records. The acceptance ends when the field is there again. Returns 422 for a ' +
      'field that is not stale.',
    params: IdParams,
    body: MissingFields,
    example: { fields: ['duedate'] },
    response: SyncRun,
    status: 202,
    handler: (ctx, { params, body }) => acceptFields(ctx, params.id, body.fields),
  }),
  defineRoute('listRunsOfSyncConfig', 'GET /sync-configs/{id}/runs', {
    permission: 'sync:read',
    summary: 'List runs of a sync',
    description: 'Newest first unless sorted: waiting, running and ended runs, with progress and counts.',
    params: IdParams,
    query: z.strictObject({ ...pageFields, ...runFilter }).refine(isSpan, noSpan),
    response: createPageSchema(SyncRun),
    handler: (ctx, { params, query: { page, pageSize, ...filter } }) =>
      runs.listSyncRuns(ctx, { page, pageSize }, { ...filter, syncConfigId: params.id }),
  }),
  defineRoute('getSyncHistory', 'GET /sync-configs/{id}/history', {
    permission: 'sync:read',
    summary: 'Retrieve the history of a sync',
    description:
      'The runs of the last days for a plot: duration, outcome, records and requests of each. Above 300 runs there is one point for each ' +
      '300th of the period that has runs.',
    params: IdParams,
    query: z.strictObject({ days: queryInteger({ min: 1, max: 365, default: 30 }) }),
    response: SyncHistory,
    handler: (ctx, { params, query }) => readHistory(ctx, params.id, query.days),
  }),
  defineRoute('listDriftOfSyncConfig', 'GET /sync-configs/{id}/drift', {
    permission: 'sync:read',
    summary: 'List schema drift of a sync',
    description:
      'Newest first: fields that the ERP added, removed or changed in type, each with the versions and views that use them. Kept for a ' +
      'year.',
    params: IdParams,
    query: PageQuery,
    response: createPageSchema(SyncDriftEvent),
    handler: (ctx, { params, query }) => listDrift(ctx, params.id, query),
  }),
  defineRoute('getVersionsAffectedBySyncConfig', 'GET /sync-configs/{id}/affected-versions', {
    permission: 'sync:read',
    summary: 'Retrieve the versions that a sync affects',
    description:
      'The published and deprecated versions whose resources are made of the records of the sync, with the fields that are not updated at ' +
      'the moment and the number of API keys that read them lately, and the portal, if it uses the records: whom a failed or partial run concerns.',
    params: IdParams,
    response: AffectedVersions,
    handler: (ctx, { params }) => listAffectedVersions(ctx, params.id),
  }),
  defineRoute('listRejectionsOfSyncConfig', 'GET /sync-configs/{id}/rejections', {
    permission: 'sync:read',
    summary: 'List rejected records of a sync',
    description:
      'Records that could not be stored, oldest rejection first. Every run reads them again; a record without a usable id waits for a ' +
      'full run. A record that is then stored, or that the ERP no longer returns, is no longer listed. `message` says no more than that for ' +
      'callers without `record:read`, and where it may show a value that is masked for the caller.',
    params: IdParams,
    query: PageQuery,
    response: createPageSchema(SyncRejectedRecord),
    handler: (ctx, { params, query }) => listRejectedRecords(ctx, params.id, query),
  }),
  defineRoute('retryRejections', 'POST /sync-configs/{id}/rejections/retry', {
    permission: 'sync:update',
    summary: 'Retry rejected records',
    description:
      'Queues an incremental run, and returns it. It starts after a run in progress. It reads every rejected record of the sync again, ' +
      'not only those in `recordIds`; a record without a usable id waits for a full run.',
    params: IdParams,
    body: RejectionRetry,
    example: { recordIds: ['1042'] },
    response: SyncRun,
    status: 202,
    handler: (ctx, { params, body }) => retryRejections(ctx, params.id, body.recordIds),
  }),
  defineRoute('listSyncRuns', 'GET /sync-runs', {
    permission: 'sync:read',
    summary: 'List sync runs',
    description: 'Newest first unless sorted, of all syncs. `after` and `before` limit `queuedAt`.',
    additionalErrors: [404],
    query: z
      .strictObject({ ...pageFields, ...runFilter, recordType, syncConfigId: Id.optional() })
      .refine(isSpan, noSpan),
    response: createPageSchema(SyncRun),
    handler: (ctx, { query: { page, pageSize, ...filter } }) =>
      runs.listSyncRuns(ctx, { page, pageSize }, filter),
  }),
  defineRoute('getSyncRun', 'GET /sync-runs/{id}', {
    permission: 'sync:read',
    summary: 'Retrieve a sync run',
    description: 'Poll it while the run is open to follow its progress.',
    params: IdParams,
    response: SyncRun,
    handler: (ctx, { params }) => runs.getSyncRun(ctx, params.id),
  }),
  defineRoute('listSyncRunEvents', 'GET /sync-runs/{id}/events', {
    permission: 'sync:read',
    summary: 'List events of a sync run',
    description:
      'The log of the run, oldest first, kept for 30 days. With `Accept: text/event-stream` the response streams the run until it ends. ' +
      'A stream closes after two minutes: reconnect with the last id in `Last-Event-ID`, as `EventSource` does automatically, until ' +
      'the event `end` arrives.',
    params: IdParams,
    query: PageQuery,
    response: createPageSchema(SyncRunEvent),
    stream: {
      description:
        '`log`: each log event once, with an id to resume from; `run`: the run when its state or progress changes; `end`: the run as it ' +
        'ended.',
      events: { log: SyncRunEvent, run: SyncRun, end: SyncRun },
      run: (ctx, { params }, channel) => followRun(ctx, params.id, channel),
    },
    handler: (ctx, { params, query }) => runs.listSyncRunEvents(ctx, params.id, query),
  }),
  defineRoute('listSyncRunRejections', 'GET /sync-runs/{id}/rejections', {
    permission: 'sync:read',
    summary: 'List rejected records of a sync run',
    description:
      'Lists records whose latest rejection was in this run, each with the reason; a record that a later run stored or rejected again is ' +
      'no longer listed. `message` as in `GET /sync-configs/{id}/rejections`.',
    params: IdParams,
    query: PageQuery,
    response: createPageSchema(SyncRejection),
    handler: (ctx, { params, query }) => listSyncRunRejections(ctx, params.id, query),
  }),
  defineRoute('getSyncRunProof', 'GET /sync-runs/{id}/proof', {
    permission: 'sync:read',
    summary: 'Retrieve the checks of a sync run',
    description: 'Comparisons with the ERP before the run was published, with their numbers.',
    params: IdParams,
    response: z.object({ checks: z.array(SyncProofCheck) }),
    handler: (ctx, { params }) => runs.getSyncRunProof(ctx, params.id),
  }),
  defineRoute('cancelSyncRun', 'POST /sync-runs/{id}/cancel', {
    permission: 'sync:update',
    summary: 'Cancel a sync run',
    description:
      'Cancels a queued run at once and stops a running one at its next step; none of its changes are published.',
    params: IdParams,
    response: SyncRun,
    handler: (ctx, { params }) => runs.cancelSyncRun(ctx, params.id),
  }),
  defineRoute('retrySyncRun', 'POST /sync-runs/{id}/retry', {
    permission: 'sync:update',
    summary: 'Retry a sync run',
    description:
      'Creates a new run for a failed, partial or cancelled one; `retryOf` names the original run.',
    params: IdParams,
    response: SyncRun,
    status: 202,
    handler: (ctx, { params }) => runs.retrySyncRun(ctx, params.id),
  }),
]);
