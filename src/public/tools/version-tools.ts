// The tools of one published version, for a language model that answers questions about it. Organization,
// version and resources are fixed when the tools are created: no input can name others, so nothing can talk
// the model into reading more than that version shows.
import { z } from 'zod';
import type { TenantCtx } from '../../core/ctx.ts';
import type { ErrorDetail } from '../../core/errors.ts';
import { type RecordAccess, unlimitedLayer } from '../../core/record-access.ts';
import { parameterError } from '../read/plan/request.ts';
import type { RecordTools, ToolAccess } from './record-tools.ts';
import { AggregateInput, DescribeInput, GetInput, QueryInput } from './tool-inputs.ts';

export type VersionTool = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Returns JSON text. Rejects with AppErrors as RecordTools does, also with 400 for invalid input. */
  run(input: unknown): Promise<string>;
};

/** `aggregate` reads what `summarize` does, also where the version declares no summary. */
type BoundName = Exclude<keyof RecordTools, 'summarize'>;
/** One of the record tools, with the version already fixed. */
type BoundTool = { readonly name: BoundName; readonly description: string; readonly input: z.ZodObject };

const boundTools: readonly BoundTool[] = [
  {
    name: 'describe',
    description: 'Lists the resources, or with a resource its fields, filters and sorts. Start here.',
    input: DescribeInput.omit({ version: true }),
  },
  {
    name: 'query',
    description:
      'Returns one page of the records of a resource, with the total number. Use the filters and sorts that `describe` lists.',
    input: QueryInput.omit({ version: true }),
  },
  { name: 'get', description: 'Returns one record by its id.', input: GetInput.omit({ version: true }) },
  {
    name: 'aggregate',
    description:
      'Counts records and computes exact sum, average, minimum and maximum of a field, optionally grouped by another field. Use it instead of adding up pages.',
    input: AggregateInput.omit({ version: true }),
  },
];

const prototypeKey = '__proto__';
/** zod records silently skip this key, and a skipped filter would widen the result. Throws 400. */
function assertNoPrototypeKey(input: unknown): void {
  const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
  const objects = isObject(input) ? [input, ...Object.values(input).filter(isObject)] : [];
  if (objects.some((object) => Object.hasOwn(object, prototypeKey)))
    throw parameterError([
      { path: prototypeKey, code: 'unknown_field', message: `Unknown field "${prototypeKey}"` },
    ]);
}

function parse(schema: z.ZodObject, input: unknown): Record<string, unknown> {
  assertNoPrototypeKey(input);
  const read = schema.safeParse(input ?? {});
  if (read.success) return read.data;
  throw parameterError(
    read.error.issues.slice(0, 20).map(
      ({ path, code, message }): ErrorDetail => ({
        path: path.join('.'),
        code,
        message: `${path.join('.') || 'input'}: ${message}`,
      }),
    ),
  );
}

/** `reads`: what the caller may read, here of this version alone; `maxCharacters` bounds a response. */
export type VersionAccess = {
  readonly version: string;
  readonly reads: RecordAccess;
  readonly maxCharacters: number;
};

/** The tools for one organization and version. */
export function createVersionTools(
  tools: RecordTools,
  tenant: TenantCtx,
  { version, reads, maxCharacters }: VersionAccess,
): readonly VersionTool[] {
  const layers = [...reads.layers, { ...unlimitedLayer, versions: [version] }];
  const access: ToolAccess = { reads: { ...reads, layers }, masks: 'living', maxCharacters };
  const run: Readonly<Record<BoundName, (input: Record<string, unknown>) => Promise<string>>> = {
    describe: (input) => tools.describe(tenant, access, DescribeInput.parse({ ...input, version })),
    query: (input) => tools.query(tenant, access, QueryInput.parse({ ...input, version })),
    get: (input) => tools.get(tenant, access, GetInput.parse({ ...input, version })),
    aggregate: (input) => tools.aggregate(tenant, access, AggregateInput.parse({ ...input, version })),
  };
  return boundTools.map(({ name, description, input: schema }) => ({
    name,
    description,
    inputSchema: z.toJSONSchema(schema, { io: 'input' }) as Readonly<Record<string, unknown>>,
    run: async (input) => run[name](parse(schema, input)),
  }));
}
