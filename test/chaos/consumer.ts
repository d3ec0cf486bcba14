// A client that follows a record type by its change numbers, (generation, id), in small pages, while everything else continues: the
// changes that it got, applied in order, must equal the table in the end.
import type { Pool } from 'pg';
import { sqlState } from '../../src/db/pg-errors.ts';
import { readRecordColumns } from '../../src/warehouse/columns.ts';
import { readRecordState, type ShownColumns } from '../../src/warehouse/record-state.ts';
import { quoteIdentifier } from '../../src/warehouse/table.ts';
import { cellsSql, type View } from './warehouse-view.ts';

type Change = { readonly id: string; readonly generation: string; readonly gone: boolean; readonly cells: readonly (string | null)[] };
type Place = { readonly generation: string; readonly id: string };
export type Consumer = {
  /** Requests the next page, one at a time; returns the number of changes. */
  poll(): Promise<number>;
  changes(): number;
  /** Describes what is wrong with the changes of what versions show; `shown` null: of everything. */
  problems(view: View, shown: ShownColumns | null): string[];
};

/** The part of a cell that versions show: null for a column of which they show nothing. */
function shownCell(column: string, cell: string | null, shown: ShownColumns | null): string | null {
  if (shown === null) return cell;
  const entries = Object.values(shown)
    .flat()
    .filter((entry) => entry.column === column);
  if (entries.length === 0 || cell === null) return null;
  if (entries.some(({ lineFields }) => lineFields === undefined)) return cell;
  const fields = new Set(entries.flatMap(({ lineFields = [] }) => lineFields));
  const lines = JSON.parse(cell) as Record<string, unknown>[];
  return JSON.stringify(lines.map((line) => [...fields].map((name) => line[name] ?? null)));
}

const pageSize = 40;

/** The next changes, in the order of their numbers, and the columns that they have. */
async function readAfter(pool: Pool, schema: string, recordType: string, last: Place): Promise<{ changes: Change[]; names: string[] }> {
  const state = await readRecordState(pool, schema, recordType);
  if (state === undefined || state.activeTable === null) return { changes: [], names: [] };
  const columns = await readRecordColumns(pool, schema, recordType);
  const { rows } = await pool.query<Change & { active: string }>(
    `select c.*, s.active_table as active from ${schema}.record_state s, lateral (
       select id, generation::text as generation, false as gone, ${cellsSql(columns)} from ${schema}.${quoteIdentifier(state.activeTable)}
       where (generation, id) > ($1::bigint, $2::bigint)
       union all
       select id::bigint, generation::text, true, '{}'::text[] from ${schema}.tombstones
       where record_type = $3 and (generation, id::bigint) > ($1::bigint, $2::bigint)) c
     where s.record_type = $3 order by c.generation::bigint, c.id limit ${pageSize}`,
    [last.generation, last.id, recordType],
  );
  // Another table went live in between: what was read is void.
  if (rows.some(({ active }) => active !== state.activeTable)) return { changes: [], names: [] };
  return { changes: rows, names: columns.map(({ column }) => column) };
}

export function openConsumer(pool: Pool, schema: string, recordType: string): Consumer {
  const held = new Map<string, { cells: readonly (string | null)[]; columns: readonly string[] }>();
  const outOfOrder: string[] = [];
  let last: Place = { generation: '0', id: '-1' };
  let count = 0;
  let asked: Promise<unknown> = Promise.resolve();

  const readNext = async (): Promise<number> => {
    const { changes, names } = await readAfter(pool, schema, recordType, last).catch((error: unknown) => {
      // Not set up yet, a column was added in between, or the server is unavailable: next time.
      if (sqlState(error) === undefined && !(error instanceof Error && /^(Connection terminated|Client has)/.test(error.message)))
        throw error;
      return { changes: [], names: [] };
    });
    for (const { id, generation, gone, cells } of changes) {
      const isAfter = BigInt(generation) > BigInt(last.generation) || (generation === last.generation && BigInt(id) > BigInt(last.id));
      if (!isAfter) outOfOrder.push(`${recordType}: change (${generation}, ${id}) came after (${last.generation}, ${last.id})`);
      last = { generation, id };
      if (gone) held.delete(id);
      else held.set(id, { cells, columns: names });
    }
    count += changes.length;
    return changes.length;
  };

  return {
    poll() {
      const next = asked.then(readNext);
      asked = next.catch(() => undefined);
      return next;
    },
    changes: () => count,
    problems(view, shown) {
      const found = [...outOfOrder];
      for (const id of held.keys()) if (!view.rows.has(id)) found.push(`${recordType} ${id} was deleted without a change for the consumer`);
      for (const [id, row] of view.rows) {
        const known = held.get(id);
        if (known === undefined) found.push(`${recordType} ${id} was created without a change for the consumer`);
        const differs = view.columns.some(({ column }, index) => {
          const at = known?.columns.indexOf(column) ?? -1;
          const before = at === -1 ? null : (known?.cells[at] ?? null);
          return known !== undefined && shownCell(column, before, shown) !== shownCell(column, row.cells[index] ?? null, shown);
        });
        if (differs) found.push(`${recordType} ${id} changed without a change for the consumer`);
      }
      return found.slice(0, 5);
    },
  };
}
