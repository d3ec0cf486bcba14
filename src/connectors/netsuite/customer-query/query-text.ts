// Checks the text of a customer's query before it becomes a table within other queries, `SELECT … FROM
// (<query>) t`: it must not end that parenthesis or hide what follows it. NetSuite decides everything else.
import { maxQueryCharacters } from '../../discovery.ts';

/** `sql` is the statement without comments; `columns` are those of its select list, in lower case. */
export type QueryText = { readonly sql: string; readonly columns: readonly string[] };

/** A table of PostgreSQL has at most 1,600 columns, and a column that changes its type takes another one. */
const maxColumns = 500;

const tokens =
  /(?<space>\s+|--[^\n]*|\/\*[\s\S]*?\*\/)|(?<word>[A-Za-z_][\w$#]*)|"(?<quoted>[^"]*)"|(?<text>'(?:[^']|'')*')|(?<open>(?:\/\*|["'])[\s\S]*)|(?<symbol>[\s\S])/g;

type Token = {
  readonly text: string;
  readonly kind: 'space' | 'word' | 'quoted' | 'text' | 'open' | 'symbol';
  readonly name: string;
};

function tokenize(query: string): Token[] {
  return [...query.matchAll(tokens)].map(({ 0: text, groups = {} }) => {
    const kind =
      (['space', 'word', 'quoted', 'text', 'open'] as const).find((name) => groups[name] !== undefined) ??
      'symbol';
    return { text, kind, name: (groups['quoted'] ?? text).toLowerCase() };
  });
}

const isWord = (token: Token | undefined, name: string) => token?.kind === 'word' && token.name === name;

/** The select list's items: the tokens of each. */
function selectList(all: readonly Token[]): Token[][] {
  const items: Token[][] = [[]];
  let depth = 0;
  for (const token of all.slice(1)) {
    if (depth === 0 && isWord(token, 'from')) break;
    if (token.text === '(') depth += 1;
    if (token.text === ')') depth -= 1;
    if (depth === 0 && token.text === ',') items.push([]);
    else items.at(-1)?.push(token);
  }
  return items;
}

/** The name of the item's column; null for `*` and for an expression without an alias. */
function findName(item: readonly Token[]): string | null {
  const last = item.at(-1);
  const isName = last?.kind === 'quoted' || (last?.kind === 'word' && !['end', 'null'].includes(last.name));
  return isName ? last.name : null;
}

/** The names of all columns: NetSuite's rows lack empty columns, so `*` doesn't show them reliably. */
function readColumns(items: readonly Token[][]): Pick<QueryText, 'columns'> | { readonly problem: string } {
  if (items.length > maxColumns) return { problem: `The query must have at most ${maxColumns} columns` };
  const columns: string[] = [];
  for (const item of items) {
    const name = findName(item);
    const text = item
      .map((token) => token.text)
      .join(' ')
      .slice(0, 200);
    if (item.length === 0) return { problem: 'The select list lacks a column before or after a comma' };
    if (item.at(-1)?.text === '*') return { problem: `Name each column instead of ${text}` };
    if (name === null) return { problem: `Give the column an alias: ${text}` };
    if (columns.includes(name))
      return { problem: `The column ${name} occurs twice: give one of them another alias` };
    columns.push(name);
  }
  return { columns };
}

/** Why the query can't be used, as a sentence; null when its text is one complete SELECT. */
function findProblem(all: readonly Token[]): string | null {
  if (!isWord(all[0], 'select')) return 'The query must be one SELECT statement';
  let depth = 0;
  for (const [index, { text, kind, name }] of all.entries()) {
    if (kind === 'open')
      return text.startsWith('/*')
        ? 'A comment is not closed: */ is missing'
        : `A text is not closed: ${text[0]} is missing`;
    if (text === ';') return 'The query must be one statement, without a semicolon';
    if (isWord(all[index], 'rownum'))
      return 'ROWNUM numbers the rows of each answer again: select and identify rows by a column';
    if (text === '?') return 'The query must not have parameters: write the value instead of ?';
    if (kind === 'word' && /^n?q$/.test(name) && all[index + 1]?.kind === 'text')
      return "Texts must be quoted with ' alone";
    if (text === '(') depth += 1;
    if (text === ')') depth -= 1;
    if (depth < 0) return 'A closing parenthesis has no opening one';
  }
  return depth === 0 ? null : 'A closing parenthesis is missing';
}

/** The checked query, or the problem with it, as a sentence. A semicolon at its end is removed. */
export function checkQueryText(query: string): QueryText | { readonly problem: string } {
  if (query.length > maxQueryCharacters)
    return { problem: `The query must have at most ${maxQueryCharacters} characters` };
  const all = tokenize(query);
  const end = all.findLastIndex(({ kind }) => kind !== 'space');
  const written = all[end]?.text === ';' ? all.slice(0, end) : all;
  const present = written.filter(({ kind }) => kind !== 'space');
  const problem = findProblem(present);
  if (problem !== null) return { problem };
  const read = readColumns(selectList(present));
  if ('problem' in read) return read;
  const sql = written.map(({ kind, text }) => (kind === 'space' && text.trim() !== '' ? ' ' : text)).join('');
  return { sql: sql.trim(), ...read };
}
