// The version that the benchmark of richer reads publishes: one endpoint that declares everything, over the
// invoices of the read benchmark.
import type { Ctx } from '../src/core/ctx.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { buildEndpoints, type Invoices, publishEndpoints } from './reads-data.ts';

export const resource = 'rich';
export const numberFunctions = ['sum', 'avg', 'min', 'max', 'count_distinct'] as const;
export const periods = ['day', 'week', 'month', 'quarter', 'year'] as const;

/** The twelve fields of `invoices`, to be embedded. */
const relatedResource = 'flat';

/** The twelve fields of `invoices` and its lines. */
export function richEndpoint(invoices: Invoices) {
  const [small, full] = buildEndpoints(invoices);
  const lines = full?.fields.filter(({ source }) => source === 'lines') ?? [];
  return {
    ...small,
    name: resource,
    fields: [...(small?.fields ?? []), ...lines],
    filters: [
      { field: 'statusName', operators: ['eq'] },
      { field: 'trandate', operators: ['after', 'before'] },
      { field: 'entity', operators: ['eq'] },
      { field: 'total', operators: ['gt', 'lte'] },
      { field: 'lines.item', operators: ['eq'] },
      { field: 'lines.rate', operators: ['gt', 'lt'] },
    ],
    or: true,
    search: ['tranid', 'entityName', 'memo'],
    sortSets: [['trandate', '-total']],
    aggregates: [
      { field: 'total', functions: numberFunctions },
      { field: 'balance', functions: numberFunctions },
      { field: 'seq', functions: numberFunctions },
      { field: 'trandate', functions: ['min', 'max', 'count_distinct'] },
    ],
    groups: ['statusName', 'entity', 'paid', { field: 'trandate', periods }, { field: 'duedate', periods }],
    relations: [
      { name: 'related', field: 'entity', resource: relatedResource },
      { name: 'whole', field: 'entity', resource },
    ],
  };
}

/** Stores that `entity` refers to invoices: there is no other record type here. */
const describeInvoices = (ctx: Ctx, { organizationId }: Invoices): Promise<unknown> =>
  inTransaction({ db: ctx.db, organizationId }, (tx) =>
    tx('erp_record_types').insert({
      organization_id: organizationId,
      name: 'invoice',
      position: 0,
      head: JSON.stringify({ name: 'invoice', label: 'Invoice' }),
      description: JSON.stringify({
        name: 'invoice',
        label: 'Invoice',
        fields: [{ name: 'entity', target: 'invoice' }],
      }),
      described_at: ctx.clock.now(),
    }),
  );

/** As a customer would, through the running service at `url`. Rejects as `publishEndpoints` does. */
export async function publishRich(
  ctx: Ctx,
  url: string,
  invoices: Invoices,
  admin: Parameters<typeof publishEndpoints>[2],
): Promise<void> {
  await describeInvoices(ctx, invoices);
  const [small] = buildEndpoints(invoices);
  await publishEndpoints(url, invoices, admin, [richEndpoint(invoices), { ...small, name: relatedResource }]);
}
