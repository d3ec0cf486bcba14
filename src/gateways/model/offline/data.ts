// What the offline model knows of the version's tools: their names, inputs and answers. It reaches data through them alone.
import { z } from 'zod';

/** The tool's answer as text. Throws ToolRefused when the tool failed. */
export type CallTool = (name: string, input: Readonly<Record<string, unknown>>) => Promise<string>;

export class ToolRefused extends Error {
  override readonly name = 'ToolRefused';
}

/** Filter parameters by name, as the public interface spells them. */
export type Filters = Readonly<Record<string, string | readonly string[]>>;

const Group = z.looseObject({ value: z.union([z.string(), z.number(), z.boolean(), z.null()]), count: z.number() });
const figures = {
  count: z.number(),
  values: z.number().optional(),
  sum: z.string().nullish(),
  average: z.string().nullish(),
  min: z.string().nullish(),
  max: z.string().nullish(),
};
const Figures = z.looseObject(figures);
export type Figures = z.infer<typeof Figures>;
const Groups = z.looseObject({ totalGroups: z.number(), groups: z.array(Group.extend(figures)) });
export type Groups = z.infer<typeof Groups>;

const Row = z.looseObject({ id: z.string() });
export type Row = z.infer<typeof Row>;
const Page = z.looseObject({ data: z.array(Row), pagination: z.looseObject({ total: z.number() }) });
export type Page = { readonly rows: readonly Row[]; readonly total: number };

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

export type AggregateQuestion = {
  readonly resource: string;
  readonly filters: Filters;
  readonly field?: string;
  readonly groupBy?: string;
  readonly orderBy?: string;
  readonly limit?: number;
};
export type ListQuestion = {
  readonly resource: string;
  readonly filters: Filters;
  readonly sort?: string;
  readonly order?: 'asc' | 'desc';
  readonly pageSize: number;
  readonly fields?: readonly string[];
};

export type Data = {
  resources(): Promise<readonly { readonly resource: string; readonly description: string }[]>;
  describe(resource: string): Promise<DescribedResource>;
  aggregate(question: AggregateQuestion): Promise<Figures>;
  groups(question: AggregateQuestion & { readonly groupBy: string }): Promise<Groups>;
  list(question: ListQuestion): Promise<Page>;
};

function parse<T>(schema: z.ZodType<T>, text: string): T {
  const read = schema.safeParse(readJson(text));
  if (!read.success) throw new ToolRefused('a tool answered in a form that is not known here');
  return read.data;
}

/** Numbers as their digits, so that none is lost on the way through a binary float. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' && String(value) !== context?.source ? (context?.source ?? value) : value,
    );
  } catch {
    throw new ToolRefused('a tool gave more than can be read at once');
  }
}

/** What was left out could be what a question is about, so a part is not used. */
function whole<T extends object>(described: T): T {
  if ('cut' in described) throw new ToolRefused('the description of this version is too long for the built-in model');
  return described;
}

export function openData(call: CallTool): Data {
  const ask = async <T>(schema: z.ZodType<T>, name: string, input: Readonly<Record<string, unknown>>): Promise<T> =>
    parse(schema, await call(name, input));
  return {
    resources: async () => whole(await ask(Resources, 'describe', {})).resources,
    describe: async (resource) => whole(await ask(Resource, 'describe', { resource })),
    aggregate: (question) => ask(Figures, 'aggregate', question),
    groups: (question) => ask(Groups, 'aggregate', question),
    list: async ({ resource, filters, sort, order, pageSize, fields }) => {
      const chosen = { ...(sort !== undefined && { sort, order: order ?? 'asc' }), ...(fields !== undefined && { fields }) };
      const { data, pagination } = await ask(Page, 'query', { resource, filters, pageSize, ...chosen });
      return { rows: data, total: pagination.total };
    },
  };
}
