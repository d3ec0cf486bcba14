import { z } from 'zod';
import { Day, Id, Instant } from '../../http/fields.ts';
import { runModes, runStatuses, syncedAtText } from '../../sync/index.ts';

/** The worst first. */
export const syncStates = [
  'paused',
  'failing',
  'held',
  'drift',
  'partial',
  'stale',
  'new',
  'running',
  'ok',
  'disabled',
] as const;
export type SyncState = (typeof syncStates)[number];

/** Within a severity, in the order of their worth. */
export const problemKinds = [
  'connection_failed',
  'certificate_expired',
  'certificate_expiring',
  'sync_paused',
  'sync_failing',
  'sync_stale',
  'write_back_failed',
  'deletions_held',
  'fields_missing',
  'records_rejected',
  'publication_failed',
  'version_past_sunset',
  'write_back_unapplied',
  'write_back_waiting',
  'payment_unsettled',
  'domain_failing',
  'webhook_failing',
  'key_expiring',
  'keys_unused',
] as const;

const Target = z.object({
  type: z.enum([
    'connection',
    'sync',
    'run',
    'deletion-proposal',
    'version',
    'key',
    'payment',
    'domain',
    'webhook',
  ]),
  id: Id.nullable().describe('Null for the connection, and where several are concerned'),
  syncConfigId: Id.optional().describe('The sync of a run or a deletion proposal'),
});

const OverviewProblem = z.object({
  severity: z.enum(['error', 'warning']),
  kind: z.enum(problemKinds),
  title: z.string().describe('What is wrong, with its numbers'),
  since: Instant.nullable().describe('When it last worked; null where that is not known'),
  detail: z.string().nullable().describe('What the ERP or the run reported'),
  action: z.string().describe('What to do about it'),
  target: Target,
});
export type OverviewProblem = z.input<typeof OverviewProblem>;

const Connection = z.object({
  configured: z.boolean(),
  kind: z.string().nullable(),
  accountId: z.string().nullable(),
  status: z.enum(['untested', 'connected', 'failed']).nullable(),
  lastTestedAt: Instant.nullable(),
  lastError: z.string().nullable(),
  certificate: z
    .object({ slot: z.int(), notAfter: Instant, daysLeft: z.int() })
    .nullable()
    .describe('The one that signs in'),
});

const RunProblem = z.object({ code: z.string(), message: z.string(), fix: z.string() });
const SyncOverview = z.object({
  id: Id,
  recordType: z.string(),
  label: z.string(),
  state: z
    .enum(syncStates)
    .describe(
      '`paused`: no run starts by itself until the connection works again; `failing`: the last run failed; `held`: deletions wait for approval; `drift`: fields are missing in the ERP; ' +
        '`partial`: the last run could not publish everything; `stale`: more than an hour behind its schedule; `new`: it never ran; ' +
        '`running`: a run is open and nothing is wrong',
    ),
  problem: RunProblem.nullable().describe('Of the last run, or why the sync is paused'),
  lastRun: z
    .object({
      id: Id,
      status: z.enum(runStatuses),
      mode: z.enum(runModes),
      startedAt: Instant.nullable(),
      finishedAt: Instant.nullable(),
      percent: z.int().nullable(),
    })
    .nullable()
    .describe('The newest, which may be open'),
  lastSucceededAt: Instant.nullable().describe('End of the last run that published'),
  syncedAt: Instant.nullable().describe(syncedAtText),
  behindSeconds: z
    .int()
    .nullable()
    .describe('Age of the oldest scheduled slot that no successful run has served; null for none'),
  nextRunAt: Instant.nullable(),
  records: z.int(),
  rejectedRecords: z.int(),
  staleFields: z.array(z.string()),
  heldDeletions: z.object({ proposalId: Id, count: z.int() }).nullable(),
});
export type SyncOverview = z.input<typeof SyncOverview>;

const Syncs = z.object({
  total: z.int(),
  openRuns: z.int().describe('Syncs with an open run'),
  counts: z.object(
    Object.fromEntries(syncStates.map((state) => [state, z.int()])) as Record<SyncState, z.ZodInt>,
  ),
  configs: z.array(SyncOverview).describe('The worst first, at most 50'),
});

const Version = z.object({
  id: Id,
  version: z.string(),
  name: z.string(),
  status: z.enum(['draft', 'published', 'deprecated']),
  publication: z.enum(['running', 'succeeded', 'failed', 'cancelled']).nullable(),
  publishedAt: Instant.nullable(),
  sunsetAt: Instant.nullable(),
  callers7Days: z
    .int()
    .nullable()
    .describe('API keys with requests answered 2xx or 304 in the last 7 days; null without `api-key:read`'),
  requests7Days: z.int().nullable().describe('Those requests; null without `api-key:read`'),
});
export type VersionOverview = z.input<typeof Version>;

const Keys = z.object({
  active: z.int(),
  expiringIn14Days: z.int(),
  unusedFor30Days: z.int().describe('Active, older than 30 days and not used for as long'),
  requestsToday: z.int().describe('All requests of API keys to the public interface; days are in UTC'),
  requests7Days: z.int().describe('With today'),
  refused7Days: z.int().describe('Answered 4xx'),
  failed7Days: z.int().describe('Answered 5xx or cut off'),
  days: z
    .array(
      z.object({
        day: Day,
        requests: z.int(),
        unanswered: z.int().describe('Those that were refused or failed'),
      }),
    )
    .describe('The last 30 days with today, oldest first'),
});
export type KeysOverview = z.input<typeof Keys>;

const Payments = z.object({
  enabled: z.boolean(),
  failedWriteBacks: z.int().describe('Payments with a document that could not be written to the ERP'),
  unappliedWriteBacks: z
    .int()
    .describe('Payments that are in the ERP without being applied to all of their invoices'),
  waitingWriteBacks: z.int().describe('Payments that wait for the ERP for more than an hour'),
  unsettled: z
    .int()
    .describe(
      'Payments whose outcome is unknown an hour after their checkout expired, or after 7 days of processing',
    ),
});
export type PaymentsOverview = z.input<typeof Payments>;

const Portal = z.object({
  monthlyActiveVisitors: z.int().describe('Visitors in the current UTC month'),
  signIns7Days: z.int().describe('With today; days are in UTC'),
  refusedSignIns7Days: z
    .int()
    .describe(
      'Sign-ins that were refused: a wrong or expired code, or an address that has no customers any more',
    ),
  failedSignIns7Days: z.int().describe('Sign-ins that ended with an error of the service'),
  paid7Days: z
    .array(z.object({ currency: z.string(), payments: z.int(), amount: z.string() }))
    .nullable()
    .describe('Payments of visitors that succeeded; needs `payment:read`'),
  mails7Days: z.int().describe('Mails that visitors had ordered'),
  statements7Days: z.int().describe('Monthly statements among them'),
});

const step = z.boolean().nullable();
export const Overview = z
  .object({
    generatedAt: Instant,
    problems: z
      .array(OverviewProblem)
      .describe('The worst first, at most 100. What several syncs share is one problem'),
    problemCounts: z.object({ errors: z.int(), warnings: z.int() }),
    setUp: z
      .object({
        connectionTested: step,
        firstSync: step,
        firstSucceededSync: step,
        publishedVersion: step,
        apiKeyUsed: step,
      })
      .describe('Which of the first steps are done; null where the caller may not see it'),
    connection: Connection.nullable().describe(
      'The first one. Needs `netsuite:read` or `connection:read`; `problems` are of all that the caller may read',
    ),
    syncs: Syncs.nullable().describe('Needs `sync:read`'),
    versions: z
      .array(Version)
      .nullable()
      .describe('Needs `api-schema:read`. All but retired ones, newest first, at most 20'),
    keys: Keys.nullable().describe('Needs `api-key:read`'),
    payments: Payments.nullable().describe('Needs `payment:read`'),
    portal: Portal.nullable().describe('Needs `portal:read`'),
  })
  .meta({ id: 'Overview' });
export type Overview = z.input<typeof Overview>;
