// Says in plain sentences what a caller's value breaks. Rules with words of their own keep them; the validator's own never go out.
import type { z } from 'zod';

type Raw = z.core.$ZodRawIssue;
type Issue = z.core.$ZodIssue;

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
  date: 'a date',
};
const formats: Readonly<Record<string, string>> = {
  email: 'an e-mail address',
  url: 'a URL',
  datetime: 'an RFC 3339 instant with a zone',
  date: 'a date such as 2026-01-31',
  uuid: 'a UUID',
};
const shown = (value: unknown): string => (typeof value === 'string' ? `"${value}"` : String(value));
const oneOf = (values: readonly unknown[]): string =>
  values.length === 1 ? `must be ${shown(values[0])}` : `must be one of: ${values.map(String).join(', ')}`;

/** `at least 3 characters`, `at most 10 entries`, `more than 0`. */
function boundText(origin: string, bound: number | bigint, { side, inclusive }: { side: 'least' | 'most'; inclusive: boolean }): string {
  const one = bound === 1 || bound === 1n;
  if (origin === 'string') return `must have at ${side} ${bound} ${one ? 'character' : 'characters'}`;
  if (origin === 'array' || origin === 'set') return `must have at ${side} ${bound} ${one ? 'entry' : 'entries'}`;
  if (inclusive) return `must be at ${side} ${bound}`;
  return side === 'least' ? `must be more than ${bound}` : `must be less than ${bound}`;
}

/** To be given to a schema's `safeParse` as its `error`. */
export function plainWords(issue: Raw): string {
  const options: unknown = 'options' in issue ? issue.options : undefined;
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${kinds[issue.expected] ?? 'of another kind'}`;
    case 'invalid_value':
      return issue.input === undefined ? 'is missing' : oneOf(issue.values);
    case 'too_small':
      return boundText(issue.origin, issue.minimum, { side: 'least', inclusive: issue.inclusive !== false });
    case 'too_big':
      return boundText(issue.origin, issue.maximum, { side: 'most', inclusive: issue.inclusive !== false });
    case 'invalid_format':
      return formats[issue.format] === undefined ? 'does not have the right form' : `must be ${formats[issue.format]}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_union':
      return Array.isArray(options) ? oneOf(options) : 'has none of the forms that it may have';
    default:
      return 'is not valid';
  }
}

const isWrongKind = ({ code, path }: Issue): boolean => path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');

/**
 * What a value that may have several forms lacks: where it has the kind of one of them, that one's problems; otherwise one problem that
 * names them all. Every other problem is itself.
 */
export function pickForms(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const meant = issue.errors.find((problems) => !problems.some(isWrongKind));
  if (meant !== undefined) return meant.flatMap((problem) => pickForms({ ...problem, path: [...issue.path, ...problem.path] }));
  const messages = [...new Set(issue.errors.flat().map(({ message }) => message))];
  return [{ ...issue, message: messages.map((text, index) => (index === 0 ? text : text.replace(/^must be /, ''))).join(' or ') }];
}
