// The lines of stored records, compared with the ERP's own totals: they find records of which only lines
// changed, by the lines' own modification times, and lines that earlier runs left wrong. Lines are summed in
// SQL, as exact numerics, and never loaded.
import { filterUnreadIds } from '../../warehouse/local-records.ts';
import { queryLocal } from '../../warehouse/local-view.ts';
import type { RunState } from '../../warehouse/run-state-row.ts';
import { quoteIdentifier } from '../../warehouse/table.ts';
import { isValidId } from '../../warehouse/validate-values.ts';
import { assertPageAdvances } from '../account/read-by-ids.ts';
import {
  type ComparableLines,
  type Compared,
  findComparableLines,
  isEqual,
  requestTotals,
} from '../prove/line-totals.ts';
import { passed } from '../prove/run-proof.ts';
import type { RunProofCheck } from '../queue/runs.store.ts';
import { addFacts, type RunReadContext, rereadByIds, saveStep } from '../stage/read-context.ts';
import { listChanges, proveListed, withRepeatedHour } from './listed-changes.ts';

const idsPerTotals = 1_000;

const comparable = ({ connector, recordType, prepared: { fields } }: RunReadContext, state: RunState) =>
  findComparableLines({ connector, recordType, fields }, state);

type StoredLines = { id: string; count: number; sums: string[]; modified: string | null; changed: number };

/** Selects what is compared of the stored lines of the ids $1. */
function storedLinesSql(
  { prepared: { schema, activeTable } }: RunReadContext,
  { plan: { idType } }: RunState,
  { column }: ComparableLines,
  { sums, modifiedField, changedSince }: Compared,
): string {
  const time = modifiedField === null ? null : `l.${quoteIdentifier(modifiedField)} collate "C"`;
  const named = [
    ...sums.map((name) => `${quoteIdentifier(name)} numeric`),
    ...(modifiedField === null ? [] : [`${quoteIdentifier(modifiedField)} text`]),
  ];
  // A record set reads each line once; without columns there is nothing to read but the number of lines.
  const source =
    named.length === 0
      ? 'jsonb_array_elements(t.lines) l'
      : `jsonb_to_recordset(t.lines) as l(${named.join(', ')})`;
  const sumsText = sums.map((name) => `coalesce(sum(l.${quoteIdentifier(name)}), 0)::text`).join(', ');
  return `select t.id::text as id, own.* from (select id, ${quoteIdentifier(column.column)} as lines
      from ${schema}.${quoteIdentifier(activeTable ?? '')} where id = any($1::${idType === 'integer' ? 'bigint' : 'text'}[])) t
    cross join lateral (select count(*)::integer as count, array[${sumsText}]::text[] as sums,
      ${time === null ? 'null::text' : `max(${time})`} as modified,
      ${time === null || changedSince === null ? '0' : `count(*) filter (where ${time} >= $2::text)::integer`} as changed from ${source}) own`;
}

/**
 * The ids among these whose stored lines differ from the ERP's totals; records that aren't stored are left
 * out. At most 1,000 ids, one request. With `changedSince`, the number of lines that changed since then is
 * compared as well. Rejects with the connector's errors.
 */
async function findStoredDiffering(
  reading: RunReadContext,
  state: RunState,
  lines: ComparableLines,
  ids: readonly string[],
  changedSince: Date | null,
): Promise<string[]> {
  if (ids.length === 0 || reading.prepared.activeTable === null) return [];
  const { totals, compared } = await requestTotals(reading, lines, ids, changedSince);
  const since = compared.changedSince;
  const sql = storedLinesSql(reading, state, lines, compared);
  const rows = await queryLocal<StoredLines>(reading, sql, since === null ? [ids] : [ids, since]);
  const differing = rows.filter(({ id, count, sums, modified, changed }) => {
    const numbers = (name: string): string[] => [sums[compared.sums.indexOf(name)] ?? '0'];
    return !isEqual({ count, numbers, modifiedAt: modified, changed }, totals.get(id), compared);
  });
  return differing.map(({ id }) => id);
}

/**
 * Reads the records again of which only lines changed since the run's `since`. Lists them page by page, by
 * the modification times of the lines, and reads only those whose stored lines differ from the ERP's totals.
 * Throws what the connector and `stageRunPage` throw.
 */
export async function readChangedLines(reading: RunReadContext, state: RunState): Promise<RunState> {
  const { recordType, signal } = reading;
  const { since, idType } = state.plan;
  const lines = comparable(reading, state);
  if (lines === null || recordType.linesModifiedField === null || since === null)
    return proveListed(reading, state);
  const list = listChanges(
    reading,
    state,
    ({ withChangedLines }) => withChangedLines,
    async (afterId) => {
      const request = { recordType, since: withRepeatedHour(since), afterId, limit: idsPerTotals, signal };
      const found = await lines.reader.listChanged(request);
      return { ...found, rows: found.ids.length, lastId: found.ids.at(-1) ?? null };
    },
  );
  const page = await list(state.checkpoint);
  signal.throwIfAborted();
  const { lastId } = page;
  assertPageAdvances(page, state.checkpoint);
  const ids = await filterUnreadIds(
    reading,
    state,
    page.ids.filter((id) => isValidId(id, idType)),
  );
  const differing = await findStoredDiffering(reading, state, lines, ids, withRepeatedHour(since));
  const { state: read } = await rereadByIds(reading, state, differing, null);
  const facts = addFacts(read, 'lines', { changed: ids.length, changedRead: differing.length });
  const listing = addFacts({ ...read, plan: { ...read.plan, ...facts } }, 'listing', {
    lineRows: page.ids.length,
  });
  if (page.hasMore) return saveStep(reading, read, { lastId, plan: listing });
  return proveListed(reading, { ...read, plan: { ...read.plan, ...listing } });
}

/**
 * The ids among these whose stored lines differ from the ERP's totals. For a scan: it finds lines that
 * earlier runs left wrong. At most 1,000 ids, none of them read by this run; makes no request for none.
 * Throws the connector's errors.
 */
export async function findWrongLines(
  reading: RunReadContext,
  state: RunState,
  ids: readonly string[],
): Promise<{ compared: number; wrong: string[] }> {
  const lines = comparable(reading, state);
  if (lines === null || ids.length === 0) return { compared: 0, wrong: [] };
  return { compared: ids.length, wrong: await findStoredDiffering(reading, state, lines, ids, null) };
}

/** The check `lines`: what was compared, no more. None without lines or without the ERP's totals. */
export function describeLineProof(reading: RunReadContext, state: RunState): RunProofCheck[] {
  if (comparable(reading, state) === null) return [];
  const {
    records = 0,
    reread = 0,
    compared = '',
    changed = 0,
    changedRead = 0,
    scanned = 0,
    scanRead = 0,
  } = state.plan.facts['lines'] ?? {};
  const parts = [
    Number(records) === 0
      ? 'No record was read, so no lines were compared with totals of the ERP'
      : `The lines of ${records} records that were read were compared with the ERP's own totals: ${compared}; ${reread} read again`,
    ...(Number(changed) === 0
      ? []
      : [
          `${changed} other records have lines that changed since ${state.plan.since}; ${changedRead} read again`,
        ]),
    ...(Number(scanned) === 0
      ? []
      : [
          `in the scan, the lines of ${scanned} stored records were compared likewise; ${scanRead} read again`,
        ]),
  ];
  const facts = { records, reread, compared, changed, changedRead, scanned, scanRead };
  return [passed('lines', parts.join('. '), facts)];
}
