// Gets the warehouse ready for a run: tables, columns and the place where its pages go. All DDL of a sync happens here, in
// transactions of its own, and only when something is new; a run on a settled record type issues none.
import type { FieldMetadata, RecordTypeMetadata } from '../connectors/connector.ts';
import type { TenantCtx } from '../core/ctx.ts';
import { inDataTransaction } from '../db/transaction.ts';
import { planColumns, type RecordColumn, readColumns } from '../warehouse/columns.ts';
import { readState } from '../warehouse/generation.ts';
import { type RunState, readRunState, startRunState, takeOverRunState } from '../warehouse/staging.ts';
import { applyColumnChanges, createRecordTable, createStagingTable, stagingTable } from '../warehouse/table.ts';
import { createTenantSchema, tenantSchema } from '../warehouse/tenant-schema.ts';
import type { Lease } from './runs.store.ts';

/** A full run that fills a new column rewrites every row: from this many rows on that is cheaper into a fresh table. */
const rewriteThreshold = 10_000;

export type PreparedRun = {
  readonly schema: string;
  readonly state: RunState;
  readonly fields: readonly string[];
  /** The generation that this run's changes will carry. */
  readonly generation: string;
};

const wantedFields = (recordType: RecordTypeMetadata, chosen: readonly string[] | null): readonly FieldMetadata[] =>
  recordType.fields.filter(({ name, syncable }) => syncable && name !== 'id' && (chosen === null || chosen.includes(name)));

const isCurrent = ({ state }: RecordColumn): boolean => state === 'live' || state === 'loading';

async function settleColumns(
  ctx: TenantCtx,
  schema: string,
  recordType: RecordTypeMetadata,
  fields: readonly FieldMetadata[],
  activeTable: string | null,
): Promise<RecordColumn[]> {
  const existing = await readColumns(ctx.db.data, schema, recordType.name);
  const changes = planColumns(existing, fields);
  const tables = [stagingTable(recordType.name), ...(activeTable === null ? [] : [activeTable])];
  await createOnControl(ctx, (client) => createStagingTable(client, schema, recordType.name, recordType.idType, existing));
  await applyColumnChanges(ctx.db.control, schema, recordType.name, tables, changes, existing.length);
  return (await readColumns(ctx.db.data, schema, recordType.name)).filter(isCurrent);
}

type Querier = Parameters<typeof createRecordTable>[0];
/** DDL goes through the control door, which reaches the node that may run it. */
async function createOnControl(ctx: TenantCtx, work: (client: Querier) => Promise<void>): Promise<void> {
  const connection: unknown = await ctx.db.control.client.acquireConnection();
  try {
    await work(connection as Querier);
  } finally {
    await ctx.db.control.client.releaseConnection(connection);
  }
}

async function freshTable(
  ctx: TenantCtx,
  schema: string,
  recordType: RecordTypeMetadata,
  columns: readonly RecordColumn[],
): Promise<string> {
  const { rows } = await ctx.db.control.raw<{ rows: { n: number }[] }>(
    `update ${schema}.record_state set next_table = next_table + 1 where record_type = ? returning next_table - 1 as n`,
    [recordType.name],
  );
  const table = `${recordType.name}_${rows[0]?.n ?? 1}`;
  await createOnControl(ctx, (client) => createRecordTable(client, schema, table, recordType.idType, columns));
  return table;
}

const sameColumns = (a: readonly RecordColumn[], b: readonly RecordColumn[]): boolean =>
  JSON.stringify(a.map(({ column, lineFields }) => [column, lineFields])) ===
  JSON.stringify(b.map(({ column, lineFields }) => [column, lineFields]));

/** Resumes at the checkpoint when the run began before and nothing about its columns changed; begins anew otherwise. */
export async function prepareRun(
  ctx: TenantCtx,
  lease: Lease,
  recordType: RecordTypeMetadata,
  chosen: readonly string[] | null,
  erpNow: () => Promise<Date>,
): Promise<PreparedRun> {
  const schema = tenantSchema(ctx.organizationId);
  await createTenantSchema(ctx, ctx.organizationId);
  await ctx.db.control.raw(`insert into ${schema}.record_state (record_type, id_type) values (?, ?) on conflict do nothing`, [
    recordType.name,
    recordType.idType,
  ]);
  const before = await readState(ctx.db.data, schema, recordType.name);
  if (before === undefined) throw new Error('the record state is missing');
  const fields = wantedFields(recordType, chosen);
  const columns = await settleColumns(ctx, schema, recordType, fields, before.activeTable);
  const names = fields.map(({ name }) => name);
  const generation = (BigInt(before.generation) + 1n).toString();
  const begun = await readRunState(ctx.db.data, schema, lease.runId);
  if (begun !== undefined && (begun.outcome !== null || sameColumns(begun.columns, columns))) {
    await inDataTransaction(ctx.db.data, (client) => takeOverRunState(client, schema, lease.runId, lease.epoch));
    return { schema, fields: names, generation, state: { ...begun, leaseEpoch: lease.epoch } };
  }
  const rewrites = before.activeTable === null || (before.rowCount >= rewriteThreshold && columns.some(({ state }) => state === 'loading'));
  const targetTable = rewrites ? await freshTable(ctx, schema, recordType, columns) : stagingTable(recordType.name);
  const state: RunState = {
    runId: lease.runId,
    recordType: recordType.name,
    leaseEpoch: lease.epoch,
    targetTable,
    columns,
    page: 0,
    checkpoint: null,
    complete: false,
    outcome: null,
    counters: { fetched: 0, rejected: 0, pages: 0, erpStartedAt: (await erpNow()).toISOString() },
  };
  await inDataTransaction(ctx.db.data, (client) => startRunState(client, schema, state));
  return { schema, fields: names, generation, state };
}
