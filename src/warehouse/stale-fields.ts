// Which fields of a record type are stale, and which of them an administrator accepted as missing: two
// columns of record_state, written only while its row is locked.
import type { PoolClient } from 'pg';
import { hasValueSql } from './emptied-columns.ts';
import { publishedColumns } from './merge-rows.ts';
import {
  type AcceptedField,
  type RecordState,
  rfc3339Sql,
  type StaleField,
  type StaleFields,
  type StalePlan,
} from './record-state.ts';
import type { RunState } from './run-state-row.ts';
import { quoteIdentifier, stagingTable } from './table.ts';

type Accepted = RecordState['acceptedFields'];
type Row = { stale: StaleFields; accepted: Accepted; synced_at: string | null; now: string };

async function lockFields(client: PoolClient, schema: string, recordType: string): Promise<Row | undefined> {
  const { rows } = await client.query<Row>(
    `select stale_fields as stale, accepted_fields as accepted, ${rfc3339Sql('synced_at')} as synced_at, ${rfc3339Sql('clock_timestamp()')} as now
     from ${schema}.record_state where record_type = $1 for update`,
    [recordType],
  );
  return rows[0];
}

const writeFields = (
  client: PoolClient,
  schema: string,
  recordType: string,
  stale: StaleFields,
  accepted: Accepted,
) =>
  client.query(
    `update ${schema}.record_state set stale_fields = $2, accepted_fields = $3 where record_type = $1`,
    [recordType, JSON.stringify(stale), JSON.stringify(accepted)],
  );

const without = <T>(fields: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

/** An acceptance of some fields of lines covers no others. */
export const isAccepted = (
  found: Pick<StaleField, 'reason' | 'lineFields'>,
  accepted: AcceptedField | undefined,
): boolean =>
  accepted !== undefined &&
  accepted.reason === found.reason &&
  (accepted.lineFields === undefined ||
    (found.lineFields?.every((name) => accepted.lineFields?.includes(name)) ?? false));

/** `since` and `syncedAt` stay for as long as the field is stale, whatever the reason. */
function mergeStaleField(
  found: StalePlan[string],
  before: StaleField | undefined,
  fresh: Pick<StaleField, 'since' | 'syncedAt'>,
): StaleField {
  if (before === undefined) return { ...fresh, ...found };
  const isSame =
    before.reason === found.reason && JSON.stringify(before.lineFields) === JSON.stringify(found.lineFields);
  return isSame
    ? { ...before, ...(found.ids !== undefined && { ids: found.ids }) }
    : { ...found, since: before.since, syncedAt: before.syncedAt };
}

/** Accepted empty fields that a record has a value of: any after a full run, else one that was read. */
async function findFilledAgain(
  client: PoolClient,
  schema: string,
  state: RunState,
  active: string,
  accepted: Accepted,
): Promise<string[]> {
  const isFull = state.plan.mode === 'full';
  const rows = isFull
    ? `${schema}.${quoteIdentifier(active)} t where $1::uuid is not null`
    : `${schema}.${quoteIdentifier(stagingTable(state.recordType))} t where t.run_id = $1`;
  const filled: string[] = [];
  for (const [field, { reason, lineFields }] of Object.entries(accepted)) {
    const columns = publishedColumns(state).filter(
      (column) => column.field === field && column.state !== 'replaced',
    );
    if (reason !== 'empty' || columns.length === 0) continue;
    const parts = columns.flatMap((column) =>
      (lineFields ?? [null]).map((lineField) => hasValueSql('t', { ...column, lineField })),
    );
    const found = await client.query(`select from ${rows} and (${parts.join(' or ')}) limit 1`, [
      state.runId,
    ]);
    if (found.rowCount === 1) filled.push(field);
  }
  return filled;
}

/**
 * Stores which fields are stale once the run is published, and ends the acceptance of fields that are filled
 * again. Returns the stale fields that are not accepted. Call it in the publishing transaction, after the
 * rows are written and before `synced_at` is.
 */
export async function writeStaleFields(
  client: PoolClient,
  schema: string,
  state: RunState,
  active: string,
): Promise<StalePlan> {
  const row = await lockFields(client, schema, state.recordType);
  if (row === undefined) return {};
  const { plan } = state;
  const open = Object.fromEntries(
    Object.entries(plan.stale).filter(
      // An acceptance as empty that came during the run counts from the next one on, which publishes it.
      ([field, found]) => found.reason === 'empty' || !isAccepted(found, row.accepted[field]),
    ),
  );
  const fresh = { since: row.now, syncedAt: row.synced_at };
  const stale = Object.fromEntries(
    Object.entries(open).map(([field, found]) => [field, mergeStaleField(found, row.stale[field], fresh)]),
  );
  const filled = await findFilledAgain(client, schema, state, active, row.accepted);
  const accepted = without(row.accepted, filled);
  // Other records may have values again without a new modification time: the next run is a full one.
  if (filled.length > 0 && plan.mode !== 'full')
    await client.query(
      `update ${schema}.record_columns set state = 'returned' where record_type = $1 and field = any($2) and state = 'live'`,
      [state.recordType, filled],
    );
  await writeFields(client, schema, state.recordType, stale, accepted);
  return open;
}

/** Ends the acceptance of these fields. */
export async function endAcceptances(
  client: PoolClient,
  schema: string,
  recordType: string,
  fields: readonly string[],
): Promise<void> {
  const row = await lockFields(client, schema, recordType);
  if (row !== undefined)
    await writeFields(client, schema, recordType, row.stale, without(row.accepted, fields));
}

/**
 * Accepts that these stale fields are missing: they are stale no longer. An unreadable one counts as
 * vanished; the next full run publishes that an empty one is empty, and the next run is full. Returns the
 * names of all stale fields, and changes nothing, when one of `fields` isn't among them; otherwise null.
 */
export async function acceptStaleFields(
  client: PoolClient,
  schema: string,
  recordType: string,
  fields: readonly string[],
): Promise<readonly string[] | null> {
  const row = await lockFields(client, schema, recordType);
  const stale = row?.stale ?? {};
  if (row === undefined || fields.some((field) => !Object.hasOwn(stale, field)))
    return Object.keys(stale).sort();
  const accepted = Object.entries(stale).flatMap(
    ([field, { since: _, syncedAt: __, message: ___, ...found }]) =>
      fields.includes(field) ? [[field, { at: row.now, ...found }] as const] : [],
  );
  await writeFields(client, schema, recordType, without(stale, fields), {
    ...row.accepted,
    ...Object.fromEntries(accepted),
  });
  await client.query(
    `update ${schema}.record_columns set state = case when state = 'stale' then 'vanished' else 'returned' end
     where record_type = $1 and field = any($2) and (state = 'stale' or state = 'live' and field = any($3))`,
    [recordType, fields, accepted.filter(([, { reason }]) => reason === 'empty').map(([field]) => field)],
  );
  return null;
}
