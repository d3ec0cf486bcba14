// Splits a query into tokens. Only SuiteQL's tokens are accepted: no dollar quotes, casts, semicolons, escapes or string prefixes. Accepted
// tokens are written to the SQL one by one, so PostgreSQL never sees the caller's text itself.
import { syntaxError, unsupported } from './suiteql-error.ts';

export type TokenKind = 'word' | 'quoted' | 'string' | 'number' | 'symbol' | 'placeholder' | 'end';
/** `text` is the original spelling, `name` is in lower case and without quotes. */
export type Token = { kind: TokenKind; text: string; name: string; line: number; column: number };

const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s+|--[^\n]*|/\*[\s\S]*?\*/)`,
    '(?<word>[A-Za-z_][A-Za-z0-9_]*)',
    String.raw`(?<quoted>"[^"\0]{1,60}")`,
    String.raw`(?<string>'(?:[^'\0]|'')*')`,
    String.raw`(?<number>\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?(?![A-Za-z_])|\.\d+)`,
    String.raw`(?<placeholder>\?)`,
    String.raw`(?<symbol><=|>=|<>|!=|\|\||[(),.*+\-/=<>])`,
  ].join('|'),
  'y',
);
/** Characters of other dialects: SuiteQL reports them as unsupported, not as a syntax error. */
const FOREIGN = /[[\]]/;
const MAX_WORD_LENGTH = 63;

/** Splits a query into tokens, the last of which is the end token. Throws SuiteqlError for what is not a token of SuiteQL. */
export function tokenize(query: string): Token[] {
  const tokens: Token[] = [];
  let [line, lineStart, at] = [1, 0, 0];
  TOKEN.lastIndex = 0;
  while (at < query.length) {
    const match = TOKEN.exec(query);
    const found = Object.entries(match?.groups ?? {}).find(([, text]) => text !== undefined);
    const column = at - lineStart + 1;
    if (!found) {
      const text = query.charAt(at);
      throw FOREIGN.test(text) ? unsupported() : syntaxError(query, { text, line, column });
    }
    const [kind, text] = found;
    if (kind !== 'space') tokens.push(createToken(query, kind as TokenKind, text, line, column));
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
  if ((kind === 'word' || kind === 'quoted') && name.length > MAX_WORD_LENGTH) throw syntaxError(query, { text, line, column });
  return { kind, text, name: kind === 'string' || kind === 'number' ? text : name, line, column };
}
