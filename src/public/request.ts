// Reads a request's address: which version, resource and record it names, and its parameters as text. Syntax only; what the
// names mean is plan.ts's to say. The query string is read by hand because ready-made parsers repair or drop what is malformed.
import { AppError, type ErrorDetail } from '../core/errors.ts';

export type ReadTarget = {
  readonly kind: 'list' | 'record' | 'changes' | 'description' | 'nothing';
  /** Empty when the address names none. */
  readonly version: string;
  readonly resource: string;
  readonly id: string;
};

/** Parameter values by name, in the order given. */
export type Query = ReadonlyMap<string, readonly string[]>;

const mostParameters = 1_000;
/** Stands for a segment that can't be decoded: no version, resource or record is named like this. */
const undecodable = '\ufffd';

function decodeSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undecodable;
  }
}

/** `url` is what follows `/api/public`, such as `/v1/invoices?page=2`; a proxy may put its origin in front. Never throws. */
export function readTarget(url: string): ReadTarget {
  const local = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
  const queryAt = local.indexOf('?');
  const path = queryAt === -1 ? local : local.slice(0, queryAt);
  const segments = path
    .slice(path.startsWith('/') ? 1 : 0, path.length > 1 && path.endsWith('/') ? -1 : undefined)
    .split('/')
    .map(decodeSegment);
  const [first = '', second = '', third = ''] = segments;
  if (first === 'openapi') return { kind: segments.length === 2 ? 'description' : 'nothing', version: second, resource: '', id: '' };
  const below = third === 'changes' ? 'changes' : 'record';
  const kind = segments.length === 2 ? 'list' : segments.length === 3 ? below : 'nothing';
  return { kind, version: first, resource: second, id: third };
}

export const queryTextOf = (url: string): string => {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
};

/** 400 with every problem; the first one is the message. */
export function refuseParameters(details: readonly ErrorDetail[]): AppError {
  const [first] = details;
  return new AppError('BAD_REQUEST', first?.message ?? 'The request could not be read', { details });
}

const shown = (name: string): string => (name.length > 80 ? `${name.slice(0, 80)}…` : name);
export const parameterProblem = (name: string, code: string, message: string): ErrorDetail => ({ path: shown(name), code, message });

function decodePart(part: string): string {
  // Bytes that were not percent-encoded arrive as Latin-1 and would be read as other letters than were meant.
  if (/[^\x21-\x7e]/.test(part))
    throw refuseParameters([parameterProblem('', 'malformed_escape', 'The query string must be percent-encoded UTF-8')]);
  try {
    return decodeURIComponent(part.replaceAll('+', ' '));
  } catch {
    throw refuseParameters([parameterProblem('', 'malformed_escape', 'The query string holds a malformed percent escape')]);
  }
}

/** Throws 400 for malformed escapes, for the character NUL and for more parameters than any request needs. */
export function readQuery(text: string): Query {
  const query = new Map<string, string[]>();
  const parts = text.split('&').filter((part) => part !== '');
  if (parts.length > mostParameters) {
    throw refuseParameters([parameterProblem('', 'too_many_parameters', `A request may have at most ${mostParameters} parameters`)]);
  }
  for (const part of parts) {
    const equals = part.indexOf('=');
    const name = decodePart(equals === -1 ? part : part.slice(0, equals));
    const value = equals === -1 ? '' : decodePart(part.slice(equals + 1));
    if (name.includes('\0') || value.includes('\0')) {
      throw refuseParameters([parameterProblem(name.replaceAll('\0', ''), 'illegal_character', 'The character NUL is not allowed')]);
    }
    const values = query.get(name);
    if (values === undefined) query.set(name, [value]);
    else values.push(value);
  }
  return query;
}
