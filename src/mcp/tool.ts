// An MCP tool as a value: what `tools/list` shows and what runs on a call. A tool's error is returned as an error result with the error
// body of the REST interfaces, so that a model can read it and correct its call.
import type { Tool as ListedTool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { CallerCtx } from '../core/ctx.ts';
import { errorBody, logFailure, toAppError } from '../http/errors.ts';
import { parseArguments } from '../http/route/parse.ts';

/** Maximum length of a tool's result in characters: about ten thousand tokens. */
export const maxCharacters = 40_000;

type Spec<I extends z.ZodObject> = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: I;
  /** Whether a call may change something. */
  readonly writes: boolean;
  /** Resolves with JSON text. Rejects with AppErrors. */
  run(ctx: CallerCtx, input: z.output<I>): Promise<string>;
};

export type Tool = Omit<Spec<z.ZodObject>, 'run'> & { run(ctx: CallerCtx, raw: unknown): Promise<string> };

/** The tool's `run` parses its arguments strictly: it rejects with 422 for invalid ones, and with what `spec.run` throws. */
export const defineTool = <I extends z.ZodObject>(spec: Spec<I>): Tool => ({
  ...spec,
  run: (ctx, raw) => spec.run(ctx, parseArguments(spec.input, raw)),
});

/** Removes schema keywords that say nothing about the value. */
function tidy(schema: Record<string, unknown>): void {
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  delete schema['propertyNames'];
}

/** The tool as `tools/list` shows it. */
export function describeTool({ name, title, description, input, writes }: Tool): ListedTool {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: 'input',
    override: ({ jsonSchema }) => tidy(jsonSchema as Record<string, unknown>),
  });
  const inputSchema = { ...schema, type: 'object' } as ListedTool['inputSchema'];
  const annotations = { readOnlyHint: !writes, ...(writes && { destructiveHint: true }), openWorldHint: false };
  return { name, title, description, inputSchema, annotations };
}

type Result = { content: { type: 'text'; text: string }[]; isError?: true };
const textResult = (text: string): Result => ({ content: [{ type: 'text', text }] });

/**
 * Runs a tool; never throws. An error is `{"error":{code,message,details?,requestId}}`, as everywhere. Arguments may hold data and aren't
 * logged.
 */
export async function callTool(tool: Tool, ctx: CallerCtx, raw: unknown): Promise<Result> {
  const startedMs = ctx.clock.monotonicMs();
  const logCall = (status: number): void => {
    ctx.log.info({ tool: tool.name, status, ms: Math.round((ctx.clock.monotonicMs() - startedMs) * 10) / 10 }, 'tool');
  };
  try {
    const text = await tool.run(ctx, raw);
    logCall(200);
    return textResult(text);
  } catch (error) {
    const shown = toAppError(error);
    logCall(shown.status);
    logFailure(ctx.log, ctx.requestId, shown, error);
    return { ...textResult(JSON.stringify(errorBody(shown, ctx.requestId))), isError: true };
  }
}
