// Approves deletions that were held back for a person to confirm. A run then carries them out, checking each record in the ERP again
// before deleting it.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { approveProposal, findOpenRun, findProposal, findSyncConfig, insertRun } from '../../sync/index.ts';
import { runView } from './run-view.ts';

const proposalClosed = (status: string) =>
  invalid('The deletion proposal is no longer open', [
    { path: 'proposalId', code: `proposal_${status}`, message: `It is ${status}. The sync configuration names the open proposal, if any.` },
  ]);

/**
 * Writes audit entry and run first and the approval last, so that a request that fails has approved nothing. Throws 404 for an unknown
 * sync or proposal, 422 when the proposal is no longer open.
 */
export const approveDeletions = (ctx: RequestCtx, configId: string, proposalId: string) =>
  inTransaction(ctx, async (tx) => {
    const config = await findSyncConfig(tx, ctx.organizationId, configId);
    if (config === undefined) throw notFound('Sync configuration');
    const proposal = await findProposal(ctx, config.record_type, proposalId);
    if (proposal === undefined || proposal.status === 'kept') throw notFound('Deletion proposal');
    if (proposal.status !== 'open' && proposal.status !== 'approved') throw proposalClosed(proposal.status);
    const { record_type, mode } = config;
    // A run in progress may be past the step that reads approvals, so another run is queued.
    const inserted = await insertRun(tx, ctx.organizationId, { sync_config_id: configId, record_type, mode, trigger: 'manual' });
    const run = inserted ?? (await findOpenRun(tx, ctx.organizationId, configId));
    if (run === undefined) throw new Error('a run was neither inserted nor found');
    await writeAudit(tx, ctx, {
      action: 'sync-config.approve-deletions',
      target: { type: 'sync-config', id: configId },
      changes: { proposalId, records: proposal.count, runId: run.id },
    });
    if (!(await approveProposal(ctx, record_type, proposalId))) throw proposalClosed('superseded');
    return runView(run);
  });
