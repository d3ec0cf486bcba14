// The inputs of the tools and the shapes of their results. Names of filters, sorts, groups and relations are
// those of the public interface.
import { z } from 'zod';
import { defaultPageSize } from '../../db/page.ts';
import { aggregateOrders } from '../read/result/aggregate.ts';

const version = z.string().max(20).describe('Such as v1');
const resource = z.string().max(100);
const name = z.string().max(100);
const fields = z.array(name).min(1).max(500);
const scalar = z.union([
  z.string(),
  z
    .number()
    .refine(
      (value) => !Number.isInteger(value) || Number.isSafeInteger(value),
      'must be passed as text beyond 2^53',
    ),
  z.boolean(),
]);
const values = z.union([scalar, z.array(scalar).min(1).max(100)]);
/** Also `<lines>.<field>_<operator>`. */
const filterName = z.string().max(220);

/** The records that a tool reads. `or` and `q` only where the resource declares them. */
const selection = {
  filters: z
    .record(filterName, values)
    .optional()
    .describe('By filter name. All filters must match; a list matches any of its values'),
  or: z
    .record(filterName, values)
    .optional()
    .describe('As filters: 2 to 10 conditions, one of which must match'),
  q: z.string().max(1_000).optional().describe('Text in any search field'),
};
const expand = z.array(name).min(1).max(3).optional().describe('Relations whose records to embed');

export const DescribeInput = z.strictObject({
  version: version.optional(),
  resource: resource.optional(),
  fields: fields.optional().describe('Describe these fields only'),
});
export const QueryInput = z.strictObject({
  version,
  resource,
  ...selection,
  sort: z.string().max(500).optional().describe('A sort field, or a sort set'),
  order: z.enum(['asc', 'desc']).optional(),
  page: z.int().min(1).optional(),
  pageSize: z.int().min(1).optional().describe(`Default ${defaultPageSize}`),
  fields: fields.optional().describe('Only these fields'),
  expand,
});
export const GetInput = z.strictObject({
  version,
  resource,
  id: z.string().max(200).describe('Id of the record'),
  fields: fields.optional().describe('Only these fields'),
  expand,
});
/** Of the built-in agents, which aggregate any field of a version. */
export const AggregateInput = z.strictObject({
  version,
  resource,
  field: name
    .optional()
    .describe('Field to compute over: a number, or a date for min and max. Omit it to only count'),
  ...selection,
  groupBy: name
    .optional()
    .describe(
      'One group per value of this field; of a date also `<field>.month`, `.quarter`, `.year`, `.week`, `.day`',
    ),
  orderBy: z
    .enum(aggregateOrders)
    .default('count')
    .describe('Order of the groups: largest first; `value`: ascending'),
  limit: z.int().min(1).max(100).default(20).describe('Maximum number of groups'),
});

const computed = z.array(name).min(1).max(100).optional();

/** Of `/summary`: only what the resource declares. */
export const SummarizeInput = z.strictObject({
  version,
  resource,
  ...selection,
  count: z.boolean().optional().describe('Default when nothing is computed'),
  sum: computed,
  avg: computed,
  min: computed,
  max: computed,
  count_distinct: computed,
  by: z.array(name).min(1).max(2).optional().describe('Groups, such as date.month'),
  sort: z.string().max(200).optional().describe('A group or an aggregate, such as -sum.total'),
  limit: z.int().min(1).max(1_000).optional().describe('Only the first groups'),
});
export type DescribeInput = z.output<typeof DescribeInput>;
export type QueryInput = z.output<typeof QueryInput>;
export type GetInput = z.output<typeof GetInput>;
export type AggregateInput = z.output<typeof AggregateInput>;
export type SummarizeInput = z.output<typeof SummarizeInput>;

const row = z.looseObject({});
const freshness = z.looseObject({ syncedAt: z.string().nullable() });
/** Present when the list was cut to the length limit. */
const cut = row.optional();
const pagination = z.looseObject({ total: z.int() });

/** One of the lists, by what was described. */
export const DescribeOutput = z.looseObject({
  versions: z.array(row).optional(),
  resources: z.array(row).optional(),
  fields: z.array(row).optional(),
  cut,
});
export const QueryOutput = z.looseObject({ data: z.array(row), pagination, freshness, cut });
export const GetOutput = z.looseObject({ data: row, freshness });
/** Sums, averages, minima and maxima are texts with exact digits. */
export const SummarizeOutput = z.looseObject({
  data: z.array(row),
  total: z.int().describe('Number of groups'),
  freshness,
  cut,
});
