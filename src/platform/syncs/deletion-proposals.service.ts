// Deletions that were held back for a person to decide. An approval starts a run that requests each record
// from the ERP again before deleting it; after a rejection the records stay.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, invalid, orNotFound } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { type PageQuery, viewPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  approveProposal,
  filterUnlistedIds,
  findProposal,
  listProposalRecords,
  listProposals,
  type ProposalRow,
  type ProposalStatus,
  queueRun,
  rejectProposal,
  runModes,
} from '../../sync/index.ts';
import type { DeletionApproval, DeletionRejection, RecordsQuery } from './deletion-proposals.schemas.ts';
import { runView } from './run-view.ts';
import { findShowValue, mayReadRecords } from './shown-values.ts';
import { getConfigRow } from './syncs.service.ts';

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const whole = (value: unknown): number | null => (typeof value === 'number' ? value : null);
const parseChoice = <T extends string>(value: unknown, allowed: readonly T[]): T | null =>
  allowed.find((known) => known === value) ?? null;

const proposalView = (
  { id, status, revision, count, evidence, createdAt, closedAt }: ProposalRow,
  recordType: string,
) => ({
  id,
  recordType,
  status,
  revision,
  count,
  evidence: {
    runId: text(evidence['runId']),
    mode: parseChoice(evidence['mode'], runModes),
    erpStartedAt: text(evidence['erpStartedAt']),
    rows: whole(evidence['rows']),
    allowed: whole(evidence['allowed']),
    feed: parseChoice(evidence['feed'], ['unknown', 'available', 'hidden']),
    referenced: whole(evidence['referenced']),
  },
  createdAt,
  closedAt,
});

const findConfig = (ctx: RequestCtx, id: string) => inTransaction(ctx, (tx) => getConfigRow(tx, ctx, id));

/** Throws 404 for an unknown sync. */
export async function listDeletionProposals(
  ctx: RequestCtx,
  configId: string,
  page: PageQuery,
  status: ProposalStatus | undefined,
) {
  const { record_type: recordType } = await findConfig(ctx, configId);
  return viewPage(await listProposals(ctx, recordType, status, page), page, (row) =>
    proposalView(row, recordType),
  );
}

/** Throws 404 for an unknown sync or proposal. */
async function getProposal(ctx: RequestCtx, configId: string, proposalId: string) {
  const config = await findConfig(ctx, configId);
  const proposal = orNotFound(await findProposal(ctx, config.record_type, proposalId), 'Deletion proposal');
  return { config, proposal };
}

/** Throws 404 for an unknown sync or proposal, 400 when `after` is no id of the record type. */
export async function getDeletionProposal(
  ctx: RequestCtx,
  configId: string,
  proposalId: string,
  { after, limit }: RecordsQuery,
) {
  const { config, proposal } = await getProposal(ctx, configId, proposalId);
  const show = await findShowValue(ctx, config.record_type);
  const found = await listProposalRecords(
    ctx,
    config.record_type,
    proposalId,
    { after: after ?? null, limit: limit + 1 },
    show,
  );
  if (found === undefined) {
    const message = `${after} is not the id of a record. Send \`nextAfter\` of the previous response`;
    throw new AppError('BAD_REQUEST', 'The query parameter after is not valid', {
      details: [{ path: 'after', code: 'bad_id', message }],
    });
  }
  const records = found.slice(0, limit);
  return {
    ...proposalView(proposal, config.record_type),
    records: records.map(({ referencedBy, ...record }) => ({
      ...record,
      referencedBy: mayReadRecords(ctx) ? [...referencedBy] : [],
    })),
    nextAfter: found.length > limit ? (records.at(-1)?.id ?? null) : null,
  };
}

const closedMessages: Readonly<Partial<Record<ProposalStatus, string>>> = {
  kept: 'The configuration deletes nothing (`deletions` is `none`), so there is nothing to decide.',
};
const proposalClosed = (status: ProposalStatus) =>
  invalid('The deletion proposal is no longer open', [
    {
      path: 'proposalId',
      code: `proposal_${status}`,
      message:
        closedMessages[status] ?? `It is ${status}. The sync configuration names the open proposal, if any.`,
    },
  ]);

function assertRevision({ revision }: ProposalRow, reviewed: number | undefined): void {
  if (reviewed === undefined || reviewed === revision) return;
  throw invalid('The deletion proposal has changed in the meantime', [
    { path: 'revision', code: 'stale_revision', message: `The proposal is at revision ${revision}` },
  ]);
}

async function assertListed(ctx: RequestCtx, proposalId: string, ids: readonly string[]): Promise<void> {
  const unlisted = new Set(await filterUnlistedIds(ctx, proposalId, ids));
  const details = ids.flatMap((id, index) =>
    unlisted.has(id)
      ? [
          {
            path: `ids[${index}]`,
            code: 'not_in_proposal',
            message: 'The proposal does not list this record',
          },
        ]
      : [],
  );
  if (details.length > 0)
    throw invalid('The proposal does not list some of these records', details.slice(0, 100));
}

/**
 * Writes audit entry and run first and the approval last, so that a request that fails has approved nothing.
 * Throws 404 for an unknown sync or proposal, 422 when the proposal is closed or at another revision, or
 * doesn't list one of the ids.
 */
export async function approveDeletions(
  ctx: RequestCtx,
  configId: string,
  { proposalId, ids, revision }: DeletionApproval,
) {
  const { config, proposal } = await getProposal(ctx, configId, proposalId);
  if (!['open', 'approved', 'rejected'].includes(proposal.status)) throw proposalClosed(proposal.status);
  assertRevision(proposal, revision);
  if (ids !== undefined) await assertListed(ctx, proposalId, ids);
  const records = ids === undefined ? proposal.count : new Set(ids).size;
  return inTransaction(ctx, async (tx) => {
    const { record_type, mode } = config;
    // A run in progress may be past the step that reads approvals, so another run is queued.
    const run = await queueRun(tx, ctx.organizationId, { sync_config_id: configId, record_type, mode });
    await writeAudit(tx, ctx, 'sync-config.approve-deletions', ['sync-config', configId], {
      proposalId,
      records,
      ...(records < proposal.count && { ids: ids?.slice(0, 1000) }),
      runId: run.id,
    });
    if (!(await approveProposal(ctx, record_type, proposal, ids ?? null))) throw proposalClosed('superseded');
    return runView(ctx, run);
  });
}

/**
 * Writes the audit entry first and the rejection last. Repeated requests change nothing. Throws 404 for an
 * unknown sync or proposal, 422 when the proposal is closed or at another revision.
 */
export async function rejectDeletions(
  ctx: RequestCtx,
  configId: string,
  proposalId: string,
  { revision, reason }: DeletionRejection,
) {
  const { config, proposal } = await getProposal(ctx, configId, proposalId);
  if (proposal.status !== 'open' && proposal.status !== 'rejected') throw proposalClosed(proposal.status);
  if (proposal.status === 'open') {
    assertRevision(proposal, revision);
    await inTransaction(ctx, async (tx) => {
      await writeAudit(tx, ctx, 'sync-config.reject-deletions', ['sync-config', configId], {
        proposalId,
        records: proposal.count,
        ...(reason !== undefined && { reason }),
      });
      if (!(await rejectProposal(ctx, config.record_type, proposal))) throw proposalClosed('superseded');
    });
  }
  const { proposal: after } = await getProposal(ctx, configId, proposalId);
  return proposalView(after, config.record_type);
}
