// Parses a request's parts strictly and reports every problem at once: unknown names, wrong values, and what
// the schemas let through.
import { z } from 'zod';
import { AppError, type ErrorDetail } from '../../core/errors.ts';
import { decodeQueryPart } from '../../core/text/query-text.ts';
import { hasTooManyValues, tooManyValuesText } from './body-limits.ts';
import type { RawInput } from './route.ts';
import { expandUnionIssue, validationMessage } from './validation-messages.ts';

const pathText = (path: readonly PropertyKey[]): string =>
  path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`,
    )
    .join('');

/** What an unknown name is called in a message. */
export type NameKind = 'field' | 'query parameter';
const unknownName = (kind: NameKind, name: string): string => `Unknown ${kind} "${name}"`;

/** How many problems one error response lists. */
const maxDetails = 100;

const toDetails = (issue: z.core.$ZodIssue, kind: NameKind): ErrorDetail[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.slice(0, maxDetails).map((key) => ({
        path: pathText([...issue.path, key]),
        code: 'unknown_field',
        message: unknownName(issue.path.length === 0 ? kind : 'field', key),
      }))
    : [{ path: pathText(issue.path), code: issue.code, message: issue.message }];

/** The first problems that zod found. A body may have fifty thousand, and each takes time. */
export const toErrorDetails = (error: z.ZodError, kind: NameKind = 'field'): ErrorDetail[] =>
  error.issues
    .slice(0, maxDetails)
    .flatMap(expandUnionIssue)
    .slice(0, maxDetails)
    .flatMap((issue) => toDetails(issue, kind))
    .slice(0, maxDetails);

const emptyObject = z.strictObject({});

/**
 * Finds what the schemas let through: strings that no database column can store (NUL, unpaired surrogates),
 * and the key `__proto__`. A loop, because the nesting may be deeper than the stack.
 */
function findOverlooked(raw: unknown, kind: NameKind): ErrorDetail[] {
  const found: ErrorDetail[] = [];
  const waiting: { value: unknown; path: PropertyKey[] }[] = [{ value: raw, path: [] }];
  const check = (text: string, path: readonly PropertyKey[]): void => {
    if (text.includes('\0') || !text.isWellFormed())
      found.push({
        path: pathText(path),
        code: 'unstorable_text',
        message: 'must not contain NUL or unpaired surrogates',
      });
  };
  for (let next = waiting.pop(); next !== undefined && found.length < maxDetails; next = waiting.pop()) {
    const { value, path } = next;
    if (typeof value === 'string') check(value, path);
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, item] of Object.entries(value)) {
      // Schemas silently ignore this key, and an ignored filter would widen the result.
      if (key === '__proto__')
        found.push({
          path: pathText([...path, key]),
          code: 'unknown_field',
          message: unknownName(path.length === 0 ? kind : 'field', '__proto__'),
        });
      if (typeof item === 'object' || typeof item === 'string')
        waiting.push({
          value: item,
          path: path.length > 8 ? path : [...path, Array.isArray(value) ? Number(key) : key],
        });
    }
  }
  return found;
}

function parsePart(
  schema: z.ZodType,
  raw: unknown,
  toError: (details: ErrorDetail[]) => AppError,
  kind: NameKind = 'field',
): unknown {
  if (hasTooManyValues(raw))
    throw toError([{ path: '', code: 'too_many_values', message: tooManyValuesText }]);
  const result = schema.safeParse(raw, { error: validationMessage });
  const found = result.success ? [] : toErrorDetails(result.error, kind);
  const details = found.length < maxDetails ? [...found, ...findOverlooked(raw, kind)] : found;
  if (result.success && details.length === 0) return result.data;
  throw toError(details.slice(0, maxDetails));
}

const badPath = (details: ErrorDetail[]) => new AppError('BAD_REQUEST', 'Invalid path', { details });
const badQuery = (details: ErrorDetail[]) =>
  new AppError('BAD_REQUEST', 'Invalid query parameters', { details });
const badBody = (details: ErrorDetail[]) =>
  new AppError('VALIDATION_ERROR', 'Invalid request body', { details });

/** Parses the arguments of a tool as strictly as a request body. Throws 422 with every problem. */
export const parseArguments = <S extends z.ZodType>(schema: S, raw: unknown): z.output<S> =>
  parsePart(
    schema,
    raw,
    (details) => new AppError('VALIDATION_ERROR', 'Invalid arguments', { details }),
  ) as z.output<S>;

/** For operations without a body. Throws 422 unless the body is absent or an empty object. */
function parseNoBody(body: unknown): undefined {
  if (body !== undefined) parsePart(emptyObject, body, badBody);
  return undefined;
}

/** The schemas of a route; a part without a schema must be empty. */
type InputSchemas = {
  readonly params?: z.ZodType | undefined;
  readonly query?: z.ZodType | undefined;
  readonly body?: z.ZodType | undefined;
};

/** Throws 400 for the path and the query, 422 for the body. */
export function parseInput({ params, query, body }: InputSchemas, raw: RawInput): unknown {
  decodeQueryPart(raw.queryText ?? '');
  return {
    params: parsePart(params ?? emptyObject, raw.params, badPath),
    query: parsePart(query ?? emptyObject, raw.query, badQuery, 'query parameter'),
    body: body === undefined ? parseNoBody(raw.body) : parsePart(body, raw.body ?? {}, badBody),
  };
}

/** For operations without query parameters. Throws 400 when the query holds any. */
export const assertNoQuery = (query: unknown) => parsePart(emptyObject, query, badQuery, 'query parameter');
