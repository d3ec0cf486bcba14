// Runs one tool for a model. Every outcome becomes text for the model: failures are reported, not thrown.
import { AppError } from '../../core/errors.ts';
import type { ModelTool } from './model.ts';

export type ToolOutcome = { readonly ok: boolean; readonly output: string };

const failed = (output: string): ToolOutcome => ({ ok: false, output });

/** Truncates text to `maxBytes` of UTF-8, never within a character, and appends a note about it. */
export function truncateText(text: string, maxBytes: number): string {
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return text;
  const kept = new TextDecoder().decode(Buffer.from(text).subarray(0, maxBytes), { stream: true });
  return `${kept}\n[truncated: the tool returned ${bytes} bytes, of which ${Buffer.byteLength(kept)} are shown; request less, or the next page]`;
}

export async function runTool(
  tools: readonly ModelTool[],
  call: { readonly name: string; readonly input: unknown },
  maxBytes: number,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const tool = tools.find(({ name }) => name === call.name);
  if (tool === undefined)
    return failed(`Unknown tool. The tools are: ${tools.map(({ name }) => name).join(', ')}`);
  try {
    return { ok: true, output: truncateText(await tool.run(call.input, signal), maxBytes) };
  } catch (error) {
    return failed(
      truncateText(
        error instanceof AppError ? errorText(error) : 'The tool failed. Do not rely on it.',
        maxBytes,
      ),
    );
  }
}

function errorText({ message, details }: AppError): string {
  const others = details.map((detail) => detail.message).filter((text) => text !== message);
  return [message, ...others].join('\n');
}
