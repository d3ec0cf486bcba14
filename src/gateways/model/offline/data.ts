// Typed access to the version's tools (`describe`, `aggregate`, `query`), through which alone the offline model reaches data.
import { z } from 'zod';

/** Resolves to the tool's result as text. Rejects with ToolFailed when the tool fails. */
export type CallTool = (name: string, input: Readonly<Record<string, unknown>>) => Promise<string>;

/** A tool failed or returned an unexpected result; the message becomes part of the answer. */
export class ToolFailed extends Error {
  override readonly name = 'ToolFailed';
}

/** Filter parameters by their names in the public interface. */
export type Filters = Readonly<Record<string, string | readonly string[]>>;

const Group = z.looseObject({ value: z.union([z.string(), z.number(), z.boolean(), z.null()]), count: z.number() });
const statFields = {
  count: z.number(),
  values: z.number().optional(),
  sum: z.string().nullish(),
  average: z.string().nullish(),
  min: z.string().nullish(),
  max: z.string().nullish(),
};
const AggregateStats = z.looseObject(statFields);
export type AggregateStats = z.infer<typeof AggregateStats>;
const GroupedStats = z.looseObject({ totalGroups: z.number(), groups: z.array(Group.extend(statFields)) });
export type GroupedStats = z.infer<typeof GroupedStats>;

const DataRow = z.looseObject({ id: z.string() });
export type DataRow = z.infer<typeof DataRow>;
const Page = z.looseObject({ data: z.array(DataRow), pagination: z.looseObject({ total: z.number() }) });
export type DataPage = { readonly rows: readonly DataRow[]; readonly total: number };

const Resources = z.looseObject({ resources: z.array(z.looseObject({ resource: z.string(), description: z.string().default('') })) });
const Field = z.looseObject({
  name: z.string(),
  type: z.string().nullable(),
  description: z.string().default(''),
  filters: z.array(z.string()).default([]),
  sortable: z.boolean().default(false),
  fields: z.array(z.looseObject({ name: z.string() })).optional(),
});
export type DescribedField = z.infer<typeof Field>;
const Resource = z.looseObject({
  resource: z.string(),
  description: z.string().default(''),
  fields: z.array(Field),
  defaultSort: z.looseObject({ field: z.string() }),
});
export type DescribedResource = z.infer<typeof Resource>;

export type AggregateCall = {
  readonly resource: string;
  readonly filters: Filters;
  readonly field?: string;
  readonly groupBy?: string;
  readonly orderBy?: string;
  readonly limit?: number;
};
export type ListCall = {
  readonly resource: string;
  readonly filters: Filters;
  readonly sort?: string;
  readonly order?: 'asc' | 'desc';
  readonly pageSize: number;
  readonly fields?: readonly string[];
};

export type DataTools = {
  resources(): Promise<readonly { readonly resource: string; readonly description: string }[]>;
  describe(resource: string): Promise<DescribedResource>;
  aggregate(input: AggregateCall): Promise<AggregateStats>;
  groups(input: AggregateCall & { readonly groupBy: string }): Promise<GroupedStats>;
  list(input: ListCall): Promise<DataPage>;
};

function parse<T>(schema: z.ZodType<T>, text: string): T {
  const read = schema.safeParse(readJson(text));
  if (!read.success) throw new ToolFailed('a tool returned data in an unexpected format');
  return read.data;
}

/** Parses JSON, keeping numbers that a float can't represent as text. Throws ToolFailed for invalid JSON, such as truncated output. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' && String(value) !== context?.source ? (context?.source ?? value) : value,
    );
  } catch {
    throw new ToolFailed('a tool returned more data than can be read at once');
  }
}

/** Throws ToolFailed for a truncated description: the omitted part could be what the question is about. */
function assertNotTruncated<T extends object>(described: T): T {
  if ('cut' in described) throw new ToolFailed('the description of this version is too long for the built-in model');
  return described;
}

/** The methods reject with ToolFailed when a tool fails or its result has an unexpected format. */
export function createDataTools(call: CallTool): DataTools {
  const callAndParse = async <T>(schema: z.ZodType<T>, name: string, input: Readonly<Record<string, unknown>>): Promise<T> =>
    parse(schema, await call(name, input));
  return {
    resources: async () => assertNotTruncated(await callAndParse(Resources, 'describe', {})).resources,
    describe: async (resource) => assertNotTruncated(await callAndParse(Resource, 'describe', { resource })),
    aggregate: (input) => callAndParse(AggregateStats, 'aggregate', input),
    groups: (input) => callAndParse(GroupedStats, 'aggregate', input),
    list: async ({ resource, filters, sort, order, pageSize, fields }) => {
      const chosen = { ...(sort !== undefined && { sort, order: order ?? 'asc' }), ...(fields !== undefined && { fields }) };
      const { data, pagination } = await callAndParse(Page, 'query', { resource, filters, pageSize, ...chosen });
      return { rows: data, total: pagination.total };
    },
  };
}
