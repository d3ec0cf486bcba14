// Reads a page of a list with its exact total. Page and state come from one statement; a known total is used
// only if that statement saw the same generation, and otherwise the page is read again.
import type { AppError } from '../../../core/errors.ts';
import { megabyte } from '../../../core/settings/values.ts';
import { anchorKey, type BuiltAnchors, parseAnchors, spacingFor } from '../connection/anchors.ts';
import { isTooLarge } from '../connection/failures.ts';
import {
  cachedFreshness,
  currentFreshness,
  type Freshness,
  isSameData,
  type Reader,
  type ReadStates,
  type StateRow,
} from '../connection/reader.ts';
import { repeatWhileReplaced } from '../connection/repeat-while-replaced.ts';
import { withinTimeLimit } from '../connection/time-limit.ts';
import { totalKey } from '../connection/totals.ts';
import { relatedTypes } from '../plan/expand.ts';
import { testsLines } from '../plan/filters.ts';
import { skipsRecords } from '../plan/order-index.ts';
import { type ListPlan, selectsAll } from '../plan/plan.ts';
import {
  anchoredRanges,
  boundedRanges,
  emptyRanges,
  firstRow,
  listReaches,
  type Range,
  type Reach,
  rowsOnPage,
  sortedRanges,
} from '../plan/ranges.ts';
import { parameterError, parameterProblem } from '../plan/request.ts';
import { anchorsStatement, largeListStatement, listStatement, type TableRef } from '../sql/list-sql.ts';
import { type RecordsText, readPieces, readRow } from './rows.ts';
import { assertScopesFresh } from './stale-fields.ts';

export type ListRead = ReadStates & { readonly records: RecordsText; readonly total: number };

type ListRow = StateRow & { records: string; found: number; total?: string };
/** `fitting`: how many of the `found` records an answer may have; there are none when these are fewer. */
type Page = Omit<ListRead, 'total'> & { readonly found: number; readonly fitting: number };
type PageRead = Page & { readonly total: string | undefined };

/** Rejects with 503 as `readRow` does. */
async function readPage(
  reader: Reader,
  plan: ListPlan,
  ranges: readonly Range[],
  withTotal: boolean,
): Promise<PageRead> {
  const { recordType } = plan.endpoint;
  const options = { related: relatedTypes(plan.expansions) };
  try {
    const write = (table: TableRef) => listStatement(table, plan, ranges, withTotal);
    const { row, ...states } = await readRow<ListRow>(reader, recordType, write, options);
    return {
      ...pickStates(states),
      records: row.records,
      found: row.found,
      fitting: row.found,
      total: row.total,
    };
  } catch (error) {
    if (!isTooLarge(error)) throw error;
  }
  const write = (table: TableRef) =>
    largeListStatement(table, plan, ranges, withTotal, reader.maxAnswerBytes);
  const { row, pieces, ...states } = await readPieces<{ total?: string }>(reader, recordType, write, options);
  return { ...pickStates(states), records: pieces, found: row.found, fitting: row.fitting, total: row.total };
}

const pickStates = ({ freshness, related }: ReadStates): ReadStates => ({ freshness, related });

/** 400 that names the largest page that starts at the same record and fits. */
function pageTooLarge(plan: ListPlan, fitting: number, maxBytes: number): AppError {
  const start = firstRow(plan);
  let pageSize = fitting;
  while (start % pageSize !== 0) pageSize -= 1;
  const message = `The records of this page have more than ${maxBytes / megabyte} MiB. The largest page that fits from the same record is page=${start / pageSize + 1}&pageSize=${pageSize}`;
  return parameterError([parameterProblem('pageSize', 'page_too_large', message)]);
}

export const totalKeyFor = (reader: Reader, plan: ListPlan, { epoch, generation }: Freshness): string =>
  totalKey([reader.organizationId, plan.endpoint.recordType, epoch, generation], plan.filterKey);

type Found = Page & { readonly total: number };

/**
 * A page with its exact total, of the newest generation. Rejects with 400 `page_too_large` when its records
 * have more than `maxAnswerBytes`, one record excepted, and with 503 as `readRow` and `assertScopeFresh` do
 * or when it takes too long.
 */
export const readListPage = (reader: Reader, plan: ListPlan): Promise<ListRead> =>
  withinTimeLimit(reader, async (limited) => {
    const page = await readNewest(limited, plan);
    assertScopesFresh(plan, page);
    if (page.fitting < page.found) throw pageTooLarge(plan, page.fitting, reader.maxAnswerBytes);
    return page;
  });

/** Reads again when a new generation is published meanwhile. */
function readNewest(reader: Reader, plan: ListPlan): Promise<Found> {
  const reaches = [...listReaches(plan)];
  return repeatWhileReplaced<Found>(reader, plan.endpoint.recordType, async (isLast) => {
    if (isLast) return readInOneStatement(reader, plan);
    for (;;) {
      const [reach = 'all'] = reaches;
      const page = await readPlanned(reader, plan, reach);
      if (page === undefined || reach === 'all' || page.found >= rowsOnPage(plan, page.total)) return page;
      // The page is short: in descending order it reaches records without a value, or the matches cluster at
      // the end.
      reaches.shift();
    }
  });
}

/**
 * Costs a sort of the whole list, but nothing that is published meanwhile can come between page and total.
 */
async function readInOneStatement(reader: Reader, plan: ListPlan): Promise<Found> {
  const page = await readPage(reader, plan, sortedRanges(plan), true);
  return { ...page, total: Number(page.total) };
}

/** Undefined when the data has changed meanwhile. With `reach` all the page is never short. */
async function readPlanned(reader: Reader, plan: ListPlan, reach: Reach): Promise<Found | undefined> {
  const { recordType } = plan.endpoint;
  const planned = cachedFreshness(reader, recordType) ?? (await currentFreshness(reader, recordType));
  return selectsAll(plan)
    ? readWithKnownTotal(reader, plan, planned, planned.rowCount, reach)
    : readFiltered(reader, plan, planned, reach);
}

/** Undefined when the data has changed meanwhile. */
async function readFiltered(
  reader: Reader,
  plan: ListPlan,
  planned: Freshness,
  reach: Reach,
): Promise<Found | undefined> {
  const key = totalKeyFor(reader, plan, planned);
  const claim = reader.totals.claim(key);
  if (claim.kind === 'known') return readWithKnownTotal(reader, plan, planned, claim.total, reach);
  if (claim.kind === 'awaited') {
    const counted = await claim.counted;
    return counted.key === key ? readWithKnownTotal(reader, plan, planned, counted.total, reach) : undefined;
  }
  try {
    const ranges =
      reach === 'all'
        ? sortedRanges(plan)
        : boundedRanges(plan, undefined, planned.rowCount, reader.scanLimit, reach);
    const page = await readPage(reader, plan, ranges, true);
    const total = Number(page.total);
    claim.found({ key: totalKeyFor(reader, plan, page.freshness), total });
    return { ...page, total };
  } catch (error) {
    claim.fail(error);
    throw error;
  }
}

/** Undefined when the total turns out to belong to other data. */
async function readWithKnownTotal(
  reader: Reader,
  plan: ListPlan,
  planned: Freshness,
  total: number,
  reach: Reach,
): Promise<Found | undefined> {
  const found = rangesFor(reader, plan, planned, total, reach);
  const chosen = found instanceof Promise ? await found : found;
  if (chosen === undefined) return undefined;
  const page = await readPage(reader, plan, chosen.ranges, false);
  if (isSameData(planned, page.freshness)) return { ...page, total };
  return selectsAll(plan) && chosen.validForAnyData ? { ...page, total: page.freshness.rowCount } : undefined;
}

/** Pages at least this many anchors deep justify building anchors; before that, walking there is cheaper. */
const minAnchorsToBuild = 10;

/** `validForAnyData`: the ranges are valid whatever was published meanwhile. */
type Ranges = { readonly ranges: readonly Range[]; readonly validForAnyData: boolean };

/** Many records may lie between two anchors: lines are not tested from one to the next. */
export const mayHaveAnchors = (plan: ListPlan): boolean =>
  plan.sort.further.length === 0 && !testsLines(plan);

/**
 * Undefined when the anchors turn out to belong to other data. Returns a promise only when anchors must be
 * built.
 */
function rangesFor(
  reader: Reader,
  plan: ListPlan,
  planned: Freshness,
  total: number,
  reach: Reach,
): Ranges | Promise<Ranges | undefined> {
  const start = firstRow(plan);
  if (start >= total) return { ranges: emptyRanges, validForAnyData: false };
  const { every } = reader.anchors;
  if (
    every !== undefined &&
    mayHaveAnchors(plan) &&
    total > every &&
    (reach === 'all' || start >= every || skipsRecords(plan))
  ) {
    const key = anchorKey(totalKeyFor(reader, plan, planned), plan);
    const cached = reader.anchors.find(key);
    if (cached !== undefined) return { ranges: anchoredRanges(plan, cached), validForAnyData: false };
    if (reach === 'all' || start >= every * minAnchorsToBuild) {
      const building = reader.anchors.load(key, () => buildAnchors(reader, plan, spacingFor(total, every)));
      return building.then(
        (built) => built && { ranges: anchoredRanges(plan, built), validForAnyData: false },
      );
    }
  }
  const ranges =
    reach === 'all'
      ? sortedRanges(plan)
      : boundedRanges(plan, total, planned.rowCount, reader.scanLimit, reach);
  return { ranges, validForAnyData: true };
}

async function buildAnchors(reader: Reader, plan: ListPlan, every: number): Promise<BuiltAnchors> {
  const { row, freshness } = await readRow<StateRow & { valued: string; nulls: string | null }>(
    reader,
    plan.endpoint.recordType,
    (table) => anchorsStatement(table, plan, every),
  );
  const anchors = { every, valued: parseAnchors(row.valued), nulls: parseAnchors(row.nulls) };
  return { key: anchorKey(totalKeyFor(reader, plan, freshness), plan), anchors };
}
