// An organization that syncs the benchmark's records. Runs are queued as the service queues them and
// processed by the engine's worker, in this process or in another one.
import type { Connector } from '../src/connectors/connector.ts';
import type { Ctx } from '../src/core/ctx.ts';
import { createId } from '../src/core/id.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { isFinal } from '../src/sync/queue/run-state.ts';
import { claimRun, findRun, insertRun, type RunRow } from '../src/sync/queue/runs.store.ts';
import { workOnRun } from '../src/sync/run/worker.ts';
import { type IndexSpec, insertWantedIndexes } from '../src/warehouse/indexes.ts';
import { readRecordState } from '../src/warehouse/record-state.ts';
import { createTenantSchema, tenantSchema } from '../src/warehouse/tenant-schema.ts';
import { createBenchOrganization } from './organization.ts';
import { recordType } from './sync-records.ts';

/** The indexes of a version that filters by number and customer and sorts by newest first. */
export const threeIndexes: readonly IndexSpec[] = [
  { method: 'btree', expression: '"f_tranid", id' },
  { method: 'btree', expression: '"f_entity", id' },
  { method: 'btree', expression: '"f_trandate" desc nulls last, id desc' },
];

export type SyncOrganization = {
  readonly organizationId: string;
  readonly key: string;
  readonly schema: string;
  queueRun(mode: RunRow['mode']): Promise<string>;
  getRun(runId: string): Promise<RunRow>;
  /** The qualified name of the table that readers see. */
  activeTable(): Promise<string>;
  /** Queues a run and processes it in this process. Rejects unless it succeeds. */
  runToEnd(mode: RunRow['mode'], connector: Connector, watched?: Ctx): Promise<RunRow>;
  /**
   * Waits until a worker in another process has finished the run. Rejects unless it succeeds within
   * `timeoutMs`.
   */
  waitForSuccess(runId: string, timeoutMs: number): Promise<RunRow>;
};

const assertSucceeded = (row: RunRow): RunRow => {
  if (row.status !== 'succeeded') throw new Error(`A run ended ${row.status}: ${JSON.stringify(row.error)}`);
  return row;
};

/** Creates the tenant schema and a sync config; returns the config's id. */
async function createConfig(
  ctx: Ctx,
  organizationId: string,
  indexes: readonly IndexSpec[],
): Promise<string> {
  const schema = tenantSchema(organizationId);
  const configId = createId();
  await createTenantSchema(ctx, organizationId);
  await insertWantedIndexes(ctx.db.control, schema, recordType.name, indexes);
  await inTransaction({ db: ctx.db, organizationId }, (tx) =>
    tx('sync_configs').insert({
      id: configId,
      organization_id: organizationId,
      name: 'Bench',
      record_type: recordType.name,
      mode: 'incremental',
      timezone: 'UTC',
      deletions: 'reconcile',
    }),
  );
  return configId;
}

async function queueRun(
  tenant: Parameters<typeof inTransaction>[0],
  configId: string,
  mode: RunRow['mode'],
): Promise<string> {
  const run = await inTransaction(tenant, (tx) =>
    insertRun(tx, tenant.organizationId, {
      sync_config_id: configId,
      record_type: recordType.name,
      mode,
      trigger: 'manual',
    }),
  );
  if (run === undefined) throw new Error('A run is already queued');
  return run.id;
}

export async function createSyncOrganization(ctx: Ctx, indexes = threeIndexes): Promise<SyncOrganization> {
  const { id: organizationId, key } = await createBenchOrganization(ctx);
  const tenant = { db: ctx.db, organizationId };
  const schema = tenantSchema(organizationId);
  const configId = await createConfig(ctx, organizationId, indexes);
  const row = async (runId: string): Promise<RunRow> => {
    const found = await inTransaction(tenant, (tx) => findRun(tx, organizationId, runId));
    if (found === undefined) throw new Error(`Run ${runId} doesn't exist`);
    return found;
  };
  const queue = (mode: RunRow['mode']) => queueRun(tenant, configId, mode);
  return {
    organizationId,
    key,
    schema,
    queueRun: queue,
    getRun: row,
    activeTable: async () =>
      `${schema}."${(await readRecordState(ctx.db.data, schema, recordType.name))?.activeTable}"`,
    async runToEnd(mode, connector, watched = ctx) {
      const id = await queue(mode);
      const lease = await claimRun(ctx, 'bench', ctx.settings.sync.leaseMs);
      if (lease?.runId !== id) throw new Error('A different run was claimed');
      await workOnRun(watched, lease, new AbortController().signal, async () => connector);
      return assertSucceeded(await row(id));
    },
    async waitForSuccess(runId, timeoutMs) {
      const endMs = performance.now() + timeoutMs;
      for (;;) {
        const found = await row(runId);
        if (isFinal(found.status)) return assertSucceeded(found);
        if (performance.now() > endMs)
          throw new Error(
            `The run is still ${found.status} after ${timeoutMs} ms: ${JSON.stringify(found.error)}`,
          );
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  };
}
