// The plan of PostgreSQL for the count of a list, over a table that has the indexes of the version.
import type { PoolClient } from 'pg';
import { inject } from 'vitest';
import type { Ctx } from '../../../src/core/ctx.ts';
import { countStatement } from '../../../src/public/export/export-sql.ts';
import { planList } from '../../../src/public/read/plan/plan.ts';
import {
  boundedRanges,
  listReaches,
  rowsOnPage,
  sortedRanges,
} from '../../../src/public/read/plan/ranges.ts';
import { parseQuery } from '../../../src/public/read/plan/request.ts';
import { listStatement } from '../../../src/public/read/sql/list-sql.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { describeIf } from '../../setup/describe-if.ts';
import { compileInvoices } from '../compiled.ts';
import { richLineColumns, type Site } from '../fixture.ts';

/** For tests of plans: those of Citus are in its workers. */
export const describePlans = (name: string, suite: () => void): void =>
  describeIf(name, inject('nodes').length > 1 ? 'plans are read of one server' : undefined, suite);

const compileEndpoint = (definition: object) => compileInvoices(definition, richLineColumns);

type Explained = {
  readonly ctx: Ctx;
  readonly organizationId: string;
  readonly table: string;
  readonly definition: object;
};

/**
 * The 8 KB blocks that PostgreSQL reads for a list whose total is known, or still to be counted, over a table
 * with its indexes.
 */
export async function countBlocks(
  { ctx, organizationId, table, definition }: Explained,
  query: string,
  total?: number,
): Promise<number> {
  const ref = { schema: tenantSchema(organizationId), table };
  const plan = planList(compileEndpoint(definition).whole, parseQuery(query));
  const { rows: counted } = await ctx.db.data.query<{ n: number }>(
    `select count(*)::int as n from ${ref.schema}.${table}`,
  );
  const rowCount = counted[0]?.n ?? 0;
  let blocks = 0;
  for (const reach of listReaches(plan)) {
    const ranges = reach === 'all' ? sortedRanges(plan) : boundedRanges(plan, total, rowCount, 8_000, reach);
    const statement = listStatement(ref, plan, ranges, total === undefined);
    const values = [...statement.values];
    const { rows } = await ctx.db.data.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
      `explain (analyze, buffers, format json) ${statement.write()}`,
      values,
    );
    const top = rows[0]?.['QUERY PLAN'][0].Plan ?? {};
    blocks += (top['Shared Hit Blocks'] ?? 0) + (top['Shared Read Blocks'] ?? 0);
    const { rows: page } = await ctx.db.data.query<{ found: number; total?: string }>(
      statement.write(),
      values,
    );
    if ((page[0]?.found ?? 0) >= rowsOnPage(plan, total ?? Number(page[0]?.total))) break;
  }
  return blocks;
}

/** Creates the indexes of a version. */
export async function createIndexes({ ctx, organizationId, table, definition }: Explained): Promise<void> {
  for (const { method, expression } of compileEndpoint(definition).indexes)
    await ctx.db.data.query(
      `create index on ${tenantSchema(organizationId)}.${table} using ${method} (${expression})`,
    );
}

/** Works on one connection, after SQL and then with these indexes on the table; nothing of it is kept. */
export async function withIndexes<T>(
  { ctx, schema, table }: Pick<Site, 'ctx' | 'schema' | 'table'>,
  indexes: ReturnType<typeof compileInvoices>['indexes'],
  sql: string,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await ctx.db.data.connect();
  try {
    await client.query(`begin; ${sql}`);
    for (const [index, { method, expression }] of indexes.entries())
      await client.query(`create index i_${index} on ${schema}.${table} using ${method} (${expression})`);
    return await work(client);
  } finally {
    await client.query('rollback');
    client.release(true);
  }
}

export async function readPlan(
  client: PoolClient,
  text: string,
  values: readonly unknown[] = [],
): Promise<string> {
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(text, [...values]);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

/**
 * Sequential scans are discouraged, because the table is small. With `analyze` the statement is executed, and
 * each step has the number of its rows. Everything is rolled back.
 */
export async function explainCount(
  { ctx, schema, table }: Pick<Site, 'ctx' | 'schema' | 'table'>,
  definition: object,
  query: string,
  { analyze } = { analyze: false },
): Promise<string> {
  const { whole, indexes } = compileEndpoint(definition);
  const { text, values } = countStatement({ schema, table }, planList(whole, parseQuery(query)));
  return withIndexes({ ctx, schema, table }, indexes, 'set local enable_seqscan to off', (client) =>
    readPlan(
      client,
      `explain (costs off${analyze ? ', analyze, timing off, summary off' : ''}) ${text}`,
      values,
    ),
  );
}
