// Request and response schemas of deletion proposals.
import { z } from 'zod';
import { Id, Instant, queryInteger, shortText } from '../../http/fields.ts';
import { proposalStatuses, runModes } from '../../sync/index.ts';

export const ProposalParams = z.strictObject({ id: Id, proposalId: Id });

export const RecordsQuery = z.strictObject({
  after: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Only records after this id: `nextAfter` of the previous response'),
  limit: queryInteger({ min: 1, max: 1000, default: 100 }),
});
export type RecordsQuery = z.output<typeof RecordsQuery>;

const revision = z
  .int()
  .min(1)
  .optional()
  .describe('The reviewed revision; returns 422 if the records of the proposal have changed since');
export const DeletionApproval = z.strictObject({
  proposalId: Id,
  ids: z
    .array(shortText(200))
    .min(1)
    .max(10_000)
    .optional()
    .describe('Approves only these records; the others stay in the proposal, whose revision rises'),
  revision,
});
export const DeletionRejection = z.strictObject({
  revision,
  reason: shortText(500).optional().describe('For the audit log'),
});
export type DeletionApproval = z.output<typeof DeletionApproval>;
export type DeletionRejection = z.output<typeof DeletionRejection>;

export const ProposalStatus = z.enum(proposalStatuses);
export const SyncDeletionProposal = z
  .object({
    id: Id,
    recordType: z.string(),
    status: ProposalStatus.describe(
      '`open`: waits for a decision · `kept`: the configuration deletes nothing · `approved`: the next run carries it out · `applied`: carried out · ' +
        '`rejected`: the records stay, and are not proposed again while they are absent · `superseded`: replaced by another proposal, or none of its records is absent any more',
    ),
    revision: z.int().describe('Rises when records are added to the proposal or removed from it'),
    count: z.int().describe('Number of records'),
    evidence: z
      .object({
        runId: Id.nullable().describe('The last run that compared all records and found these absent'),
        mode: z.enum(runModes).nullable(),
        erpStartedAt: Instant.nullable().describe("The ERP's clock at the start of that run"),
        rows: z.int().nullable().describe('Number of stored records of this type'),
        allowed: z
          .int()
          .nullable()
          .describe(
            "How many absent records could be deleted without approval that day; 0 where the ERP's list of deletions has named others",
          ),
        feed: z
          .enum(['unknown', 'available', 'hidden'])
          .nullable()
          .describe("Whether the ERP's list of deletions could be read: it doesn't list these records"),
        referenced: z.int().nullable().describe('How many of these records other stored records reference'),
      })
      .describe('What the run knew; properties are null in proposals of older versions'),
    createdAt: Instant,
    closedAt: Instant.nullable(),
  })
  .meta({ id: 'SyncDeletionProposal' });

export const SyncAbsentRecord = z
  .object({
    id: z.string(),
    number: z.string().nullable(),
    name: z.string().nullable(),
    date: z.string().nullable(),
    amount: z.string().nullable().describe('Decimal digits, unless it is masked'),
    lastSeenAt: Instant.nullable().describe(
      'The latest time at which the ERP is known to have had the record; null when unknown',
    ),
    referencedBy: z
      .array(
        z.object({
          recordType: z.string(),
          field: z.string().describe('A field of that record type, or `lines.<field>`'),
          count: z.int().describe('Number of stored records that name this record there'),
        }),
      )
      .describe(
        'A record that others name is deleted only after approval. Empty for callers without `record:read`',
      ),
  })
  .meta({ id: 'SyncAbsentRecord' });

export const SyncDeletionProposalDetail = SyncDeletionProposal.extend({
  records: z.array(SyncAbsentRecord).describe('In the order of ids'),
  nextAfter: z
    .string()
    .nullable()
    .describe('Send it as `after` for the records that follow; null when there are none'),
}).meta({ id: 'SyncDeletionProposalDetail' });
