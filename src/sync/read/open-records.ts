// Compares the records whose volatile fields may change without a new modification time: those that are open,
// and those that were closed recently, because what closed them may still be laid out differently. Records
// that differ are read again. All others are left to the daily scan.
import { type OpenWhen, scannedFields } from '../../connectors/connector.ts';
import type { RecordColumn } from '../../warehouse/columns.ts';
import { listOpenIds, type OpenCondition, readLocalByIds } from '../../warehouse/local-records.ts';
import { publishedColumns } from '../../warehouse/merge-rows.ts';
import type { RunState } from '../../warehouse/run-state-row.ts';
import { quoteIdentifier } from '../../warehouse/table.ts';
import { addFacts, type RunReadContext, rereadByIds, saveStep } from '../stage/read-context.ts';
import { columnsToCompare, differsFromErp, fieldsToScan } from './differs-from-erp.ts';

const recordsPerRequest = 1_000;
const dayMs = 86_400_000;

const findColumn = ({ columns }: RunState, name: string | null | undefined, type?: RecordColumn['type']) =>
  columns.find(
    ({ field, part, state, type: columnType }) =>
      field === name && part === 'value' && state === 'live' && (type === undefined || columnType === type),
  );
const sqlName = ({ column }: RecordColumn): string => `t.${quoteIdentifier(column)}`;

function openSql(state: RunState, openWhen: Exclude<OpenWhen, null>): string {
  if (openWhen === 'always') return 'true';
  const column = findColumn(state, openWhen.field);
  if (column === undefined) return 'true';
  const name = sqlName(column);
  const isNumber = column.type === 'number' || column.type === 'integer';
  return `(${name} is null or ${isNumber ? `${name} <> all($4::numeric[])` : `${name}::text <> all($4::text[])`})`;
}

/** By the day on which the record was closed; where that is empty or not stored, by its modification time. */
function recentlyClosedSql(
  { recordType: { modifiedField } }: RunReadContext,
  state: RunState,
  openWhen: Exclude<OpenWhen, null>,
): string {
  if (openWhen === 'always') return 'false';
  const [closed, modified] = [
    findColumn(state, openWhen.closedOn, 'date'),
    findColumn(state, modifiedField, 'time'),
  ];
  const byTime =
    modified === undefined ? 'false' : `${sqlName(modified)} >= ($6::date)::timestamp at time zone 'UTC'`;
  if (closed === undefined) return byTime;
  return `(${sqlName(closed)} >= $6::date or (${sqlName(closed)} is null and ${byTime}))`;
}

/** Null when no record can be open, or when no field changes without a new modification time. */
function findOpenCondition(reading: RunReadContext, state: RunState): OpenCondition | null {
  const { ctx, recordType, prepared } = reading;
  const wanted = new Set(prepared.fields);
  const { openWhen } = recordType;
  if (
    openWhen === null ||
    !recordType.fields.some(({ name, volatile, syncable }) => volatile && syncable && wanted.has(name))
  )
    return null;
  const today = state.plan.today ?? state.counters.erpStartedAt.slice(0, 10);
  const { recentlyClosedDays } = ctx.settings.sync;
  return {
    open: openSql(state, openWhen),
    recentlyClosed: recentlyClosedDays === 0 ? 'false' : recentlyClosedSql(reading, state, openWhen),
    values: openWhen === 'always' ? [] : openWhen.isNoneOf,
    closedSince: new Date(Date.parse(today) - recentlyClosedDays * dayMs).toISOString().slice(0, 10),
  };
}

const hasVolatileLines = ({ recordType, prepared }: RunReadContext): boolean =>
  recordType.fields.some(
    ({ name, type, volatile }) => type === 'lines' && volatile && prepared.fields.includes(name),
  );

type Comparison = { readonly fields: readonly string[]; readonly differing: readonly string[] };

/** The ids whose record differs from the stored one. Absent records are left to the deletion steps. */
async function findDiffering(
  reading: RunReadContext,
  state: RunState,
  ids: readonly string[],
): Promise<Comparison> {
  const { connector, recordType, prepared, signal } = reading;
  const volatile = new Set(scannedFields(recordType).map(({ name }) => name));
  const fields = fieldsToScan(recordType, prepared.fields).filter(
    (name) => volatile.has(name) || name === recordType.modifiedField,
  );
  const columns = columnsToCompare(publishedColumns(state), fields);
  if (ids.length === 0) return { fields: [], differing: [] };
  const page = await connector.scan({ recordType, fields, ids, signal });
  signal.throwIfAborted();
  const local = new Map(
    (await readLocalByIds(reading, state, columns, ids)).map((record) => [record.id, record.cells]),
  );
  const changed = page.records.filter((record) =>
    differsFromErp(record, columns, local.get(record.id) ?? []),
  );
  const differing = [...changed, ...page.rejected].map(({ id }) => id).filter((id) => local.has(id));
  return { fields: [...new Set(columns.map(({ field }) => field))], differing };
}

/**
 * Compares the next open and recently closed records. Where lines are volatile, open records are read
 * completely instead. Throws what the connector and `stageRunPage` throw.
 */
export async function readOpen(reading: RunReadContext, state: RunState): Promise<RunState> {
  const condition = findOpenCondition(reading, state);
  const records = condition === null ? [] : await listOpenIds(reading, state, condition, recordsPerRequest);
  const lastId = records.at(-1)?.id;
  if (lastId === undefined) return saveStep(reading, state, { plan: { step: 'rolling' } });
  const rereadsOpen = hasVolatileLines(reading);
  const toRead = records.filter(({ open }) => open && rereadsOpen).map(({ id }) => id);
  const toCompare = records.filter(({ open }) => !open || !rereadsOpen).map(({ id }) => id);
  const { fields, differing } = await findDiffering(reading, state, toCompare);
  const { state: read } = await rereadByIds(reading, state, [...toRead, ...differing], null);
  const facts = addFacts(read, 'open', {
    checked: records.length,
    closed: records.filter(({ open }) => !open).length,
    closedSince: condition?.closedSince ?? null,
    read: toRead.length + differing.length,
    whole: toRead.length,
    ...(fields.length > 0 && { fields }),
  });
  return saveStep(reading, read, { lastId, plan: facts });
}
