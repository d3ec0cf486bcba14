// Request and response of creating the sync configurations of many record types.
import { z } from 'zod';
import { Id } from '../../http/fields.ts';
import { NewSyncConfig } from './syncs.schemas.ts';

export const BulkSyncConfigs = NewSyncConfig.omit({ name: true, recordType: true, fields: true }).extend({
  recordTypes: z.array(z.string().min(1).max(200)).min(1).max(1000).describe('Their names; each counts once'),
  dryRun: z
    .boolean()
    .default(false)
    .describe('True only reports what would be created, and estimates the first loads'),
  start: z.boolean().default(false).describe('True queues the first run of each that is created'),
});
export type BulkSyncConfigs = z.output<typeof BulkSyncConfigs>;

const estimates = {
  records: z.int().nullable().describe("By the ERP's own count"),
  requests: z
    .int()
    .nullable()
    .describe('Requests of a first load: for pages of records and of lines, and for its checks'),
  minutes: z
    .number()
    .nullable()
    .describe('That many requests one after the other; null when no page could be read'),
};

export const BulkSyncConfigsResult = z
  .object({
    data: z
      .array(
        z.object({
          recordType: z.string(),
          status: z
            .enum(['created', 'exists', 'planned', 'refused'])
            .describe(
              '`exists`: it had a configuration, which stays as it is; `planned`: a dry run, without which it would be created',
            ),
          syncConfigId: Id.nullable(),
          code: z.string().nullable().describe('Why it is refused or could not be estimated'),
          reason: z.string().nullable().describe('The same as a sentence'),
          fields: z
            .int()
            .nullable()
            .describe(
              'How many fields of each record are synced, the id included; null unless planned or created',
            ),
          ...estimates,
        }),
      )
      .describe('In the order of the request. Estimates are null except for planned ones'),
    totals: z.object({
      created: z.int(),
      exists: z.int(),
      planned: z.int(),
      refused: z.int(),
      records: estimates.records.describe('Of those that are planned'),
      requests: estimates.requests.describe('Of those that are planned'),
      minutes: estimates.minutes.describe(
        'All requests at `concurrency`, and at least the minutes of the longest load: a load sends one request at a time',
      ),
    }),
    latencyMs: z
      .int()
      .nullable()
      .describe(
        'Mean time of a request, measured by reading the first page of the largest record types; null unless it was measured',
      ),
    concurrency: z
      .int()
      .nullable()
      .describe(
        'Loads at a time: the smaller of the requests that may be sent to the account at once and the runs that are worked on at once',
      ),
  })
  .meta({ id: 'BulkSyncConfigsResult' });
export type BulkSyncConfigsResult = z.input<typeof BulkSyncConfigsResult>;
