// Schema drift: fields that the ERP added, removed or retyped, whichever of them the configuration syncs. A
// run compares the fields with those that the last run saw, under a lock and in the transaction that stores
// the new ones, so each change is detected once. The outbox then delivers it to `drift_events` under its id,
// so it also arrives once.
import type { FieldMetadata, RecordTypeMetadata } from '../../connectors/connector.ts';
import type { TenantCtx } from '../../core/ctx.ts';
import { createId } from '../../core/id.ts';
import { inDataTransaction, inTransaction } from '../../db/transaction.ts';
import { orIfNotSetUp } from '../../warehouse/record-state.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import { insertRunEvent } from '../queue/run-events.store.ts';
import { isFinal, type RunStatus } from '../queue/run-state.ts';

/** Field types by field name; a field of lines is named `<lines field>.<name>`. */
export type FieldTypes = Readonly<Record<string, string>>;
export type Drift = {
  readonly kind: 'added' | 'vanished' | 'retyped';
  readonly field: string;
  readonly from: string | null;
  readonly to: string | null;
};

const listTypes = (fields: readonly FieldMetadata[], prefix = ''): [string, string][] =>
  fields
    .filter(({ syncable }) => syncable)
    .flatMap(({ name, type, fields: inner = [] }) => [
      [`${prefix}${name}`, type],
      ...listTypes(inner, `${prefix}${name}.`),
    ]);

export const toFieldTypes = ({ fields }: Pick<RecordTypeMetadata, 'fields'>): FieldTypes =>
  Object.fromEntries(listTypes(fields));

/**
 * Sorted by field name. A field of lines that comes or goes together with the lines themselves is not listed
 * separately. Pure.
 */
export function diffFieldTypes(before: FieldTypes, after: FieldTypes): Drift[] {
  const [old, current] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const found = [...new Set([...old.keys(), ...current.keys()])].sort().flatMap((field): Drift[] => {
    const [from, to] = [old.get(field) ?? null, current.get(field) ?? null];
    // What earlier versions called a multiple select.
    if (from === to || (from === 'list' && to === 'multiselect')) return [];
    return [{ kind: from === null ? 'added' : to === null ? 'vanished' : 'retyped', field, from, to }];
  });
  const kinds = new Map(found.map(({ field, kind }) => [field, kind]));
  return found.filter(({ field, kind }) => {
    const whole = field.split('.')[0] ?? '';
    return whole === field || kinds.get(whole) !== kind;
  });
}

/** Stores the fields as they are now, and their changes in the outbox. Writes nothing without a change. */
export async function recordDrift(
  ctx: TenantCtx,
  schema: string,
  runId: string,
  recordType: RecordTypeMetadata,
): Promise<void> {
  const now = toFieldTypes(recordType);
  const wanted = JSON.stringify(now);
  const read = `select erp_fields as before, erp_fields is not distinct from $2::jsonb as same from ${schema}.record_state where record_type = $1`;
  type Row = { before: FieldTypes | null; same: boolean };
  const known = await ctx.db.data.query<Row>(read, [recordType.name, wanted]);
  if (known.rows[0]?.same === true) return;
  await inDataTransaction(ctx.db.data, async (client) => {
    const { rows } = await client.query<Row>(`${read} for update`, [recordType.name, wanted]);
    if (rows[0] === undefined || rows[0].same) return;
    const drift = rows[0].before === null ? [] : diffFieldTypes(rows[0].before, now);
    const entries = drift.map((change) => ({ id: createId(), ...change }));
    await client.query(
      `insert into ${schema}.drift_outbox (id, record_type, kind, field, from_type, to_type, run_id)
       select d.id, $1, d.kind, d.field, d."from", d."to", $2
       from jsonb_to_recordset($3::jsonb) as d(id uuid, kind text, field text, "from" text, "to" text)`,
      [recordType.name, runId, JSON.stringify(entries)],
    );
    await client.query(`update ${schema}.record_state set erp_fields = $2 where record_type = $1`, [
      recordType.name,
      wanted,
    ]);
  });
}

type OutboxRow = {
  id: string;
  record_type: string;
  kind: Drift['kind'];
  field: string;
  from_type: string | null;
  to_type: string | null;
  run_id: string;
  at: string;
};

async function readOutbox(ctx: TenantCtx, recordType: string | null): Promise<OutboxRow[]> {
  return orIfNotSetUp([], async () => {
    const { rows } = await ctx.db.data.query<OutboxRow>(
      `select id, record_type, kind, field, from_type, to_type, run_id, at::text as at from ${tenantSchema(ctx.organizationId)}.drift_outbox
       where $1::text is null or record_type = $1 order by at, id`,
      [recordType],
    );
    return rows;
  });
}

const listFields = (rows: readonly OutboxRow[], kind: Drift['kind']): string[] =>
  rows.filter((row) => row.kind === kind).map(({ field }) => field);

/** Inserts the rows, and an event of the run that detected them, unless an earlier attempt already did. */
async function deliver(ctx: TenantCtx, runId: string, rows: readonly OutboxRow[]): Promise<void> {
  await inTransaction(ctx, async (tx) => {
    const run = await tx('sync_runs')
      .where({ organization_id: ctx.organizationId, id: runId })
      .forNoKeyUpdate()
      .first<{ status: RunStatus } | undefined>('status');
    const added = await tx('drift_events')
      .insert(rows.map((row) => ({ ...row, organization_id: ctx.organizationId })))
      .onConflict('id')
      .ignore()
      .returning<{ id: string }[]>('id');
    if (added.length === 0 || run === undefined || isFinal(run.status)) return;
    await insertRunEvent(tx, ctx.organizationId, runId, {
      level: 'warning',
      message: 'the fields of the record type changed in the ERP',
      data: {
        added: listFields(rows, 'added'),
        vanished: listFields(rows, 'vanished'),
        retyped: listFields(rows, 'retyped'),
      },
    });
  });
}

/**
 * Moves drift from the outbox in the tenant's schema to `drift_events`, where operators see it; `recordType`
 * null moves that of all record types. Idempotent: may be repeated after any crash.
 */
export async function reportDrift(ctx: TenantCtx, recordType: string | null): Promise<void> {
  const rows = await readOutbox(ctx, recordType);
  for (const [runId, ofRun] of Map.groupBy(rows, ({ run_id }) => run_id)) {
    await deliver(ctx, runId, ofRun);
    await ctx.db.data.query(
      `delete from ${tenantSchema(ctx.organizationId)}.drift_outbox where id = any($1::uuid[])`,
      [ofRun.map(({ id }) => id)],
    );
  }
}
