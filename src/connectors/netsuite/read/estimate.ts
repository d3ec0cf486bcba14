// Estimates how many requests reading all records of a type takes, from NetSuite's own counts and the sizes
// of pages in records.ts and lines.ts. Pages that end early because of very large texts aren't foreseen.
import type { Connector } from '../../connector.ts';
import type { ReadEstimate } from '../../discovery.ts';
import { inconsistentResponse, rethrowHiddenLines } from '../requests/errors.ts';
import { maxRowsPerQuery, type Suiteql } from '../requests/suiteql.ts';
import { countQuery, sizeKeys, sizeQuery } from '../types/queries.ts';
import { pageLimit, planRead } from '../types/read-plan.ts';
import { firstChunkSize, targetLinesPerQuery } from './lines.ts';
import { maxLinesPerPage } from './records.ts';

/**
 * Lines differ from record to record: of a query for as many as fit into one response, this share needs a
 * second one. Measured.
 */
const overflowingShare = 0.25;

/** `withLines`: how many of the records have lines. */
type LineCounts = { readonly lines: number; readonly withLines: number };

function estimate(records: number, counts: LineCounts | null, limit: number): ReadEstimate {
  if (counts === null || records === 0) {
    const pages = Math.max(1, Math.ceil(records / limit));
    return { records, pages, requests: pages };
  }
  const perRecord = counts.lines / records;
  const pages = Math.ceil(records / Math.min(limit, Math.ceil(maxLinesPerPage / Math.max(1, perRecord))));
  const perPage = records / pages;
  const queriesFor = (some: number, rowsPerQuery: number): number =>
    some <= 0 ? 0 : Math.max(1, Math.ceil((some * perRecord) / rowsPerQuery));
  const forLines =
    queriesFor(Math.min(perPage, firstChunkSize), maxRowsPerQuery) +
    queriesFor(perPage - firstChunkSize, targetLinesPerQuery / (1 + overflowingShare));
  // The modification times of records without lines, or with lines in two responses, are requested once more.
  const confirming = counts.withLines < records || forLines > 2 ? 1 : 0;
  return { records, pages, requests: Math.ceil(pages * (1 + forLines + confirming)) };
}

/** One request. Rejects as `Connector.estimateRead` says. */
export async function estimateRead(
  suiteql: Suiteql,
  { recordType, fields, limit, signal }: Parameters<NonNullable<Connector['estimateRead']>>[0],
): Promise<ReadEstimate> {
  const { definition, lines } = planRead(recordType, fields);
  const query = lines === null ? countQuery(definition) : sizeQuery(definition, lines.definition);
  const counted = suiteql.query(query, 1, signal);
  const { rows } = await (lines === null ? counted : counted.catch(rethrowHiddenLines));
  const getCount = (key: string): number => {
    const count = rows[0]?.[key];
    if (rows.length !== 1 || typeof count !== 'string' || !/^\d{1,15}$/.test(count))
      throw inconsistentResponse('The response to a count of records and lines is not a number');
    return Number(count);
  };
  const ofLines =
    lines === null ? null : { lines: getCount(sizeKeys.lines), withLines: getCount(sizeKeys.withLines) };
  return estimate(getCount(sizeKeys.records), ofLines, pageLimit(limit));
}
