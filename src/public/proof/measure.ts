// Runs the statements of a proof on the real data and measures them.
import type { QueryResultRow } from 'pg';
import type { TenantCtx } from '../../core/ctx.ts';
import { sqlState } from '../../db/pg-errors.ts';
import { isNameOrShard } from '../../warehouse/table.ts';
import { parseAnchors, spacingFor } from '../read/connection/anchors.ts';
import { isTooLarge, queryCanceled } from '../read/connection/failures.ts';
import type { ListPlan } from '../read/plan/plan.ts';
import { anchoredRanges, type Range, sortedRanges } from '../read/plan/ranges.ts';
import { planWholeSummaries } from '../read/plan/summary-plan.ts';
import { mayHaveAnchors } from '../read/result/list.ts';
import {
  anchorsStatement,
  largeListStatement,
  listStatement,
  type Statement,
  type TableRef,
} from '../read/sql/list-sql.ts';
import { largeSummaryStatement, summaryStatement } from '../read/sql/summary-sql.ts';
import type { CompiledEndpoint } from '../version/compile.ts';
import { readWhole } from '../version/narrow.ts';

/** Slower reads are repeated this often, in case only the cache was cold. */
const repeats = 2;

/** A page's statement, and one for pages too large for one text: the same records, only the first written. */
export type ProvedPage = { readonly page: Statement; readonly large: Statement };

export const provedPage = (
  tableRef: TableRef,
  plan: ListPlan,
  ranges: readonly Range[],
  withTotal: boolean,
): ProvedPage => ({
  page: listStatement(tableRef, plan, ranges, withTotal),
  large: largeListStatement(tableRef, plan, ranges, withTotal, 0),
});

/** The costliest summaries by this group, without and with distinct counts; empty for an unknown group. */
export const provedSummaries = (
  tableRef: TableRef,
  endpoint: CompiledEndpoint,
  group: string,
): (ProvedPage & { distinct: boolean })[] =>
  planWholeSummaries(readWhole(endpoint), group).map((plan) => ({
    distinct: plan.measures.some(({ name }) => name === 'count_distinct'),
    page: summaryStatement(tableRef, plan),
    large: largeSummaryStatement(tableRef, { ...plan, limit: 1 }, maxRowBytes),
  }));
/** PostgreSQL allows no longer text. */
const maxRowBytes = 2 ** 30;

async function query<Row extends QueryResultRow>(ctx: TenantCtx, { page, large }: ProvedPage, prefix = '') {
  const run = async ({ write, values }: Statement): Promise<Row | undefined> =>
    (await ctx.db.data.query<Row>(`${prefix}${write()}`, [...values])).rows[0];
  return run(page).catch((error: unknown) => (isTooLarge(error) ? run(large) : Promise.reject(error)));
}

/** The second read of list.ts: long lists have anchors from then on, until their data changes. */
export async function fallbackStatement(
  ctx: TenantCtx,
  tableRef: TableRef,
  plan: ListPlan,
  rows: number,
): Promise<ProvedPage> {
  const { anchorEvery, cacheBytes } = ctx.settings;
  if (!mayHaveAnchors(plan) || rows <= anchorEvery || cacheBytes.anchors === 0)
    return provedPage(tableRef, plan, sortedRanges(plan), false);
  const every = spacingFor(rows, anchorEvery);
  const { write, values } = anchorsStatement(tableRef, plan, every);
  const { rows: built } = await ctx.db.data.query<{ valued: string; nulls: string | null }>(write(), [
    ...values,
  ]);
  const anchors = {
    every,
    valued: parseAnchors(built[0]?.valued ?? null),
    nulls: parseAnchors(built[0]?.nulls ?? null),
  };
  return provedPage(tableRef, plan, anchoredRanges(plan, anchors), false);
}

/** To a hundredth. */
export const rounded = (ms: number): number => Math.round(ms * 100) / 100;

/**
 * Page and total in one statement, including the network, as a client sees it. Repeated once after a timeout,
 * in case only the cache was cold.
 */
export async function runFirst(ctx: TenantCtx, page: ProvedPage): Promise<{ rows: number; firstMs: number }> {
  const run = async () => {
    const startedMs = ctx.clock.monotonicMs();
    const row = await query<{ total: string }>(ctx, page);
    return { rows: Number(row?.total ?? 0), firstMs: rounded(ctx.clock.monotonicMs() - startedMs) };
  };
  return run().catch((error: unknown) => (sqlState(error) === queryCanceled ? run() : Promise.reject(error)));
}

/** `byIndex`: PostgreSQL read the table through indexes only; `found`: number of records of the page. */
export type Measured = { readonly ms: number; readonly byIndex: boolean; readonly found: number };

/**
 * The time in which the statement responds, and how it is planned for these values. Not EXPLAIN ANALYZE: on
 * Citus it would run a plan for unknown values. Rejects with the error of PostgreSQL when no run succeeded.
 */
export async function measure(
  ctx: TenantCtx,
  warnMs: number,
  table: string,
  page: ProvedPage,
): Promise<Measured> {
  const explained = await query<{ 'QUERY PLAN': unknown }>(ctx, page, 'explain (format json) ');
  const byIndex = !readsWhole(explained?.['QUERY PLAN'], table);
  let bestMs: number | undefined;
  let found = 0;
  for (let repeatsLeft = repeats; repeatsLeft >= 0; repeatsLeft -= 1) {
    const startedMs = ctx.clock.monotonicMs();
    try {
      found = (await query<{ found: number }>(ctx, page))?.found ?? 0;
      const ms = rounded(ctx.clock.monotonicMs() - startedMs);
      bestMs = Math.min(bestMs ?? ms, ms);
    } catch (error) {
      if (sqlState(error) !== queryCanceled || bestMs !== undefined || repeatsLeft < repeats) throw error;
    }
    if (bestMs !== undefined && bestMs <= warnMs) break;
  }
  if (bestMs === undefined) throw new Error('no measurement succeeded');
  return { ms: bestMs, byIndex, found };
}

/** Whether the plan scans the whole table at any depth; Citus has its nodes' plans deep within its own. */
function readsWhole(plan: unknown, table: string): boolean {
  if (typeof plan !== 'object' || plan === null) return false;
  const { 'Node Type': type, 'Relation Name': relation } = plan as {
    'Node Type'?: string;
    'Relation Name'?: string;
  };
  if (type === 'Seq Scan' && relation !== undefined && isNameOrShard(table, relation)) return true;
  return Object.values(plan).some((below) => readsWhole(below, table));
}
