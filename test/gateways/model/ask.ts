// Asks the built-in model as an agent does, and computes reference answers with independent SQL on the
// warehouse's current data.
import type { Ctx } from '../../../src/core/ctx.ts';
import { fullAccess } from '../../../src/core/record-access.ts';
import type { ModelEvent, ModelRequest, ModelTool } from '../../../src/gateways/model/model.ts';
import { createOfflineModel } from '../../../src/gateways/model/offline/offline-model.ts';
import { createVersionTools, getRecordTools } from '../../../src/public/index.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import {
  type InvoiceRow,
  invoicesEndpoint,
  loadInvoices,
  publishVersion,
  withReads,
} from '../../public/fixture.ts';
import { testClock } from '../../setup/database.ts';

export const createRequest = (
  content: string,
  tools: ModelRequest['tools'],
  changes: Partial<ModelRequest> = {},
): ModelRequest => ({
  instructions: '',
  messages: [{ role: 'user', content }],
  tools,
  limits: { steps: 8, outputTokens: 1_000, toolOutputBytes: 20_000, timeMs: 60_000 },
  signal: new AbortController().signal,
  ...changes,
});

/** Its reply on the last day of the demo's data, whether that is an answer, and the number of tool calls. */
export async function ask(content: string, tools: ModelRequest['tools']) {
  const events: ModelEvent[] = [];
  const model = createOfflineModel({ clock: testClock(new Date('2011-08-31T12:00:00Z')) });
  for await (const event of model.answer(createRequest(content, tools))) events.push(event);
  const last = events.at(-1);
  if (last?.type !== 'finished') throw new Error('it did not finish');
  return { ...last, calls: events.filter(({ type }) => type === 'tool-started').length };
}

/** Resolves to a function that runs SQL in which each record type is a table of that name. */
export async function createReference(
  { db }: Ctx,
  organizationId: string,
): Promise<(sql: string) => Promise<string>> {
  const schema = tenantSchema(organizationId);
  const states = await db.data.query<{ record_type: string; active_table: string }>(
    `select record_type, active_table from ${schema}.record_state`,
  );
  const tables = states.rows.map(
    ({ record_type: type, active_table: table }) => `"${type}" as (select * from ${schema}."${table}")`,
  );
  return async (sql) => {
    const { rows } = await db.data.query({ text: `with ${tables.join(', ')} ${sql}`, rowMode: 'array' });
    return (rows as unknown[][]).map((row) => row.map(String).join(' | ')).join('\n');
  };
}

/** The tools of the published version, as an agent of the organization has them. */
export const openTools = (ctx: Ctx, organizationId: string): readonly ModelTool[] =>
  createVersionTools(
    getRecordTools(withReads(ctx)),
    { ...ctx, organizationId },
    {
      version: 'v1',
      reads: fullAccess,
      maxCharacters: 60_000,
    },
  );

/** The tools of a version that publishes these rows as orders, by default without their currency. */
export async function openOrders(
  ctx: Ctx,
  organizationId: string,
  rows: readonly InvoiceRow[],
  { hasCurrency = false } = {},
): Promise<readonly ModelTool[]> {
  await loadInvoices(ctx, organizationId, rows);
  const orders = {
    ...invoicesEndpoint,
    name: 'orders',
    description: 'Orders',
    fields: [
      ...invoicesEndpoint.fields.filter(({ name }) => name !== 'customer' && name !== 'totalText'),
      ...(hasCurrency ? [{ name: 'currency', source: 'entity' }] : []),
    ],
    filters: [
      ...invoicesEndpoint.filters.filter(({ field }) => field !== 'customerName'),
      { field: 'customerName', operators: ['eq', 'contains'] },
      ...(hasCurrency ? [{ field: 'currency', operators: ['eq'] }] : []),
    ],
  };
  await publishVersion(ctx, organizationId, { endpoints: [orders] });
  return openTools(ctx, organizationId);
}
