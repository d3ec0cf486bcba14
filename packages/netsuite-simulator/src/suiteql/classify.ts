// What a query reads, from its tokens alone: known before the query is compiled, and for queries that are
// refused too.
import { type Token, tokenize } from './tokens.ts';

/** `list` is the same for all pages of one list: it leaves out what differs between pages. */
export type QuerySubject = {
  kind: 'rows' | 'count';
  /** The first table after FROM, also within a derived table. */
  table: string | undefined;
  list: string;
  /** Whether the query names this column, or `*`. */
  mentions(column: string): boolean;
};

const UNKNOWN: QuerySubject = { kind: 'rows', table: undefined, list: '', mentions: () => false };

export function classifyQuery(query: string): QuerySubject {
  const tokens = listTokens(query);
  const select = tokens.findIndex((token) => isWord(token, 'select'));
  const from = select < 0 ? -1 : findAtDepth(tokens, select + 1, 'from');
  if (from < 0) return UNKNOWN;
  const selected = tokens.slice(select + 1, from);
  const table = tableAfter(tokens, from + 1);
  // A value compared with `=` tells lists apart, such as type = 'CustInvc'; keys and times are compared
  // otherwise, or are numbers.
  const equal = tokens.flatMap((token, i) =>
    token.kind === 'string' && tokens[i - 1]?.text === '=' ? [token.text] : [],
  );
  return {
    kind: isCount(selected) ? 'count' : 'rows',
    table,
    list: [...selected.map(({ text }) => text), 'from', table ?? '', ...equal].join(' '),
    mentions: (column) =>
      tokens.some(({ kind, name, text }) => (kind !== 'string' && name === column) || text === '*'),
  };
}

function listTokens(query: string): Token[] {
  try {
    return tokenize(query);
  } catch {
    return []; // the query is refused later
  }
}

const isWord = (token: Token | undefined, name: string): boolean =>
  token?.kind === 'word' && token.name === name;

/** The index of this word outside of any parentheses that begin after `start`; -1 if there is none. */
function findAtDepth(tokens: readonly Token[], start: number, word: string): number {
  let depth = 0;
  for (let i = start; i < tokens.length; i += 1) {
    if (tokens[i]?.text === '(') depth += 1;
    else if (tokens[i]?.text === ')') depth -= 1;
    else if (depth === 0 && isWord(tokens[i], word)) return i;
    if (depth < 0) return -1;
  }
  return -1;
}

function tableAfter(tokens: readonly Token[], start: number): string | undefined {
  let at = start;
  while (tokens[at]?.text === '(') at += 1;
  const token = tokens[at];
  if (isWord(token, 'select')) {
    const from = findAtDepth(tokens, at + 1, 'from');
    return from < 0 ? undefined : tableAfter(tokens, from + 1);
  }
  return token?.kind === 'word' || token?.kind === 'quoted' ? token.name : undefined;
}

/** COUNT as an aggregate, not as a window function. */
function isCount(selected: readonly Token[]): boolean {
  const at = selected.findIndex((token, i) => isWord(token, 'count') && selected[i + 1]?.text === '(');
  return at >= 0 && !selected.some((token) => isWord(token, 'over'));
}
