// Which stored records name a record that is absent in the ERP: what other records still name isn't gone.
// Looked up before a run is published, and only for absences that neither the ERP's deletion feed nor an
// approval confirms.
import { listReferencedIds } from '../../warehouse/deletion-proposals.ts';
import { listUnconfirmedAbsentIds } from '../../warehouse/deletions.ts';
import { queryLocal } from '../../warehouse/local-view.ts';
import { type RunState, usesFreshTable } from '../../warehouse/run-state-row.ts';
import type { Reference } from '../../warehouse/staging.ts';
import { quoteIdentifier } from '../../warehouse/table.ts';
import { listReferenceFields, type ReferenceField } from '../account/record-types.store.ts';
import { type RunReadContext, saveStep } from '../stage/read-context.ts';

/** A column that names records of the run's type. */
type Source = ReferenceField & { readonly table: string; readonly column: string };

type ColumnRow = { record_type: string; active_table: string; column_name: string; field: string };

async function listSources({ ctx, prepared: { schema }, recordType }: RunReadContext): Promise<Source[]> {
  const wanted = await listReferenceFields(ctx, recordType.name);
  if (wanted.length === 0) return [];
  const { rows } = await ctx.db.data.query<ColumnRow>(
    `select s.record_type, s.active_table, c.column_name, c.field from ${schema}.record_state s
     join ${schema}.record_columns c on c.record_type = s.record_type and c.part in ('value', 'lines') and c.state <> 'replaced'
     where s.active_table is not null and s.record_type = any($1)`,
    [[...new Set(wanted.map((source) => source.recordType))]],
  );
  return wanted.flatMap(({ recordType: type, field, lineField }) =>
    rows
      .filter((row) => row.record_type === type && row.field === field)
      .map((row) => ({
        recordType: type,
        table: row.active_table,
        column: row.column_name,
        field,
        lineField,
      })),
  );
}

/**
 * SQL for the rows that name others. Of the run's own record type these are the rows as they will be: those
 * that the run read, and the stored ones that it neither read nor found absent. $2 is the run's id, and `is
 * not null` keeps that parameter used.
 */
function rowsSql(
  { prepared: { schema } }: RunReadContext,
  state: RunState,
  { recordType, table, column }: Source,
): string {
  const name = quoteIdentifier(column);
  const stored = `${schema}.${quoteIdentifier(table)}`;
  if (recordType !== state.recordType)
    return `(select t.${name} as named from ${stored} t where $2::uuid is not null)`;
  const ofRun = usesFreshTable(state) ? '' : 'and s.run_id = $2';
  const target = `${schema}.${quoteIdentifier(state.targetTable)}`;
  return `(select s.${name} as named from ${target} s where $2::uuid is not null ${ofRun}
    union all select t.${name} from ${stored} t where not exists (select from ${target} s where s.id = t.id ${ofRun})
      and not exists (select from ${schema}.staged_deletions d where d.run_id = $2 and d.id = t.id::text))`;
}

const countSql = (rows: string, lineField: string | null): string =>
  lineField === null
    ? `select r.named::text as id, count(*) as count from ${rows} r where r.named::text = any($1::text[]) group by 1`
    : `select l.id, count(*) as count from ${rows} r cross join lateral (select distinct e ->> $3 as id
         from jsonb_array_elements(case when jsonb_typeof(r.named) = 'array' then r.named else '[]'::jsonb end) e) l
       where l.id = any($1::text[]) group by 1`;

/**
 * How often stored records name each of the ids; ids that none names are missing in the result. Rejects with
 * database errors.
 */
async function findReferences(reading: RunReadContext, state: RunState, ids: readonly string[]) {
  const found = new Map<string, Reference[]>();
  for (const source of await listSources(reading)) {
    const { recordType, field, lineField } = source;
    const values = [ids, state.runId, ...(lineField === null ? [] : [lineField])];
    const sql = countSql(rowsSql(reading, state, source), lineField);
    const rows = await queryLocal<{ id: string; count: string }>(reading, sql, values);
    for (const { id, count } of rows) {
      const reference = {
        recordType,
        field: lineField === null ? field : `${field}.${lineField}`,
        count: Number(count),
      };
      found.set(id, [...(found.get(id) ?? []), reference]);
    }
  }
  return found;
}

/**
 * Stores with the run which unconfirmed absent records are still named. Throws what `stageRunPage` throws,
 * and database errors.
 */
export async function markReferenced(reading: RunReadContext, state: RunState): Promise<RunState> {
  const ids = await listUnconfirmedAbsentIds(reading, state);
  if (ids.length === 0) return state;
  const references = await findReferences(reading, state, ids);
  const absent = [...references].map(([id, referencedBy]) => ({
    id,
    proof: 'absent' as const,
    referencedBy,
  }));
  return absent.length === 0 ? state : saveStep(reading, state, { absent });
}

/**
 * Whether records were held back because others named them, and nothing names some of them any more. Rejects
 * with database errors.
 */
export async function hasReleasedRecords(reading: RunReadContext, state: RunState): Promise<boolean> {
  if (reading.config.deletions === 'none') return false;
  const ids = await listReferencedIds(reading, state);
  if (ids.length === 0) return false;
  const references = await findReferences(reading, state, ids);
  return ids.some((id) => !references.has(id));
}
