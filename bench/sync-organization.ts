// An organization that syncs the bench's records, and its runs: queued as the service queues them, worked on by the engine's worker
// in this process or left to a worker elsewhere.
import type { Connector } from '../src/connectors/connector.ts';
import type { Ctx } from '../src/core/ctx.ts';
import { newId } from '../src/core/id.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { isFinal } from '../src/sync/run-state.ts';
import { claimRun, findRun, insertRun, type RunRow } from '../src/sync/runs.store.ts';
import { workOn } from '../src/sync/worker.ts';
import { readState } from '../src/warehouse/generation.ts';
import { type IndexSpec, rememberIndexes } from '../src/warehouse/indexes.ts';
import { createTenantSchema, tenantSchema } from '../src/warehouse/tenant-schema.ts';
import { newOrganization } from './organization.ts';
import { recordType } from './sync-rows.ts';

/** What a version needs that finds by number and customer, and shows the newest first. */
export const threeIndexes: readonly IndexSpec[] = [
  { method: 'btree', expression: '"f_tranid", id' },
  { method: 'btree', expression: '"f_entity", id' },
  { method: 'btree', expression: '"f_trandate" desc nulls last, id desc' },
];

export type Company = {
  readonly organizationId: string;
  readonly key: string;
  readonly schema: string;
  queue(mode: RunRow['mode']): Promise<string>;
  row(runId: string): Promise<RunRow>;
  /** The table that readers see. */
  table(): Promise<string>;
  /** Works on a run in this process until it has succeeded. */
  run(mode: RunRow['mode'], connector: Connector, watched?: Ctx): Promise<RunRow>;
  /** Waits until a worker elsewhere has brought the run to its end. */
  ended(runId: string, withinMs: number): Promise<RunRow>;
};

const assertSucceeded = (row: RunRow): RunRow => {
  if (row.status !== 'succeeded') throw new Error(`a run ended ${row.status}: ${JSON.stringify(row.error)}`);
  return row;
};

/** Gives the id of its configuration. */
async function setUp(ctx: Ctx, organizationId: string, indexes: readonly IndexSpec[]): Promise<string> {
  const schema = tenantSchema(organizationId);
  const configId = newId();
  await createTenantSchema(ctx, organizationId);
  await rememberIndexes(ctx.db.control, schema, recordType.name, indexes);
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

export async function openCompany(ctx: Ctx, indexes = threeIndexes): Promise<Company> {
  const { id: organizationId, key } = await newOrganization(ctx);
  const tenant = { db: ctx.db, organizationId };
  const schema = tenantSchema(organizationId);
  const configId = await setUp(ctx, organizationId, indexes);
  const row = async (runId: string): Promise<RunRow> => {
    const found = await inTransaction(tenant, (tx) => findRun(tx, organizationId, runId));
    if (found === undefined) throw new Error('the run is gone');
    return found;
  };
  const queue = async (mode: RunRow['mode']): Promise<string> => {
    const made = await inTransaction(tenant, (tx) =>
      insertRun(tx, organizationId, { sync_config_id: configId, record_type: recordType.name, mode, trigger: 'manual' }),
    );
    if (made === undefined) throw new Error('a run is queued already');
    return made.id;
  };
  return {
    organizationId,
    key,
    schema,
    queue,
    row,
    table: async () => `${schema}."${(await readState(ctx.db.data, schema, recordType.name))?.activeTable}"`,
    async run(mode, connector, watched = ctx) {
      const id = await queue(mode);
      const lease = await claimRun(ctx, 'bench', ctx.settings.sync.leaseMs);
      if (lease?.runId !== id) throw new Error('another run was claimed');
      await workOn(watched, lease, new AbortController().signal, async () => connector);
      return assertSucceeded(await row(id));
    },
    async ended(runId, withinMs) {
      const endMs = performance.now() + withinMs;
      for (;;) {
        const found = await row(runId);
        if (isFinal(found.status)) return assertSucceeded(found);
        if (performance.now() > endMs) throw new Error(`the run is ${found.status} after ${withinMs} ms: ${JSON.stringify(found.error)}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  };
}
