// Parses bodies and URL parameters strictly: an unknown field is refused with its path.
import type { Request } from 'express';
import { z } from 'zod';
import { ControlError, type ErrorDetail, invalid } from './control-error.ts';

/** Such as `columns.transaction[0]`. */
const pathText = (path: readonly PropertyKey[]): string =>
  path.map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i > 0 ? '.' : ''}${String(key)}`)).join('');

const TYPES: Record<string, string> = {
  int: 'a whole number',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  number: 'a number',
  string: 'a text',
};

function toDetails(issue: z.core.$ZodIssue): ErrorDetail[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: pathText([...issue.path, key]),
      message: 'is an unknown field',
    }));
  }
  return [{ path: pathText(issue.path), message: issue.message }];
}

/** For the `error` option of a parse: a message that follows the path. */
function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'custom') return undefined;
  if (issue.input === undefined) return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'too_small':
      return `must be at least ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    default:
      return 'is not valid';
  }
}

/** Throws ControlError 422 unless the value fits. */
export function parseValue<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value, { error: describeIssue });
  if (!parsed.success) throw invalid(...parsed.error.issues.flatMap(toDetails));
  return parsed.data;
}

/** An empty body counts as `{}`. Throws ControlError: 400 for malformed JSON, 422 unless it fits. */
export function parseBody<T>(schema: z.ZodType<T>, request: Request): T {
  const text = typeof request.body === 'string' ? request.body : '';
  return parseValue(schema, text === '' ? {} : parseJson(text));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ControlError(400, 'The body is not JSON.', [], { cause: error });
  }
}

const ID = /^-?\d{1,18}$/;

/** Throws ControlError 422 unless it is a whole number. */
export function parseId(text: string, path = 'id'): string {
  if (!ID.test(text)) throw invalid({ path, message: 'must be an internal id: a whole number' });
  return text;
}

/** Internal ids as text or as numbers. */
export const IdText = z
  .union([z.string(), z.int()], 'must be an internal id: a whole number')
  .transform((id, context) => {
    if (!ID.test(String(id)))
      context.addIssue({ code: 'custom', message: 'must be an internal id: a whole number' });
    return String(id);
  });
