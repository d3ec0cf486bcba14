// Turns LiquidJS errors into problems of a template with lines. Limits are known by their messages only.
import type { LiquidError } from 'liquidjs';
import { type TemplateProblem, templateLimits } from '../template.ts';

const limitCodes: readonly (readonly [RegExp, TemplateProblem['code'], string])[] = [
  [
    /^memory alloc limit/,
    'too_much_work',
    `Produces more than ${templateLimits.maxWork} characters and list items`,
  ],
  [/^template render limit/, 'too_slow', `Takes more than ${templateLimits.maxCpuMs} ms of CPU time`],
  [/^parse length limit/, 'too_long', `Is longer than ${templateLimits.maxSourceLength} characters`],
  [/^Maximum call stack/, 'too_much_work', 'Is nested too deeply'],
];

const isErrorList = (error: unknown): error is Error & { errors: readonly unknown[] } =>
  error instanceof Error &&
  error.name === 'LiquidErrors' &&
  Array.isArray((error as { errors?: unknown }).errors);

/** `phase` is the code for a problem without one: `syntax` while parsing, `failed` while rendering. */
export function toProblems(part: string, error: unknown, phase: 'syntax' | 'failed'): TemplateProblem[] {
  if (isErrorList(error)) return error.errors.flatMap((one) => toProblems(part, one, phase));
  const { token, originalError, message, name } = error as Partial<LiquidError>;
  const text = originalError?.message ?? message ?? '';
  const limit = limitCodes.find(([pattern]) => pattern.test(text));
  const [line = null, column = null] = token?.getPosition() ?? [];
  return [
    {
      part,
      code: limit?.[1] ?? (name === 'UndefinedVariableError' ? 'undefined_variable' : phase),
      message: limit?.[2] ?? text.replace(/, line:\d+, col:\d+$/, ''),
      line,
      column,
    },
  ];
}
