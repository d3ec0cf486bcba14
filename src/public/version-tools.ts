// The tools of one published version, for a language model that answers about it. Organization, version and resources are fixed by
// whoever opens them: no input can name others, so nothing that a model is talked into reads more than that version shows.
import { z } from 'zod';
import type { Ctx, TenantCtx } from '../core/ctx.ts';
import type { ErrorDetail } from '../core/errors.ts';
import { refuseParameters } from './request.ts';
import { AggregateInput, DescribeInput, GetInput, openRecordTools, QueryInput, type RecordTools, type ToolAccess } from './tools.ts';

export type VersionTool = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** JSON text. Throws AppErrors: 400 for its input too. */
  run(input: unknown): Promise<string>;
};

/** One of the four, on a version that is told already. */
type Bound = { readonly name: keyof RecordTools; readonly description: string; readonly input: z.ZodObject };

const bounds: readonly Bound[] = [
  {
    name: 'describe',
    description: 'The resources of the data, or with a resource its fields, filters and sorts. Begin here.',
    input: DescribeInput.omit({ version: true }),
  },
  {
    name: 'query',
    description: 'Records of a resource, page by page, with the total number. Filters and sorts are those that `describe` names.',
    input: QueryInput.omit({ version: true }),
  },
  { name: 'get', description: 'One record by its id.', input: GetInput.omit({ version: true }) },
  {
    name: 'aggregate',
    description:
      'Counts records, and gives sum, average, smallest and largest of a field, exactly, also per value of another field. Use it rather than adding up pages.',
    input: AggregateInput.omit({ version: true }),
  },
];

const own = '__proto__';
/** zod's records pass over this name in silence, and a filter that is passed over widens the answer. */
function refusePrototype(input: unknown): void {
  const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
  const places = isObject(input) ? [input, ...Object.values(input).filter(isObject)] : [];
  if (places.some((place) => Object.hasOwn(place, own)))
    throw refuseParameters([{ path: own, code: 'unknown_field', message: `${own} is not known here` }]);
}

function parse(schema: z.ZodObject, input: unknown): Record<string, unknown> {
  refusePrototype(input);
  const read = schema.safeParse(input ?? {});
  if (read.success) return read.data;
  throw refuseParameters(
    read.error.issues
      .slice(0, 20)
      .map(({ path, code, message }): ErrorDetail => ({ path: path.join('.'), code, message: `${path.join('.') || 'input'}: ${message}` })),
  );
}

/** `resources` empty means all of the version's; `mostCharacters` bounds each answer. */
export type VersionReach = { readonly version: string; readonly resources: readonly string[]; readonly mostCharacters: number };

export function openVersionTools(ctx: Ctx): (tenant: TenantCtx, reach: VersionReach) => readonly VersionTool[] {
  const tools = openRecordTools(ctx);
  return (tenant, { version, resources, mostCharacters }) => {
    const access: ToolAccess = { versions: [version], resources, mostCharacters };
    const run: Readonly<Record<keyof RecordTools, (input: Record<string, unknown>) => Promise<string>>> = {
      describe: (input) => tools.describe(tenant, access, DescribeInput.parse({ ...input, version })),
      query: (input) => tools.query(tenant, access, QueryInput.parse({ ...input, version })),
      get: (input) => tools.get(tenant, access, GetInput.parse({ ...input, version })),
      aggregate: (input) => tools.aggregate(tenant, access, AggregateInput.parse({ ...input, version })),
    };
    return bounds.map(({ name, description, input: schema }) => ({
      name,
      description,
      inputSchema: z.toJSONSchema(schema, { io: 'input' }) as Readonly<Record<string, unknown>>,
      run: async (input) => run[name](parse(schema, input)),
    }));
  };
}
