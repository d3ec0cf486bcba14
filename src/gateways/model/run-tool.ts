// Runs one tool for a model. Whatever happens becomes text that the model can read: a tool that fails is told, not thrown.
import { AppError } from '../../core/errors.ts';
import type { ModelTool } from './model.ts';

export type ToolOutcome = { readonly ok: boolean; readonly output: string };

const refused = (output: string): ToolOutcome => ({ ok: false, output });

/** A cut never splits a character. */
export function cutText(text: string, maxBytes: number): string {
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return text;
  const kept = new TextDecoder().decode(Buffer.from(text).subarray(0, maxBytes), { stream: true });
  return `${kept}\n[cut here: the tool answered ${bytes} bytes, of which ${Buffer.byteLength(kept)} are shown; ask for less, or for the next page]`;
}

export async function runTool(
  tools: readonly ModelTool[],
  call: { readonly name: string; readonly input: unknown },
  maxBytes: number,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const tool = tools.find(({ name }) => name === call.name);
  if (tool === undefined) return refused(`There is no tool of this name. The tools are: ${tools.map(({ name }) => name).join(', ')}`);
  try {
    return { ok: true, output: cutText(await tool.run(call.input, signal), maxBytes) };
  } catch (error) {
    return refused(cutText(error instanceof AppError ? wordsOf(error) : 'The tool failed. Do not rely on it.', maxBytes));
  }
}

function wordsOf({ message, details }: AppError): string {
  const others = details.map((detail) => detail.message).filter((text) => text !== message);
  return [message, ...others].join('\n');
}
