// Request and response schemas of sync configurations and runs.
import { z } from 'zod';
import { Email, Id, Instant, shortText } from '../../http/fields.ts';
import { runModes, runStatuses, syncedAtText } from '../../sync/index.ts';
import { RecordTypeName } from '../connections/connections.schemas.ts';

const areDistinct = (values: readonly string[]): boolean => new Set(values).size === values.length;
const fieldName = z.string().regex(/^[a-z][A-Za-z0-9_]{0,62}$/, 'must be a field name of the record type');
const shape = {
  name: shortText(120),
  mode: z.enum(['incremental', 'full']),
  schedule: z
    .string()
    .trim()
    .min(1)
    .max(120)
    .nullable()
    .describe('A cron expression with five fields; null for manual runs only'),
  timezone: z.string().min(1).max(64),
  enabled: z.boolean(),
  fields: z
    .union([
      z.literal('*'),
      z.array(fieldName).min(1).max(1000).refine(areDistinct, 'must not contain a field twice'),
    ])
    .describe('"*" syncs every field that can be synced, including new ones'),
  filter: z
    .strictObject({
      subsidiaries: z
        .array(z.string().regex(/^(?:0|-?[1-9]\d{0,14})$/, 'must be the internal id of a subsidiary'))
        .min(1)
        .max(1000)
        .refine(areDistinct, 'must not contain an id twice'),
    })
    .nullable()
    .describe(
      'Only records of these subsidiaries, by id; null for all. A record that leaves them is deleted here under the rules for deletions. ' +
        'A change takes effect with the next run',
    ),
  deletions: z.enum(['feed', 'reconcile', 'none']),
  maxDeleteShare: z
    .number()
    .min(0)
    .max(1)
    .describe(
      "Where the ERP's list of deletions names none of a record type, absent records are deleted without approval up to this share of the " +
        'records that a calendar day began with, or up to a tenth of them and at most 20, or one. Never all records of a type, and none that ' +
        'other records name',
    ),
  alertRecipients: z.array(Email).max(20),
  freshnessTarget: z
    .int()
    .min(1)
    .max(43_200)
    .nullable()
    .describe(
      'Minutes that the data may be old, null for any age. A run is added when the data would become older, and the alert recipients get a ' +
        'mail when they do and when they no longer are',
    ),
};

export const NewSyncConfig = z.strictObject({
  name: shape.name,
  recordType: RecordTypeName,
  mode: shape.mode.default('incremental'),
  schedule: shape.schedule.default(null),
  timezone: shape.timezone.default('UTC'),
  enabled: shape.enabled.default(true),
  fields: shape.fields.default('*'),
  filter: shape.filter.default(null),
  deletions: shape.deletions.default('reconcile'),
  maxDeleteShare: shape.maxDeleteShare.default(0.02),
  alertRecipients: shape.alertRecipients.default([]),
  freshnessTarget: shape.freshnessTarget.default(null),
});
export const SyncConfigPatch = z.strictObject(shape).partial();
export type NewSyncConfig = z.output<typeof NewSyncConfig>;
export type SyncConfigPatch = z.output<typeof SyncConfigPatch>;

export const TriggerInput = z.strictObject({ mode: z.enum(['incremental', 'full']).optional() });

export const RereadInput = z.strictObject({
  ids: z.array(z.string().min(1).max(200)).min(1).max(1000).describe('Ids of records in the ERP'),
});

export const MissingFields = z.strictObject({ fields: z.array(fieldName).min(1).max(1000) });

const problem = z.object({
  code: z.string(),
  message: z.string(),
  fix: z.string(),
  proposalId: Id.optional().describe('The proposal that lists the held-back deletions'),
});

const RunProgress = z.object({
  phase: z.string().describe('`reading`, `proving` or `publishing`'),
  fetched: z.int().describe('Records that the run has read'),
  done: z.int().describe('Records that this phase has read or compared; `fetched` while `expected` is null'),
  expected: z
    .int()
    .nullable()
    .describe(
      'Records that the ERP counts for this phase, at least `done`. Null where it counts none, as for a few changes',
    ),
  pages: z.int(),
  percent: z.int().nullable().describe('`done` of `expected`, rounded down'),
  estimatedSecondsLeft: z
    .int()
    .nullable()
    .describe(
      'Until this phase has done all, at the pace of this attempt up to its last page. Null before there is a pace',
    ),
});

export const SyncRun = z
  .object({
    id: Id,
    syncConfigId: Id,
    recordType: z.string(),
    mode: z.enum(runModes).describe('`reread`: only records that were requested'),
    status: z.enum(runStatuses),
    trigger: z.enum(['schedule', 'manual', 'retry']),
    attempt: z.int(),
    scheduledFor: Instant.nullable(),
    queuedAt: Instant,
    startedAt: Instant.nullable(),
    finishedAt: Instant.nullable(),
    progress: RunProgress.nullable().describe('Null before the run starts to read'),
    counts: z
      .object({
        fetched: z.int(),
        inserted: z.int(),
        updated: z.int(),
        unchanged: z.int(),
        deleted: z.int(),
        rejected: z.int(),
      })
      .nullable(),
    generation: z
      .string()
      .nullable()
      .describe('Generation of the data after this run; unchanged when nothing changed'),
    requests: z
      .int()
      .nullable()
      .describe('HTTP requests to the ERP so far, over all attempts; null for runs of older versions'),
    error: problem.nullable(),
    retryOf: Id.nullable(),
  })
  .meta({ id: 'SyncRun' });

export const TriggeredSyncRun = SyncRun.extend({
  coalesced: z.boolean().describe('True when this run was already open'),
}).meta({ id: 'TriggeredSyncRun' });

export const StartedSyncRuns = z
  .object({
    started: z.int().describe('Number of runs that were queued'),
    open: z.int().describe('Number of syncs of which a run was queued or running already'),
    skipped: z.int().describe('Number of syncs that are disabled or paused'),
  })
  .meta({ id: 'StartedSyncRuns' });

const gapReason = z
  .enum(['unreadable', 'empty'])
  .describe(
    "`unreadable`: the ERP doesn't offer the field to the integration role; `empty`: it came empty in records that had a value",
  );

export const SyncConfig = z
  .object({
    id: Id,
    name: z.string(),
    recordType: z.string(),
    mode: z.enum(['incremental', 'full']),
    schedule: z.string().nullable(),
    timezone: z.string(),
    enabled: z.boolean(),
    fields: z.union([z.literal('*'), z.array(z.string())]),
    filter: z
      .object({ subsidiaries: z.array(z.string()) })
      .nullable()
      .describe('Only these records are synced; null for all'),
    deletions: z.enum(['feed', 'reconcile', 'none']),
    maxDeleteShare: z.number(),
    alertRecipients: z.array(z.string()),
    freshnessTarget: z.int().nullable().describe('In minutes'),
    status: z.enum(['active', 'disabled', 'paused']),
    pausedReason: problem.nullable(),
    lastRun: SyncRun.nullable(),
    records: z.int().describe('Number of stored records; 0 before the first published run'),
    syncedAt: Instant.nullable().describe(syncedAtText),
    freshness: z
      .object({
        isStale: z.boolean().describe('Whether the data are older than the target'),
        staleSince: Instant.nullable().describe('When they became older'),
        ageSeconds: z.int().nullable().describe('Since `syncedAt`; null before the first published run'),
      })
      .nullable()
      .describe('Null without a target. Before the first published run, the age counts from the creation'),
    heldDeletions: z
      .object({ proposalId: Id, count: z.int(), createdAt: Instant })
      .nullable()
      .describe('Deletions of records absent in the ERP that wait for approval'),
    staleFields: z
      .array(z.object({ field: z.string(), since: Instant, reason: gapReason, message: z.string() }))
      .describe(
        'Fields that are not updated: their last values stay, new records have none, and runs are partial',
      ),
    acceptedFields: z
      .array(z.object({ field: z.string(), at: Instant, reason: gapReason }))
      .describe('Fields that were accepted as missing; an acceptance ends when the field is there again'),
    fullRead: z
      .object({
        periodDays: z.int().describe('Every record is to be read in full again within this many days'),
        expectedDays: z
          .number()
          .nullable()
          .describe(
            'Days that this takes at the pace of the current pass, at least `periodDays`; null while no pass has a pace yet',
          ),
        passStartedAt: Instant.nullable().describe(
          "The ERP's clock when the current pass began; null between two passes",
        ),
        records: z.int().describe('Records that the current pass has read'),
        completeSince: Instant.nullable().describe(
          "Every record was read in full at or after this time of the ERP's clock; null while unknown",
        ),
      })
      .describe('The rolling full read: incremental runs read all records again, a part in each run'),
    nextRunAt: Instant.nullable(),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ id: 'SyncConfig' });

export const AffectedVersions = z
  .object({
    versions: z
      .array(
        z.object({
          id: Id,
          version: z.string(),
          resource: z.string(),
          staleFields: z
            .array(z.string())
            .describe(
              'Fields of the resource that are not updated; those of lines as `<field>.<line field>`',
            ),
          callers7Days: z
            .int()
            .nullable()
            .describe(
              'API keys whose requests of the resource were answered 2xx or 304 in the last 7 days; null without `api-key:read`',
            ),
        }),
      )
      .describe('Newest version first'),
    portal: z
      .object({ staleFields: z.array(z.string()).describe('Fields of the record type, or `lines.<field>`') })
      .nullable()
      .describe(
        'What the portal shows or needs and is not updated; null when the portal does not use the records',
      ),
  })
  .meta({ id: 'AffectedVersions' });

export const SyncRunEvent = z
  .object({
    at: Instant,
    level: z.enum(['info', 'warning', 'error']),
    message: z.string(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'SyncRunEvent' });
export const SyncRejection = z
  .object({ id: z.string(), code: z.string(), message: z.string(), firstSeenAt: Instant })
  .meta({ id: 'SyncRejection' });
export const SyncRejectedRecord = SyncRejection.extend({
  lastSeenAt: Instant,
  attempts: z.int().describe('Number of failed attempts to store it'),
  runId: Id.nullable().describe('The last run that could not store it'),
}).meta({ id: 'SyncRejectedRecord' });
export const RejectionRetry = z.strictObject({
  recordIds: z.array(shortText(200)).min(1).max(1000).optional().describe('Defaults to all rejected records'),
});
export const SyncDriftEvent = z
  .object({
    id: Id,
    recordType: z.string(),
    kind: z.enum(['added', 'vanished', 'retyped']),
    field: z.string().describe('A field of the record type, or `lines.<field>`'),
    fromType: z.string().nullable(),
    toType: z.string().nullable(),
    runId: Id.describe('The run that detected it'),
    at: Instant,
    affects: z
      .array(
        z.union([
          z.object({
            kind: z.enum(['api-schema']),
            version: z.string(),
            endpoint: z.string(),
            field: z.string(),
          }),
          z.object({ kind: z.enum(['view']), id: Id, name: z.string(), field: z.string() }),
          z.object({ kind: z.enum(['portal']), field: z.string() }),
        ]),
      )
      .describe(
        'Current uses of the field: draft, published and deprecated versions, the portal, and views that the caller may see',
      ),
    hiddenViews: z.int().describe('Number of views that use the field and that the caller may not see'),
  })
  .meta({ id: 'SyncDriftEvent' });
export const SyncProofCheck = z
  .object({
    check: z.string(),
    passed: z.boolean(),
    message: z.string(),
    facts: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'SyncProofCheck' });
