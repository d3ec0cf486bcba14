// Reads records: the page of headers, then all of their lines, put together only when both are complete. It decides which
// rows become records, which are rejected with a reason, and when an answer as a whole can't be trusted.
import type { Page, RejectedRecord, SourceRecord } from '../connector.ts';
import { inconsistent } from './errors.ts';
import { type LineSet, readLines } from './lines.ts';
import { modifiedColumn, recordsQuery, type Selection } from './queries.ts';
import type { ReadPlan } from './read-plan.ts';
import { checkOrder, readColumns } from './rows.ts';
import { largestPage, type Row, type Suiteql } from './suiteql.ts';
import { isIdText } from './values.ts';

/** How often a document that is being edited while it is read is read again before it is rejected. */
const mostRereads = 3;

type Header = { readonly id: string; readonly record: Omit<SourceRecord, 'lines'> | RejectedRecord };
type Headers = { readonly headers: readonly Header[]; readonly hasMore: boolean };

export async function readRecords(
  suiteql: Suiteql,
  plan: ReadPlan,
  selection: Selection,
  limit: number,
  signal: AbortSignal,
): Promise<Page> {
  const { headers, hasMore } = await readHeaders(suiteql, plan, selection, limit, signal);
  const lastId = headers.map(({ id }) => id).findLast(isIdText) ?? null;
  if (hasMore && lastId === null) throw inconsistent('No row of the page has an id to go on from');
  const rejected = headers.flatMap(({ record }) => (isRejected(record) ? [record] : []));
  const readable = headers.flatMap(({ record }) => (isRejected(record) ? [] : [record]));
  if (plan.lines === null) return { records: readable.map((record) => ({ ...record, lines: null })), rejected, lastId, hasMore };
  const complete = await addLines(suiteql, plan, readable, signal);
  return { records: complete.records, rejected: [...rejected, ...complete.rejected], lastId, hasMore };
}

const isRejected = (record: Header['record']): record is RejectedRecord => 'code' in record;

async function readHeaders(suiteql: Suiteql, plan: ReadPlan, selection: Selection, limit: number, signal: AbortSignal): Promise<Headers> {
  const { rows, hasMore } = await suiteql.ask(recordsQuery(plan.definition, plan.columns, selection), limit, signal);
  checkOrder(rows, selection);
  return { headers: rows.map((row) => readHeader(row, plan.columns)), hasMore };
}

function readHeader(row: Row, columns: ReadPlan['columns']): Header {
  const id = String(row.get('id'));
  if (typeof row.get('id') !== 'string' || !isIdText(id))
    return { id: '', record: { id, code: 'ID_NOT_INTEGER', message: 'The id is not an integer' } };
  const read = readColumns(row, columns);
  if ('problem' in read) return { id, record: { id, code: 'VALUE_UNREADABLE', message: read.problem } };
  return { id, record: { id, modifiedAt: read.values[modifiedColumn] ?? null, values: read.values, labels: read.labels } };
}

type Complete = { readonly records: readonly SourceRecord[]; readonly rejected: readonly RejectedRecord[] };

/**
 * Headers and lines come from two queries. Each line says when its record was last changed as of its own query; where that
 * differs from the header's, the document was edited in between and is read again, header and lines.
 */
async function addLines(
  suiteql: Suiteql,
  plan: ReadPlan,
  headers: readonly Omit<SourceRecord, 'lines'>[],
  signal: AbortSignal,
): Promise<Complete> {
  const records = new Map<string, SourceRecord>();
  const rejected: RejectedRecord[] = [];
  let open = headers;
  for (let round = 0; open.length > 0; round += 1) {
    const sets = await readLines(
      suiteql,
      plan,
      open.map(({ id }) => id),
      signal,
    );
    const edited = open.filter((header) => isEdited(header, sets.get(header.id)));
    for (const header of open) {
      const set = sets.get(header.id);
      if (edited.includes(header)) continue;
      if (set?.problem != null) rejected.push({ id: header.id, code: 'LINE_UNREADABLE', message: set.problem });
      else records.set(header.id, { ...header, lines: set?.lines ?? [] });
    }
    if (edited.length === 0) break;
    if (round === mostRereads) {
      rejected.push(
        ...edited.map(({ id }) => ({ id, code: 'CHANGED_WHILE_READ', message: 'The record was changed each time it was read' })),
      );
      break;
    }
    const again = await readHeaders(suiteql, plan, { ids: edited.map(({ id }) => id) }, largestPage, signal);
    rejected.push(...again.headers.flatMap(({ record }) => (isRejected(record) ? [record] : [])));
    open = again.headers.flatMap(({ record }) => (isRejected(record) ? [] : [record]));
  }
  return { records: headers.flatMap(({ id }) => records.get(id) ?? []), rejected };
}

const isEdited = (header: Omit<SourceRecord, 'lines'>, set: LineSet | undefined): boolean =>
  set !== undefined && set.parentModified.some((modified) => modified !== header.modifiedAt);
