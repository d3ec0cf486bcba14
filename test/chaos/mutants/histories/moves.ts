// The steps of directed histories: exact edits, lying answers, and the requests before which they happen.
import { getTable } from '../../books.ts';
import type { Lie } from '../../faults/control.ts';
import type { Action, During } from '../../plan.ts';
import type { RecordTypeName } from '../../plan-names.ts';

type Values = Readonly<Record<string, string | number | boolean | null>>;
type Line = { readonly line: number; readonly fields: Values };
type Write = Extract<Action, { do: 'write' }>;

export const write = (method: Write['method'], path: string, body?: Write['body']): Action => ({
  ...{ do: 'write', method, path },
  ...(body !== undefined && { body }),
});
/** `touch`: which modification time becomes now, or a time. */
export const patch = (
  table: string,
  id: number | string,
  body: { fields?: Values; lines?: readonly Line[]; touch: string },
): Action => write('PATCH', `/records/${table}/${id}`, body);
export const change = (table: string, id: string, fields: Values, touch = 'header'): Action =>
  patch(table, id, { fields, touch });
/** A line with a new modification time of its own. */
export const touched = (id: string, line: number, fields: Values): Action =>
  patch('transaction', id, { lines: [{ line, fields }], touch: 'lines' });
export const remove = (table: string, id: number, listed: boolean): Action =>
  write('DELETE', `/records/${table}/${id}?listed=${listed}`);
export const restore = (table: string, id: number): Action =>
  write('POST', `/records/${table}/${id}/restore`);

export const longAgo = '2011-07-20T09:00:00Z';
/** The account's first new id. */
export const newId = 90_000;
/** A record that appears with an old modification time. */
export const appear = (table: string, like: number): readonly Action[] => [
  write('POST', `/records/${table}`, { like: String(like) }),
  ...(table === 'transaction' ? [patch(table, newId, { touch: 'lines' })] : []),
  patch(table, newId, { touch: longAgo }),
];

export const step = (minutes: number): Action => ({ do: 'step-clock', minutes });
export const nextDay = step(24 * 60);

/** For this round. */
export const lie = (recordType: RecordTypeName, told: Lie): Action => ({
  ...{ do: 'lie', recordType, rounds: 1, lie: told },
});
/** The next lists lack these rows. */
export const drop = (
  recordType: RecordTypeName,
  where: Values,
  times: number,
  table: string = getTable(recordType),
): Action => lie(recordType, { on: { table, kind: 'rows' }, times, dropRows: { where } });
/** One answer lacks a record. */
export const missOnce = (recordType: RecordTypeName, table: string, id: number): Action =>
  drop(recordType, { id }, 1, table);
/**
 * Answers leave a column out, of every row or of those whose id is a multiple of `every`; it may be named as
 * stale meanwhile.
 */
export const empty = (
  recordType: RecordTypeName,
  column: string,
  { every, times, rounds = 1 }: { every?: number; times?: number; rounds?: number } = {},
): Action => ({
  ...{ do: 'lie', recordType, rounds, names: [column] },
  lie: {
    on: { table: getTable(recordType), kind: 'rows' },
    nullColumn: every === undefined ? column : { column, every },
    ...(times !== undefined && { times }),
  },
});
/** No list and no count has the record, although it lives. */
export const unseen = (recordType: RecordTypeName, table: string, id: number): readonly Action[] => [
  lie(recordType, { on: { table, kind: 'rows' }, dropRows: { where: { id } } }),
  lie(recordType, { on: { table, kind: 'count' }, dropRows: { where: { id } } }),
];
/** The list of deletions still has what was just restored. */
export const staleDeletions = (recordType: RecordTypeName): Action =>
  lie(recordType, { on: { table: 'deletedrecord', kind: 'rows' }, stalePage: true, times: 1 });

/** Before the n-th request that contains this text. */
export const at = (asking: string, afterRequests: number, action: Action): During => ({
  asking,
  afterRequests,
  action,
});

/** What requests about invoices contain. */
export const asks = {
  clock: '/serverTime',
  /** The number of records. */
  count: 'COUNT(*) AS n FROM transaction t',
  /** Whole records: a page of a full run. */
  page: `AS custbody_sales_channel FROM transaction t WHERE t.type = 'CustInvc' ORDER BY`,
  /** Whole records by id; the ids follow. */
  byIds: `AS custbody_sales_channel FROM transaction t WHERE t.type = 'CustInvc' AND t.id IN (`,
  /** Of a run with nothing to read in full, the first page of its scan. */
  scan: `FROM transaction t WHERE t.type = 'CustInvc' ORDER BY`,
  /** Ids, to see whether the records exist; the ids follow. */
  existing: `AS lastmodifieddate FROM transaction t WHERE t.type = 'CustInvc' AND t.id IN (`,
  deletions: 'FROM deletedrecord',
  lines: 'AS custcol_lot_number FROM transactionline',
} as const;
