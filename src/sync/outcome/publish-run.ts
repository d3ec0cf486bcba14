// The second half of a run: staged data becomes visible in one transaction of the tenant's schema; then the
// outcome is copied to the queue. Both are idempotent, and are repeated after a crash in between.
import type { TenantCtx } from '../../core/ctx.ts';
import { inDataTransaction, inTransaction } from '../../db/transaction.ts';
import {
  buildIndexes,
  dropIndexesRefusingRow,
  type IndexSpec,
  listWantedIndexes,
} from '../../warehouse/indexes.ts';
import { publishRun } from '../../warehouse/publish.ts';
import { readRecordState } from '../../warehouse/record-state.ts';
import {
  LostLease,
  type PublishOutcome,
  type RunState,
  readRunState,
  usesFreshTable,
} from '../../warehouse/run-state-row.ts';
import { dropRetiredTables, quoteIdentifier } from '../../warehouse/table.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import { announceRecords } from '../../webhooks/index.ts';
import type { HeldRecords } from '../alerts/alert-mail.ts';
import { recordFreshness } from '../alerts/freshness.ts';
import { recordSyncHealth } from '../alerts/health.ts';
import { listProposalRecords, type ShowValue } from '../deletions/deletion-proposals.ts';
import { reportDrift } from '../fields/drift.ts';
import { listMaskedSources } from '../fields/masked-sources.ts';
import { logStep } from '../queue/log-step.ts';
import { deleteRereads } from '../queue/rereads.store.ts';
import { ProofFailed } from '../queue/retry.ts';
import { writeRunEvent } from '../queue/run-events.store.ts';
import {
  findRun,
  type Lease,
  moveRun,
  type RunRow,
  type SyncConfigRow,
  setPausedReason,
} from '../queue/runs.store.ts';
import { buildWantedIndexes } from './index-jobs.ts';
import { findPartialReason, healthAfter } from './partial-reasons.ts';

const tryPublish = (ctx: TenantCtx, config: SyncConfigRow, schema: string, state: RunState) => {
  const rules = {
    deletions: config.deletions,
    maxDeleteShare: Number(config.max_delete_share),
    settleMs: ctx.settings.sync.settleMs,
  };
  return inDataTransaction(ctx.db.data, (client) =>
    publishRun(client, schema, state, rules, (counts, rows) => {
      if (
        rows < 0 ||
        counts.inserted + counts.updated + counts.unchanged !== counts.fetched - state.counters.rejected
      ) {
        throw new ProofFailed(
          'PUBLISHED_MISMATCH',
          `The run staged ${counts.fetched - state.counters.rejected} records and would publish ${counts.inserted + counts.updated + counts.unchanged}`,
          "Nothing was published. Run the sync again; if it fails again, check the service's log.",
        );
      }
    }),
  );
};

/** Drops the indexes that a value is too long for; false when the publish failed for another reason. */
async function dropOversizedIndexes(ctx: TenantCtx, schema: string, state: RunState, error: unknown) {
  const active = (await readRecordState(ctx.db.data, schema, state.recordType))?.activeTable;
  if (active === undefined || active === null) return false;
  // A fresh table takes over rows of the old table, whose values may be too long for the new indexes.
  const [table, source] = usesFreshTable(state)
    ? [state.targetTable, { table: active, runId: null }]
    : [active, { table: state.targetTable, runId: state.runId }];
  const dropped = await dropIndexesRefusingRow(ctx.db.control, schema, table, source, error);
  if (dropped.length === 0) return false;
  await writeRunEvent(
    ctx,
    state.runId,
    'warning',
    'dropped an index because a value is too long for it; filters on that field are slower',
    { indexes: dropped },
  );
  return true;
}

/**
 * Collects only the statistics that the planner needs at once: for a table that goes live, its indexed
 * columns, the only ones that versions filter and sort by; for staged rows, the columns of the comparison.
 * Autovacuum soon analyzes the rest, because an ANALYZE of single columns doesn't reset its counters.
 */
async function analyze(ctx: TenantCtx, schema: string, state: RunState, indexes: readonly IndexSpec[]) {
  const names = state.columns.map(({ column }) => quoteIdentifier(column));
  const indexed = names.filter((name) => indexes.some(({ expression }) => expression.includes(name)));
  const columns = usesFreshTable(state) ? ['id', ...indexed] : ['run_id', 'id', 'content_hash'];
  await ctx.db.control.raw(`analyze ${schema}.${quoteIdentifier(state.targetTable)} (${columns.join(', ')})`);
}

/**
 * Publishes what the run staged. Repeats after dropping indexes that a value is too long for; each time there
 * are fewer. Throws `ProofFailed` `PUBLISHED_MISMATCH` when the staged and the published counts differ, and
 * `LostLease` when a newer lease holds the run.
 */
export async function publishStagedRun(
  ctx: TenantCtx,
  config: SyncConfigRow,
  state: RunState,
): Promise<PublishOutcome> {
  const schema = tenantSchema(ctx.organizationId);
  const indexes = await listWantedIndexes(ctx.db.control, schema, state.recordType);
  if (usesFreshTable(state)) await buildIndexes(ctx.db.control, schema, state.targetTable, indexes, false);
  await analyze(ctx, schema, state, indexes);
  for (;;) {
    try {
      return await tryPublish(ctx, config, schema, state);
    } catch (error) {
      if (!(await dropOversizedIndexes(ctx, schema, state, error))) throw error;
    }
  }
}

const maxShownInMail = 20;
/** A number that may be a name, because it has spaces or no digit, is replaced by the id. */
const isPlainNumber = (number: string | null): number is string =>
  number !== null && /^[^\s@]*\d[^\s@]*$/.test(number);

async function describeHeld(
  ctx: TenantCtx,
  recordType: string,
  { heldDeletions, proposalId }: PublishOutcome,
): Promise<HeldRecords | null> {
  if (heldDeletions === 0 || proposalId === null || proposalId === undefined) return null;
  const masked = await inTransaction(ctx, (tx) => listMaskedSources(tx, ctx.organizationId, recordType));
  const show: ShowValue = (source, text) => (masked.has(source) ? 'null' : text);
  const records =
    (await listProposalRecords(ctx, recordType, proposalId, { after: null, limit: maxShownInMail }, show)) ??
    [];
  return {
    proposalId,
    count: heldDeletions,
    shown: records.map(({ id, number }) => (isPlainNumber(number) ? number : id)),
  };
}

/**
 * Call it in the transaction that stores the outcome: a failover from then on loses that as well. Throws an
 * Error when one lost the publish.
 */
async function assertStillPublished(ctx: TenantCtx, runId: string): Promise<void> {
  const state = await readRunState(ctx.db.data, tenantSchema(ctx.organizationId), runId);
  if ((state?.outcome ?? null) === null)
    throw new Error('a failover of the database lost what the run had published');
}

/**
 * Copies the outcome from the tenant's schema to the run's row in the queue, and ends a pause of the
 * configuration: the sync works again. Throws `LostLease` when a newer lease holds the run, and an Error,
 * after which the run publishes again, when a failover lost the publish.
 */
export async function copyOutcome(ctx: TenantCtx, lease: Lease, row: RunRow, outcome: PublishOutcome) {
  const { counts, generation, heldDeletions, proposalId, stale = {} } = outcome;
  const staleFields = Object.keys(stale);
  const problem = findPartialReason(outcome);
  const held = await describeHeld(ctx, row.record_type, outcome);
  const event = {
    level: outcome.status === 'succeeded' ? 'info' : 'warning',
    message: problem === null ? `run ${outcome.status}` : `run ${outcome.status}: ${problem.message}`,
    data: {
      ...counts,
      generation,
      ...(heldDeletions > 0 && { heldDeletions, proposalId }),
      ...(staleFields.length > 0 && { staleFields }),
    },
  } as const;
  const health = healthAfter(outcome);
  const change = { counts, generation, error: problem, staged: false, event };
  const moved = await moveRun(ctx, lease, outcome.status, change, async (tx) => {
    await assertStillPublished(ctx, lease.runId);
    await setPausedReason(tx, ctx.organizationId, row.sync_config_id, null);
    await recordFreshness(tx, ctx, row.sync_config_id);
    await deleteRereads(tx, lease.runId);
    const mode = (await findRun(tx, ctx.organizationId, lease.runId))?.mode;
    // A few records that could be read don't show that the sync has recovered.
    if (mode !== 'reread' || health !== 'green')
      await recordSyncHealth(tx, ctx, row.sync_config_id, { health, problem, runId: lease.runId, held });
    await announceRecords(tx, ctx.organizationId);
  });
  if (!moved) throw new LostLease('a newer lease holds the run');
  logStep(ctx, 'outcome', { status: outcome.status, ...(problem !== null && { code: problem.code }) });
}

/**
 * Work that may be postponed, and whose failure is logged but does not fail the run: building indexes that
 * were published meanwhile, dropping retired tables, reporting drift.
 */
export async function cleanUpAfterRun(ctx: TenantCtx, fresh: RunState | null): Promise<void> {
  const schema = tenantSchema(ctx.organizationId);
  try {
    if (fresh !== null) await buildWantedIndexes(ctx, fresh.recordType, () => Promise.resolve());
    await dropRetiredTables(ctx.db.control, schema, ctx.settings.sync.dropAfterMs);
    await reportDrift(ctx, null);
  } catch (error) {
    ctx.log.warn({ err: error }, 'could not clean up after a run; the next run tries again');
  }
}
