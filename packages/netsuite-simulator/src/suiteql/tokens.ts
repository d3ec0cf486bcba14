// Splits a query into tokens. Only SuiteQL's tokens are accepted: no dollar quotes, casts, semicolons,
// escapes or string prefixes. Accepted tokens are written to the SQL one by one, so PostgreSQL never sees the
// caller's text itself.
import { syntaxError, unsupported } from './suiteql-error.ts';

export type TokenKind = 'word' | 'quoted' | 'string' | 'number' | 'symbol' | 'placeholder' | 'end';
/** `text` is the original spelling, `name` is in lower case and without quotes. */
export type Token = { kind: TokenKind; text: string; name: string; line: number; column: number };

const FORMS: readonly (readonly [TokenKind | 'space', string])[] = [
  ['space', String.raw`\s+|--[^\n]*|/\*[\s\S]*?\*/`],
  ['word', '[A-Za-z_][A-Za-z0-9_]*'],
  ['quoted', String.raw`"[^"\0]{1,60}"`],
  ['string', String.raw`'(?:[^'\0]|'')*'`],
  ['number', String.raw`\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?(?![A-Za-z_])|\.\d+`],
  ['placeholder', String.raw`\?`],
  ['symbol', String.raw`<=|>=|<>|!=|\|\||[(),.*+\-/=<>]`],
];
/**
 * Numbered groups, one per form: queries have thousands of tokens, and named groups would take twice the
 * time.
 */
const TOKEN = new RegExp(FORMS.map(([, form]) => `(${form})`).join('|'), 'y');
/** Characters of other dialects: SuiteQL reports them as unsupported, not as a syntax error. */
const FOREIGN = /[[\]]/;
const MAX_WORD_LENGTH = 63;

/**
 * Splits a query into tokens, the last of which is the end token. Throws SuiteqlError for what is not a token
 * of SuiteQL.
 */
export function tokenize(query: string): Token[] {
  const tokens: Token[] = [];
  let [line, lineStart, at] = [1, 0, 0];
  TOKEN.lastIndex = 0;
  while (at < query.length) {
    const match = TOKEN.exec(query);
    const column = at - lineStart + 1;
    const [kind] =
      FORMS[(match?.findIndex((group, index) => index > 0 && group !== undefined) ?? 0) - 1] ?? [];
    if (!match || !kind) {
      const text = query.charAt(at);
      throw FOREIGN.test(text) ? unsupported() : syntaxError(query, { text, line, column });
    }
    const [text] = match;
    if (kind !== 'space') tokens.push(createToken(query, kind, text, line, column));
    const lastBreak = text.lastIndexOf('\n');
    if (lastBreak >= 0) {
      line += text.split('\n').length - 1;
      lineStart = at + lastBreak + 1;
    }
    at = TOKEN.lastIndex;
  }
  tokens.push({ kind: 'end', text: 'EOF', name: '', line, column: at - lineStart + 1 });
  return tokens;
}

function createToken(query: string, kind: TokenKind, text: string, line: number, column: number): Token {
  const name = (kind === 'quoted' ? text.slice(1, -1) : text).toLowerCase();
  if ((kind === 'word' || kind === 'quoted') && name.length > MAX_WORD_LENGTH)
    throw syntaxError(query, { text, line, column });
  return { kind, text, name: kind === 'string' || kind === 'number' ? text : name, line, column };
}
