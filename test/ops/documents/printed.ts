// Compares what a page prints with what came. `…` is the only placeholder: in JSON for a value, for further
// members or elements, or for a part of a string; in text for a part of a line or, alone in its line, for any
// number of lines. All else is as it is.

const escapeRegExp = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
const anyText = (text: string, any: string): string => text.split('…').map(escapeRegExp).join(any);

/** What matches the lines of a text. */
export function textPattern(printed: string): string {
  return printed
    .split('\n')
    .map((line) => (line === '…' ? '(?:.*\\n)*?' : `${anyText(line, '.*')}\\n`))
    .join('');
}

const value = '\u0000value';
const more = '\u0000more';
type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Printed JSON with its placeholders as values of their own. Throws SyntaxError for what is no JSON. */
function parsePrinted(text: string): Json {
  const opened: string[] = [];
  let previous = '';
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|…|[{}[\],:]|[^\s"…{}[\],:]+/g) ?? [];
  const parts = tokens.map((token) => {
    const before = previous;
    previous = token;
    if (token === '{' || token === '[') opened.push(token);
    if (token === '}' || token === ']') opened.pop();
    if (token !== '…') return token;
    if (before === ':' || before === '') return JSON.stringify(value);
    return opened.at(-1) === '{' ? `${JSON.stringify(more)}:0` : JSON.stringify(more);
  });
  return JSON.parse(parts.join('')) as Json;
}

function matches(printed: Json, came: unknown): boolean {
  if (printed === value) return came !== undefined;
  if (typeof printed === 'string')
    return typeof came === 'string' && new RegExp(`^${anyText(printed, '[\\s\\S]*')}$`).test(came);
  if (printed === null || typeof printed !== 'object') return printed === came;
  if (came === null || typeof came !== 'object' || Array.isArray(printed) !== Array.isArray(came))
    return false;
  const hasMore = Array.isArray(printed) ? printed.at(-1) === more : more in printed;
  const wanted = Object.entries(printed).filter(([name, part]) => name !== more && part !== more);
  const members = new Map<string, unknown>(Object.entries(came));
  return (
    (hasMore || members.size === wanted.length) &&
    wanted.every(([name, part]) => matches(part, members.get(name)))
  );
}

/**
 * Whether `came` is the text or JSON that `printed` shows. How lines end, and how many empty ones are at the
 * end, doesn't matter. Throws SyntaxError for printed JSON that is none.
 */
export function isAsPrinted(language: string, printed: string, came: string): boolean {
  if (language !== 'json')
    return new RegExp(`^${textPattern(printed)}$`).test(`${came.replaceAll('\r', '').trimEnd()}\n`);
  const expected = parsePrinted(printed);
  try {
    return matches(expected, JSON.parse(came));
  } catch {
    return false;
  }
}
