// The plan of PostgreSQL for the count of a list, over a table that has the indexes of the version.
import type { Ctx } from '../../../src/core/ctx.ts';
import { countStatement } from '../../../src/public/export/export-sql.ts';
import { indexesOf } from '../../../src/public/read/indexes.ts';
import { planList } from '../../../src/public/read/plan.ts';
import { parseQuery } from '../../../src/public/read/request.ts';
import { bindDocument } from '../../../src/public/version/bind.ts';
import { compileSchema } from '../../../src/public/version/compile.ts';
import { readWhole } from '../../../src/public/version/narrow.ts';
import { SchemaDocument } from '../../../src/public/version/schema-document.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { richLineColumns } from '../fixture.ts';

/**
 * Sequential scans are discouraged, because the table is small. With `analyze` the statement is executed, and each step has the number of
 * its rows. Everything is rolled back.
 */
export async function explainCount(
  ctx: Ctx,
  organizationId: string,
  table: string,
  definition: object,
  query: string,
  { analyze } = { analyze: false },
): Promise<string> {
  const document = SchemaDocument.parse({ endpoints: [definition] });
  const bindings = bindDocument(document, { invoice: { label: 'Invoice', idType: 'integer', columns: richLineColumns, hasData: true } });
  const endpoint = compileSchema({ id: 'x', version: 'v1', bindings, ...document }).endpoints.get('invoices');
  if (endpoint === undefined) throw new Error('no endpoint');
  const schema = tenantSchema(organizationId);
  const { text, values } = countStatement({ schema, table }, planList(readWhole(endpoint), parseQuery(query)));
  const client = await ctx.db.data.connect();
  try {
    await client.query('begin');
    for (const { method, expression } of indexesOf(document, bindings).get('invoice') ?? [])
      await client.query(`create index on ${schema}.${table} using ${method} (${expression})`);
    await client.query('set local enable_seqscan to off');
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `explain (costs off${analyze ? ', analyze, timing off, summary off' : ''}) ${text}`,
      [...values],
    );
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  } finally {
    await client.query('rollback');
    client.release();
  }
}
