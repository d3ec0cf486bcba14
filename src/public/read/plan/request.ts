// Parses the URL of a request: which version, resource and record it names, and its parameters as text.
// Syntax only; plan.ts decides what the names mean. The query string is parsed by hand, because libraries
// repair or drop malformed parts.
import { AppError, type ErrorDetail } from '../../../core/errors.ts';
import { decodeQueryPart } from '../../../core/text/query-text.ts';

export type RequestTarget = {
  readonly kind: 'list' | 'record' | 'changes' | 'description' | 'discovery' | 'nothing';
  /** Empty when the URL names none. */
  readonly version: string;
  readonly resource: string;
  readonly id: string;
};

/** Parameter values by name, in the order given. */
export type QueryParameters = ReadonlyMap<string, readonly string[]>;

const maxParameters = 1_000;
/** Replaces a segment that cannot be decoded: no version, resource or record has this name. */
const undecodable = '\ufffd';

function decodeSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undecodable;
  }
}

/**
 * `url` is the part after `/api/public`, such as `/v1/invoices?page=2`; a proxy may prepend its origin. Never
 * throws.
 */
export function parseTarget(url: string): RequestTarget {
  const local = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
  const queryAt = local.indexOf('?');
  const path = queryAt === -1 ? local : local.slice(0, queryAt);
  const segments = path
    .slice(path.startsWith('/') ? 1 : 0, path.length > 1 && path.endsWith('/') ? -1 : undefined)
    .split('/')
    .map(decodeSegment);
  if (path === '' || path === '/') return { kind: 'discovery', version: '', resource: '', id: '' };
  const [first = '', second = '', third = ''] = segments;
  if (first === 'openapi')
    return { kind: segments.length === 2 ? 'description' : 'nothing', version: second, resource: '', id: '' };
  const below = third === 'changes' ? 'changes' : 'record';
  const kind = segments.length === 2 ? 'list' : segments.length === 3 ? below : 'nothing';
  return { kind, version: first, resource: second, id: third };
}

/** The 400 with every problem in `details`; the first one is the message. */
export function parameterError(details: readonly ErrorDetail[]): AppError {
  const [first] = details;
  return new AppError('BAD_REQUEST', first?.message ?? 'Invalid request', { details });
}

const shown = (name: string): string => (name.length > 80 ? `${name.slice(0, 80)}…` : name);
export const parameterProblem = (name: string, code: string, message: string): ErrorDetail => ({
  path: shown(name),
  code,
  message,
});

/** Throws 400 for malformed escapes, NUL characters and too many parameters. */
export function parseQuery(text: string): QueryParameters {
  const query = new Map<string, string[]>();
  const parts = text.split('&').filter((part) => part !== '');
  if (parts.length > maxParameters) {
    throw parameterError([
      parameterProblem('', 'too_many_parameters', `A request may have at most ${maxParameters} parameters`),
    ]);
  }
  for (const part of parts) {
    const equals = part.indexOf('=');
    const name = decodeQueryPart(equals === -1 ? part : part.slice(0, equals));
    const value = equals === -1 ? '' : decodeQueryPart(part.slice(equals + 1));
    if (name.includes('\0') || value.includes('\0')) {
      throw parameterError([
        parameterProblem(name.replaceAll('\0', ''), 'illegal_character', 'The NUL character is not allowed'),
      ]);
    }
    const values = query.get(name);
    if (values === undefined) query.set(name, [value]);
    else values.push(value);
  }
  return query;
}
