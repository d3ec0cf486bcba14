// Typed access to the version's tools (`describe`, `aggregate`, `query`), through which alone the offline model reaches data.
import { z } from 'zod';

/** A tool failed or returned an unexpected result; the message becomes part of the answer. */
export class ToolFailed extends Error {
  override readonly name = 'ToolFailed';
}

const text = z.string().default('');
const stat = z.string().nullish();
const Stats = z.object({ count: z.number(), values: z.number().default(0), sum: stat, average: stat, min: stat, max: stat });
const Groups = z.object({ totalGroups: z.number(), groups: z.array(Stats.extend({ value: z.unknown() })) });
const Page = z.object({ data: z.array(z.looseObject({ id: z.string() })), pagination: z.object({ total: z.number() }) });
const filters = z.array(z.string()).default([]);
const Field = z.object({ name: z.string(), type: text.nullable(), description: text, filters, sortable: z.boolean().default(false) });
/** A truncated description is refused: what is missing could be what the question is about. */
const cut = z.undefined().optional();
const Resources = z.object({ resources: z.array(z.object({ resource: z.string() })), cut });
const fields = z.array(Field);
const defaultSort = z.object({ field: text });
const Described = z.object({ resource: z.string(), description: text, fields, defaultSort, cut });
export type Stats = z.infer<typeof Stats>;
export type DescribedResource = z.infer<typeof Described>;
type Input = { readonly resource: string; readonly filters: Readonly<Record<string, unknown>>; readonly [option: string]: unknown };

/** Parses JSON, keeping numbers that a float can't represent as text. Throws ToolFailed for other results. */
function parse<T>(schema: z.ZodType<T>, json: string): T {
  const exact = (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && String(value) !== context?.source ? (context?.source ?? value) : value;
  try {
    return schema.parse(JSON.parse(json, exact));
  } catch {
    throw new ToolFailed('a tool returned data in an unexpected format');
  }
}

/** `call` resolves to a tool's result as text. The methods reject with ToolFailed when a tool fails or its result has another format. */
export const createTools = (call: (name: string, input: Readonly<Record<string, unknown>>) => Promise<string>) => ({
  resources: async () => parse(Resources, await call('describe', {})).resources.map(({ resource }) => resource),
  describe: async (resource: string) => parse(Described, await call('describe', { resource })),
  aggregate: async (input: Input) => parse(Stats, await call('aggregate', input)),
  groups: async (input: Input) => parse(Groups, await call('aggregate', input)),
  list: async (input: Input) => parse(Page, await call('query', input)),
});
export type Tools = ReturnType<typeof createTools>;
