// An MCP tool as a value: what `tools/list` shows and what runs on a call. A tool's error is returned as an
// error result with the error body of the REST interfaces, so that a model can read it and correct its call.
import type { Tool as ListedTool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { CallerCtx } from '../core/ctx.ts';
import { parseExact } from '../core/text/exact-json.ts';
import { errorBody, logFailure, toAppError } from '../http/errors.ts';
import { parseArguments } from '../http/route/parse.ts';

/** Maximum length of a tool's result in characters: about ten thousand tokens. */
export const maxCharacters = 40_000;

type Spec<I extends z.ZodObject> = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: I;
  /** The shape of the result, which is then also returned as structured content. */
  readonly output?: z.ZodObject;
  /** Whether a call may change something. */
  readonly writes: boolean;
  /** Resolves with JSON text. Rejects with AppErrors. */
  run(ctx: CallerCtx, input: z.output<I>): Promise<string>;
};

export type Tool = Omit<Spec<z.ZodObject>, 'run'> & { run(ctx: CallerCtx, raw: unknown): Promise<string> };

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Models write null for an optional argument that they leave out. */
function withoutNulls({ shape }: z.ZodObject, raw: unknown): unknown {
  if (!isObject(raw)) return raw;
  const isLeftOut = ([name, value]: [string, unknown]): boolean =>
    value === null && Object.hasOwn(shape, name) && (shape[name] as z.ZodType).safeParse(undefined).success;
  return Object.fromEntries(Object.entries(raw).filter((entry) => !isLeftOut(entry)));
}

/** `run` parses strictly: it rejects with 422 for invalid arguments, and with what `spec.run` throws. */
export const defineTool = <I extends z.ZodObject>(spec: Spec<I>): Tool => ({
  ...spec,
  run: (ctx, raw) => spec.run(ctx, parseArguments(spec.input, withoutNulls(spec.input, raw))),
});

const isEmpty = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0;

/** A value or a list of such values, in fewer characters. Some clients refuse lists with untyped items. */
function mergeList({ anyOf, ...rest }: Json): Json {
  const [one, list, ...others] = (anyOf ?? []) as Json[];
  if (one === undefined || list?.['type'] !== 'array' || others.length > 0)
    return { ...rest, ...(anyOf !== undefined && { anyOf }) };
  return { ...rest, type: [one['type'], 'array'].flat(), items: list['items'] };
}

/** Whether the keyword says nothing about the value, or sets a limit that no ordinary call reaches. */
function isNoise(key: string, value: unknown): boolean {
  if (key === 'additionalProperties' || key === 'properties') return isEmpty(value);
  if (key === 'maxItems') return Number(value) >= 100;
  return (
    key === 'propertyNames' ||
    key === 'maxLength' ||
    key === 'minLength' ||
    key === 'minItems' ||
    Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER
  );
}

function tidy(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(tidy);
  if (!isObject(schema)) return schema;
  const said = Object.entries(schema).filter(([key, value]) => !isNoise(key, value));
  return mergeList(Object.fromEntries(said.map(([key, value]) => [key, tidy(value)])));
}

function toJsonSchema(schema: z.ZodObject, io: 'input' | 'output'): ListedTool['inputSchema'] {
  const { $schema: _, ...listed } = z.toJSONSchema(schema, { io });
  return { ...(tidy(listed) as Json), type: 'object' } as ListedTool['inputSchema'];
}

/** The tool as `tools/list` shows it. */
export function describeTool({ name, title, description, input, output, writes }: Tool): ListedTool {
  const annotations = {
    readOnlyHint: !writes,
    ...(writes && { destructiveHint: true }),
    openWorldHint: false,
  };
  const outputSchema = output && { outputSchema: toJsonSchema(output, 'output') };
  return {
    name,
    title,
    description,
    inputSchema: toJsonSchema(input, 'input'),
    ...outputSchema,
    annotations,
  };
}

type Result = { content: { type: 'text'; text: string }[]; structuredContent?: Json; isError?: true };
const textResult = (text: string): Result => ({ content: [{ type: 'text', text }] });

/**
 * Runs a tool; never throws. An error is `{"error":{code,message,details?,requestId}}`, as everywhere.
 * Arguments may hold data and aren't logged.
 */
export async function callTool(tool: Tool, ctx: CallerCtx, raw: unknown): Promise<Result> {
  const startedMs = ctx.clock.monotonicMs();
  const logCall = (status: number): void => {
    ctx.log.info(
      { tool: tool.name, status, ms: Math.round((ctx.clock.monotonicMs() - startedMs) * 10) / 10 },
      'tool',
    );
  };
  try {
    const text = await tool.run(ctx, raw);
    logCall(200);
    // Numbers keep their digits: what is parsed here is only written again.
    return { ...textResult(text), ...(tool.output && { structuredContent: parseExact(text) as Json }) };
  } catch (error) {
    const shown = toAppError(error);
    logCall(shown.status);
    logFailure(ctx.log, ctx.requestId, shown, error);
    return { ...textResult(JSON.stringify(errorBody(shown, ctx.requestId))), isError: true };
  }
}
