// The steps of directed histories: exact edits, lying answers, and the requests before which they happen.
import type { Lie } from '../../faults/control.ts';
import type { Action, During } from '../../plan.ts';
import type { RecordTypeName } from '../../plan-names.ts';

type Table = 'customer' | 'item' | 'transaction';
type Values = Readonly<Record<string, string | number | null>>;
type Line = { readonly line: number; readonly fields: Values };

/** `touch`: which modification time becomes now, or a time. */
export const patch = (
  table: Table,
  id: number,
  body: { fields?: Values; lines?: readonly Line[]; touch: string },
): Action => ({
  do: 'write',
  method: 'PATCH',
  path: `/records/${table}/${id}`,
  body,
});
export const remove = (table: Table, id: number, listed: boolean): Action => ({
  do: 'write',
  method: 'DELETE',
  path: `/records/${table}/${id}?listed=${listed}`,
});
export const restore = (table: Table, id: number): Action => ({
  do: 'write',
  method: 'POST',
  path: `/records/${table}/${id}/restore`,
});

export const longAgo = '2011-07-20T09:00:00Z';
/** The account's first new id. */
export const newId = 90_000;
/** A record that appears with an old modification time. */
export const appear = (table: Table, like: number): readonly Action[] => [
  { do: 'write', method: 'POST', path: `/records/${table}`, body: { like: String(like) } },
  ...(table === 'transaction' ? [patch(table, newId, { touch: 'lines' })] : []),
  patch(table, newId, { touch: longAgo }),
];

export const minutes = (count: number): Action => ({ do: 'step-clock', minutes: count });
export const nextDay = minutes(24 * 60);

type Told = Omit<Lie, 'on'> & { readonly on: Lie['on'] };
/** For this round. */
export const lie = (recordType: RecordTypeName, told: Told): Action => ({
  do: 'lie',
  recordType,
  rounds: 1,
  lie: told,
});
/** One answer lacks a record. */
export const missOnce = (recordType: RecordTypeName, table: Table, id: number): Action =>
  lie(recordType, { on: { table, kind: 'rows' }, dropRows: { where: { id } }, times: 1 });
/** No list and no count has the record, although it lives. */
export const unseen = (recordType: RecordTypeName, table: Table, id: number): readonly Action[] => [
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
