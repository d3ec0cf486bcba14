// Actions that several histories are made of.
import { getTable } from '../../books.ts';
import type { Lie } from '../../faults/control.ts';
import type { Action } from '../../plan.ts';
import type { RecordTypeName } from '../../plan-names.ts';

type Fields = Readonly<Record<string, string | number | boolean | null>>;

export const step = (minutes: number): Action => ({ do: 'step-clock', minutes });

/** `touch`: which modification time moves, or what it becomes. */
export const change = (table: string, id: string, fields: Fields, touch = 'header'): Action => ({
  do: 'write',
  method: 'PATCH',
  path: `/records/${table}/${id}`,
  body: { fields, touch },
});

/** A line with a new modification time of its own. */
export const touched = (id: string, line: number, fields: Fields): Action => ({
  do: 'write',
  method: 'PATCH',
  path: `/records/transaction/${id}`,
  body: { lines: [{ line, fields }], touch: 'lines' },
});

/** The next lists lack these rows. */
export const drop = (
  recordType: RecordTypeName,
  where: Fields,
  times: number,
  table: string = getTable(recordType),
): Action => ({
  do: 'lie',
  recordType,
  rounds: 1,
  lie: { on: { table, kind: 'rows' }, times, dropRows: { where } } satisfies Lie,
});

/**
 * Answers leave a column out, of every row or of those whose id is a multiple of `every`; it may be named as
 * stale meanwhile.
 */
export const empty = (
  recordType: RecordTypeName,
  column: string,
  more: { every?: number; times?: number; rounds?: number } = {},
): Action => {
  const { every, times, rounds = 1 } = more;
  const nullColumn = every === undefined ? column : { column, every };
  const lie: Lie = {
    on: { table: getTable(recordType), kind: 'rows' },
    nullColumn,
    ...(times !== undefined && { times }),
  };
  return { do: 'lie', recordType, rounds, lie, names: [column] };
};
