// The second half of a run: what is staged becomes visible in one transaction of the tenant's schema; then the outcome is copied
// to the queue. Both may be repeated, and are, after a crash in between.
import type { TenantCtx } from '../core/ctx.ts';
import { inDataTransaction } from '../db/transaction.ts';
import { readState } from '../warehouse/generation.ts';
import { buildIndexes, dropRefusingIndexes, type IndexSpec, wantedIndexes } from '../warehouse/indexes.ts';
import { publishRun } from '../warehouse/publish.ts';
import { isFresh, LostLease, type PublishOutcome, type RunState } from '../warehouse/run-row.ts';
import { dropRetiredTables, quoted } from '../warehouse/table.ts';
import { tenantSchema } from '../warehouse/tenant-schema.ts';
import { tellDrift } from './drift.ts';
import { noteHealth } from './health.ts';
import { buildWantedIndexes } from './index-jobs.ts';
import { ProofFailed } from './retry.ts';
import { writeRunEvent } from './run-events.store.ts';
import { type ConfigRow, type Lease, moveRun, pauseConfig, type RunRow } from './runs.store.ts';
import { logStep } from './steps.ts';

const publishOnce = (ctx: TenantCtx, config: ConfigRow, schema: string, state: RunState): Promise<PublishOutcome> => {
  const rules = {
    deletions: config.deletions,
    maxDeleteShare: Number(config.max_delete_share),
    settleMs: ctx.settings.sync.settleMs,
  };
  return inDataTransaction(ctx.db.data, (client) =>
    publishRun(client, schema, state, rules, (counts, rows) => {
      if (rows < 0 || counts.inserted + counts.updated + counts.unchanged !== counts.fetched - state.counters.rejected) {
        throw new ProofFailed(
          'PUBLISHED_MISMATCH',
          'What was staged and what would be published differ',
          "Nothing was changed here; run the sync again and see the service's log.",
        );
      }
    }),
  );
};

/** Drops the index that a value is too long for; false when the publish failed for another reason. */
async function makeWay(ctx: TenantCtx, schema: string, state: RunState, error: unknown): Promise<boolean> {
  const active = (await readState(ctx.db.data, schema, state.recordType))?.activeTable;
  if (active === undefined || active === null) return false;
  // A fresh table takes rows over from the old one, which may be too long for the indexes that it was given.
  const [table, source] = isFresh(state)
    ? [state.targetTable, { table: active, runId: null }]
    : [active, { table: state.targetTable, runId: state.runId }];
  const dropped = await dropRefusingIndexes(ctx.db.control, schema, table, source, error);
  if (dropped.length === 0) return false;
  await writeRunEvent(ctx, state.runId, 'warning', 'an index was dropped: a value is too long for it; filters on that field are slower', {
    indexes: dropped,
  });
  return true;
}

/**
 * What the planner must know at once: of a table that goes live, the columns of its indexes, by which alone versions filter and sort;
 * of staged rows, what they are compared by. All else autovacuum looks at soon, as this doesn't count as having looked.
 */
async function analyze(ctx: TenantCtx, schema: string, state: RunState, indexes: readonly IndexSpec[]): Promise<void> {
  const names = state.columns.map(({ column }) => quoted(column));
  const indexed = names.filter((name) => indexes.some(({ expression }) => expression.includes(name)));
  const columns = isFresh(state) ? ['id', ...indexed] : ['run_id', 'id', 'content_hash'];
  await ctx.db.control.raw(`analyze ${schema}.${quoted(state.targetTable)} (${columns.join(', ')})`);
}

/** Repeats after an index made way; each time there is one less. */
export async function publish(ctx: TenantCtx, config: ConfigRow, state: RunState): Promise<PublishOutcome> {
  const schema = tenantSchema(ctx.organizationId);
  const indexes = await wantedIndexes(ctx.db.control, schema, state.recordType);
  if (isFresh(state)) await buildIndexes(ctx.db.control, schema, state.targetTable, indexes, false);
  await analyze(ctx, schema, state, indexes);
  for (;;) {
    try {
      return await publishOnce(ctx, config, schema, state);
    } catch (error) {
      if (!(await makeWay(ctx, schema, state, error))) throw error;
    }
  }
}

const heldError = (held: number, proposalId: string | null) => ({
  code: 'DELETIONS_HELD',
  message: `${held} records are absent in the ERP and are not removed without a person's word`,
  fix: 'Check in the ERP whether they were deleted or are hidden from the integration role. If the deletions are meant, approve the proposal: POST /sync-configs/{id}/approve-deletions.',
  ...(proposalId !== null && { proposalId }),
});
const rejectedError = (count: number) => ({
  code: 'RECORDS_REJECTED',
  message: `${count} records could not be stored as they are; their last good version stays served`,
  fix: "See the run's rejections for the reasons and correct the records in the ERP; every run reads them again.",
});

function errorOf({ heldDeletions, proposalId, counts }: PublishOutcome) {
  if (heldDeletions > 0) return heldError(heldDeletions, proposalId ?? null);
  return counts.rejected > 0 ? rejectedError(counts.rejected) : null;
}

/** Copies what the tenant's schema says into the queue. Records came through, so a pause has no reason any more. */
export async function copyOutcome(ctx: TenantCtx, lease: Lease, row: RunRow, outcome: PublishOutcome): Promise<void> {
  const { counts, generation, heldDeletions, proposalId } = outcome;
  const event = {
    level: outcome.status === 'succeeded' ? 'info' : 'warning',
    message: `run ${outcome.status}`,
    data: { ...counts, generation, ...(heldDeletions > 0 && { heldDeletions, proposalId }) },
  } as const;
  const problem = errorOf(outcome);
  const health = outcome.status === 'succeeded' ? 'green' : heldDeletions > 0 ? 'held' : 'unwell';
  const change = { counts, generation, error: problem, staged: false, event };
  const moved = await moveRun(ctx, lease, outcome.status, change, async (tx) => {
    await pauseConfig(tx, ctx.organizationId, row.sync_config_id, null);
    await noteHealth(tx, ctx, row.sync_config_id, { health, problem, runId: lease.runId });
  });
  if (!moved) throw new LostLease('a newer lease holds this run');
  logStep(ctx, 'outcome', { status: outcome.status, ...(problem !== null && { code: problem.code }) });
}

/** What may wait, and may fail without the run having failed: indexes published meanwhile, tables that nobody reads any more. */
export async function tidyUp(ctx: TenantCtx, fresh: RunState | null): Promise<void> {
  const schema = tenantSchema(ctx.organizationId);
  try {
    if (fresh !== null) await buildWantedIndexes(ctx, fresh.recordType, () => Promise.resolve());
    await dropRetiredTables(ctx.db.control, schema, ctx.settings.sync.dropAfterMs);
    await tellDrift(ctx, null);
  } catch (error) {
    ctx.log.warn({ err: error }, 'tidying up after a run waits for the next one');
  }
}
