// Replaces a piece of a source file, for tests that load the service with something switched off. How the
// code is broken into lines doesn't matter: between its words and signs there may be any white space, and a
// comma where a formatter adds one at the end of a line.

const closing = new Set([')', ']', '}']);
const isWord = (token: string): boolean => /^[\w$]/.test(token);

function toPattern(code: string): RegExp {
  const tokens = code.match(/[\w$]+|[^\s\w$]/gu) ?? [];
  const parts = tokens.map((token, at) => {
    const [before = '', after = ''] = [tokens[at - 1], tokens[at + 1]];
    const text = token.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
    const gap = at === 0 ? '' : isWord(before) && isWord(token) ? '\\s+' : '\\s*';
    if (token === ',' && closing.has(after)) return `${gap},?`;
    return closing.has(token) && before !== ',' ? `\\s*,?${gap}${text}` : gap + text;
  });
  return new RegExp(parts.join(''), 'gu');
}

/**
 * The source with `replace` in place of `find`. Throws an Error unless that occurs exactly once; `name` says
 * what for.
 */
export function replaceCode(source: string, find: string, replace: string, name: string): string {
  const found = [...source.matchAll(toPattern(find))];
  const [first] = found;
  if (first === undefined || found.length > 1)
    throw new Error(`${name}: its text occurs ${found.length} times instead of once: ${find}`);
  return source.slice(0, first.index) + replace + source.slice(first.index + first[0].length);
}
