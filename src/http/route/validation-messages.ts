// Messages for values that break a schema, written for API callers. A rule with its own message keeps it;
// zod's default messages are never sent.
import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

const kinds: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
  null: 'null',
  date: 'a date',
};
const formats: Readonly<Record<string, string>> = {
  email: 'an e-mail address',
  url: 'a URL',
  datetime: 'an RFC 3339 timestamp with a time zone',
  date: 'a date such as 2026-01-31',
  uuid: 'a UUID',
};
const shown = (value: unknown): string => (typeof value === 'string' ? `"${value}"` : String(value));
const describeChoices = (values: readonly unknown[]): string =>
  values.length === 1 ? `must be ${shown(values[0])}` : `must be one of: ${values.map(String).join(', ')}`;

/** Such as `must have at least 3 characters`, `must have at most 10 entries`, `must be more than 0`. */
function boundText(
  origin: string,
  bound: number | bigint,
  { side, inclusive }: { side: 'least' | 'most'; inclusive: boolean },
): string {
  const one = bound === 1 || bound === 1n;
  if (origin === 'string') return `must have at ${side} ${bound} ${one ? 'character' : 'characters'}`;
  if (origin === 'array' || origin === 'set')
    return `must have at ${side} ${bound} ${one ? 'entry' : 'entries'}`;
  if (inclusive) return `must be at ${side} ${bound}`;
  return side === 'least' ? `must be more than ${bound}` : `must be less than ${bound}`;
}

/** The message for one issue, without its path. For the `error` option of a schema's `safeParse`. */
export function validationMessage(issue: z.core.$ZodRawIssue): string {
  const options: unknown = 'options' in issue ? issue.options : undefined;
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'is required'
        : `must be ${kinds[issue.expected] ?? 'of another type'}`;
    case 'invalid_value':
      return issue.input === undefined ? 'is required' : describeChoices(issue.values);
    case 'too_small':
      return boundText(issue.origin, issue.minimum, { side: 'least', inclusive: issue.inclusive !== false });
    case 'too_big':
      return boundText(issue.origin, issue.maximum, { side: 'most', inclusive: issue.inclusive !== false });
    case 'invalid_format':
      return formats[issue.format] === undefined
        ? 'has an invalid format'
        : `must be ${formats[issue.format]}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_union':
      return Array.isArray(options) ? describeChoices(options) : 'matches none of the allowed types';
    default:
      return 'is not valid';
  }
}

const isWrongType = ({ code, path }: Issue): boolean =>
  path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');

/**
 * Expands the issue of a union. If the value has the type of one alternative, returns that alternative's
 * issues; otherwise one issue that names all alternatives. Returns every other issue unchanged.
 */
export function expandUnionIssue(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const meant = issue.errors.find((problems) => !problems.some(isWrongType));
  if (meant !== undefined)
    return meant.flatMap((problem) =>
      expandUnionIssue({ ...problem, path: [...issue.path, ...problem.path] }),
    );
  const messages = [...new Set(issue.errors.flat().map(({ message }) => message))];
  return [
    {
      ...issue,
      message: messages
        .map((text, index) => (index === 0 ? text : text.replace(/^must be /, '')))
        .join(' or '),
    },
  ];
}
