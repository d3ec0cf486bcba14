// A person's word on deletions that were held back: it is written down, and a run carries it out, asking the ERP for each record
// again before it goes.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { approveProposal, findConfig, findOpenRun, findProposal, insertRun } from '../../sync/index.ts';
import { runView } from './syncs.service.ts';

const settled = (status: string) =>
  invalid('The proposal is no longer open', [
    { path: 'proposalId', code: `proposal_${status}`, message: `It is ${status}; the sync names the open one, if there is one` },
  ]);

/** Audit row and run are written with the approval, which comes last: a request that fails before it has approved nothing. */
export const approveDeletions = (ctx: RequestCtx, configId: string, proposalId: string) =>
  inTransaction(ctx, async (tx) => {
    const config = await findConfig(tx, ctx.organizationId, configId);
    if (config === undefined) throw notFound('Sync configuration');
    const proposal = await findProposal(ctx, config.record_type, proposalId);
    if (proposal === undefined || proposal.status === 'kept') throw notFound('Deletion proposal');
    if (proposal.status !== 'open' && proposal.status !== 'approved') throw settled(proposal.status);
    const { record_type, mode } = config;
    // A run that is under way may be past the point where it looks for approvals, so another one follows it.
    const made = await insertRun(tx, ctx.organizationId, { sync_config_id: configId, record_type, mode, trigger: 'manual' });
    const run = made ?? (await findOpenRun(tx, ctx.organizationId, configId));
    if (run === undefined) throw new Error('a run was neither made nor found');
    await writeAudit(tx, ctx, {
      action: 'sync-config.approve-deletions',
      target: { type: 'sync-config', id: configId },
      changes: { proposalId, records: proposal.count, runId: run.id },
    });
    if (!(await approveProposal(ctx, record_type, proposalId))) throw settled('superseded');
    return runView(run);
  });
