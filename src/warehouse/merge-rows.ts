// Writes the staged rows of a run into the table that readers see. A row takes the run's generation, which
// orders the change feeds, only when a column changes that an API version shows; other changes are stored
// without it. Columns of fields whose stored values stay are not written. The caller holds the lock on the
// row of record_state, which keeps out other writers of this table.
import { escapeLiteral, type PoolClient } from 'pg';
import { isOutsideHash, type RecordColumn } from './columns.ts';
import type { ShownColumns } from './record-state.ts';
import type { RunState } from './run-state-row.ts';
import { quoteIdentifier } from './table.ts';

export type MergeContext = {
  readonly client: PoolClient;
  readonly schema: string;
  readonly state: RunState;
  readonly generation: string;
  /** When the rows changed, by the database's clock. */
  readonly now: string;
  /** The qualified, quoted names of the two tables. */
  readonly staging: string;
  readonly table: string;
  /** Null: every column counts as shown. */
  readonly shown: ShownColumns | null;
};

/** The name under which a field is in `RunPlan.stale`. */
const staleName = ({ part, field }: RecordColumn): string => (part === 'lines' ? 'lines' : field);

/** The columns that publishing writes: those of fields whose stored values stay are left out. */
export const publishedColumns = ({
  columns,
  plan,
}: Pick<RunState, 'columns' | 'plan'>): readonly RecordColumn[] =>
  columns.filter((column) => !Object.hasOwn(plan.stale, staleName(column)));

/** SQL for a content hash that no content has. */
export const noContentHash = "'\\x00000000000000000000000000000000'::bytea";

const withholdsColumns = (state: RunState): boolean => publishedColumns(state).length < state.columns.length;

/**
 * The content hash that a written row gets: one that no content has when columns were withheld, so that the
 * next read compares the row.
 */
const writtenHash = (state: RunState): string => (withholdsColumns(state) ? noContentHash : 's.content_hash');

/** Inserts the new rows, removes their tombstones, and returns their number. */
export async function insertNew({ client, schema, state, generation, now, staging, table }: MergeContext) {
  const names = publishedColumns(state).map(({ column }) => quoteIdentifier(column));
  const { rowCount } = await client.query(
    `insert into ${table} (${['id', 'generation', 'changed_at', 'content_hash', ...names].join(', ')})
     select s.id, $2, $3, ${writtenHash(state)}${names.map((name) => `, s.${name}`).join('')} from ${staging} s
     where s.run_id = $1 and not exists (select from ${table} t where t.id = s.id)`,
    [state.runId, generation, now],
  );
  await client.query(
    `delete from ${schema}.tombstones d using ${staging} s where d.record_type = $1 and s.run_id = $2 and d.id = s.id::text`,
    [state.recordType, state.runId],
  );
  return rowCount ?? 0;
}

type ShownLines = { readonly column: RecordColumn; readonly fields: readonly string[] };
type Parts = {
  /** Every change is visible in some version. */
  readonly whole: readonly RecordColumn[];
  /** Lines of which the versions show only some fields. */
  readonly lines: readonly ShownLines[];
  /** No version shows them, or not all of their line fields. */
  readonly hidden: readonly RecordColumn[];
};

/** Divides the columns that are written by what the versions show of them. */
function splitByVisibility(columns: readonly RecordColumn[], shown: ShownColumns | null): Parts {
  if (shown === null) return { whole: columns, lines: [], hidden: [] };
  const all = Object.values(shown).flat();
  const parts = columns.map((column) => {
    const entries = all.filter((entry) => entry.column === column.column);
    const fields = new Set(entries.flatMap(({ lineFields }) => lineFields ?? []));
    const known = column.lineFields ?? [];
    const isWhole =
      entries.some(({ lineFields }) => lineFields === undefined) ||
      known.every(({ name }) => fields.has(name));
    return {
      column,
      fields: [...fields],
      isShown: entries.length > 0,
      isWhole: entries.length > 0 && isWhole,
    };
  });
  return {
    whole: parts.filter(({ isWhole }) => isWhole).map(({ column }) => column),
    lines: parts.filter(({ isShown, isWhole }) => isShown && !isWhole),
    hidden: parts.filter(({ isWhole }) => !isWhole).map(({ column }) => column),
  };
}

/** SQL that is true when a row differs in one of these columns to the last digit: `1.0` is not `1.00`. */
export const differsSql = (columns: readonly RecordColumn[]): string => {
  const row = (alias: string) =>
    `row(${columns.map(({ column }) => `${alias}.${quoteIdentifier(column)}`).join(', ')})`;
  return `record_image_ne(${row('t')}, ${row('s')})`;
};

/** SQL that is true when lines differ in their number, their order or one of these fields. */
function linesDifferSql({ column, fields }: ShownLines): string {
  const name = quoteIdentifier(column.column);
  const members = fields.map((field) => `l -> ${escapeLiteral(field)}`).join(', ');
  const project = (alias: string) =>
    `(select coalesce(array_agg(jsonb_build_array(${members}) order by n), '{}') from jsonb_array_elements(${alias}.${name}) with ordinality as e(l, n))`;
  const nullDiffers = `(t.${name} is null) <> (s.${name} is null)`;
  return `(${differsSql([column])} and (${nullDiffers} or record_image_ne(row(${project('t')}), row(${project('s')}))))`;
}

/** SQL that is true when a row may differ. */
export const mayDifferSql = ({ columns }: Pick<RunState, 'columns'>): string =>
  columns.some(isOutsideHash) ? 'true' : 't.content_hash <> s.content_hash';

/** Writes the published columns of the rows that differ as `condition` says, and returns their number. */
async function updateWhere(
  { client, state, generation, now, staging, table }: MergeContext,
  condition: string,
  numbered: boolean,
) {
  const names = publishedColumns(state).map(({ column }) => quoteIdentifier(column));
  const assignments = [
    ...(numbered ? ['generation = $2', 'changed_at = $3'] : []),
    `content_hash = ${writtenHash(state)}`,
    ...names.map((name) => `${name} = s.${name}`),
  ];
  const { rowCount } = await client.query(
    `update ${table} t set ${assignments.join(', ')}
     from ${staging} s where s.run_id = $1 and t.id = s.id and ${mayDifferSql(state)} and (${condition})`,
    [state.runId, ...(numbered ? [generation, now] : [])],
  );
  return rowCount ?? 0;
}

/**
 * Updates the stored rows that differ from the staged ones, and returns the number of those of which a stored
 * column changed. `candidates` is the number of staged rows that the table had before. A row of which only
 * the hash differs, because the columns that are read changed, gets the new hash and counts as unchanged.
 */
export async function updateChanged(work: MergeContext, candidates: number): Promise<number> {
  const { client, state, staging, table, shown } = work;
  if (candidates === 0) return 0;
  const { whole, lines, hidden } = splitByVisibility(publishedColumns(state), shown);
  const shownDiffers = [...(whole.length > 0 ? [differsSql(whole)] : []), ...lines.map(linesDifferSql)];
  const numbered = shownDiffers.length === 0 ? 0 : await updateWhere(work, shownDiffers.join(' or '), true);
  // What is left differs only in columns that no version shows.
  const others =
    hidden.length === 0 || numbered === candidates ? 0 : await updateWhere(work, differsSql(hidden), false);
  const updated = numbered + others;
  if (updated < candidates && !withholdsColumns(state)) {
    await client.query(
      `update ${table} t set content_hash = s.content_hash from ${staging} s where s.run_id = $1 and t.id = s.id and t.content_hash <> s.content_hash`,
      [state.runId],
    );
  }
  return updated;
}
