import { z } from 'zod';
import { IdParams } from '../../http/fields.ts';
import { createPageSchema, pageFields } from '../../http/page.ts';
import { defineRoute, inGroup } from '../../http/route/define.ts';
import {
  DeletionApproval,
  DeletionRejection,
  ProposalParams,
  ProposalStatus,
  RecordsQuery,
  SyncDeletionProposal,
  SyncDeletionProposalDetail,
} from './deletion-proposals.schemas.ts';
import * as service from './deletion-proposals.service.ts';
import { SyncRun } from './syncs.schemas.ts';

export const deletionProposalRoutes = inGroup('Syncs', [
  defineRoute('listDeletionProposals', 'GET /sync-configs/{id}/deletion-proposals', {
    permission: 'sync:read',
    summary: 'List deletion proposals of a sync',
    description:
      'Newest first: records that are absent in the ERP without an explanation, and that stay until someone decides. Closed proposals are ' +
      'kept for 30 days. At most one proposal is open.',
    params: IdParams,
    query: z.strictObject({ ...pageFields, status: ProposalStatus.optional() }),
    response: createPageSchema(SyncDeletionProposal),
    handler: (ctx, { params, query: { status, ...page } }) =>
      service.listDeletionProposals(ctx, params.id, page, status),
  }),
  defineRoute('getDeletionProposal', 'GET /sync-configs/{id}/deletion-proposals/{proposalId}', {
    permission: 'sync:read',
    summary: 'Retrieve a deletion proposal',
    description:
      'Includes its records, 100 unless `limit` says otherwise, each with what identifies it, when the ERP last had it, and which stored ' +
      'records name it. Of records that were deleted since, only the id is left. Callers without `record:read` see only ids and ' +
      '`lastSeenAt`; fields that any published or deprecated version masks are masked for callers without `unmasked:read`.',
    params: ProposalParams,
    query: RecordsQuery,
    response: SyncDeletionProposalDetail,
    handler: (ctx, { params, query }) =>
      service.getDeletionProposal(ctx, params.id, params.proposalId, query),
  }),
  defineRoute('approveDeletions', 'POST /sync-configs/{id}/approve-deletions', {
    permission: 'sync:approve-deletions',
    summary: 'Approve held-back deletions',
    description:
      'Starts a run that looks up each record in the ERP again and deletes only those that are still absent. With `ids`, only these ' +
      'records are approved: they move to an approved proposal of their own. With `revision`, returns 422 if the proposal has changed ' +
      'since that revision. A rejected proposal can be approved as well.',
    params: IdParams,
    body: DeletionApproval,
    example: { proposalId: '01993e5f-7e2a-7c58-9a52-3b1c8f0d4e21', ids: ['1042'], revision: 1 },
    response: SyncRun,
    status: 202,
    handler: (ctx, { params, body }) => service.approveDeletions(ctx, params.id, body),
  }),
  defineRoute('rejectDeletions', 'POST /sync-configs/{id}/deletion-proposals/{proposalId}/reject', {
    permission: 'sync:approve-deletions',
    summary: 'Reject held-back deletions',
    description:
      'The records stay, are not proposed again while they are absent, and no longer make runs `partial`. A record that the ERP returns ' +
      'again, or lists as deleted, leaves the list. A record type has one rejected proposal: it takes over what was rejected before.',
    params: ProposalParams,
    body: DeletionRejection,
    example: { revision: 1, reason: 'Hidden from the integration role by mistake' },
    response: SyncDeletionProposal,
    handler: (ctx, { params, body }) => service.rejectDeletions(ctx, params.id, params.proposalId, body),
  }),
]);
