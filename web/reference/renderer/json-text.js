// Formats JSON text as elements. Nothing is parsed into values, so every digit is preserved.
import { make } from './dom.js';

const token = /\s*(?:([{}[\],:])|("(?:[^"\\]+|\\.)*")|(-?\d[\d.eE+-]*|true|false|null))/y;
/** Texts of more characters aren't coloured, which would be too slow. */
const maxColouredLength = 200_000;
/**
 * Texts of more characters are cut, since the page would be slow to scroll; the complete response can be
 * saved.
 */
const maxShownLength = 1_000_000;

/** The tokens of a JSON text; undefined when it isn't JSON. */
function tokenize(text) {
  const tokens = [];
  token.lastIndex = 0;
  let end = 0;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    tokens.push({ mark: match[1], string: match[2], word: match[3] });
    end = token.lastIndex;
  }
  return text.slice(end).trim() === '' && tokens.length > 0 ? tokens : undefined;
}

const classifyToken = ({ string, word }, next) => {
  if (string !== undefined) return next?.mark === ':' ? 'json-name' : 'json-string';
  return /^[-\d]/.test(word) ? 'json-number' : 'json-word';
};

/** The pieces of the formatted text, each with its kind, which is empty for punctuation and space. */
function* pieces(tokens) {
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  for (const [index, current] of tokens.entries()) {
    const { mark } = current;
    const next = tokens[index + 1];
    if (mark === undefined)
      yield { kind: classifyToken(current, next), text: current.string ?? current.word };
    else if (mark === ':') yield { kind: '', text: ': ' };
    else if (mark === ',') yield { kind: '', text: `,${line()}` };
    else if (mark === '{' || mark === '[') {
      const isEmpty = next?.mark === '}' || next?.mark === ']';
      if (!isEmpty) depth += 1;
      yield { kind: '', text: isEmpty ? mark : mark + line() };
    } else {
      const isEmpty = tokens[index - 1]?.mark === '{' || tokens[index - 1]?.mark === '[';
      if (!isEmpty) depth -= 1;
      yield { kind: '', text: isEmpty ? mark : line() + mark };
    }
  }
}

/** The text with line breaks and indentation; returned unchanged when it isn't JSON. */
export function formatJson(text) {
  const tokens = tokenize(text);
  return tokens === undefined ? text : [...pieces(tokens)].map((piece) => piece.text).join('');
}

/** Returns `{nodes, isCut}`: elements for a text, coloured when it is JSON, and whether it was cut. */
export function showText(text, isJson) {
  if (text.length > maxColouredLength || !isJson) {
    const laidOut = isJson && text.length <= maxShownLength ? formatJson(text) : text;
    return { nodes: [laidOut.slice(0, maxShownLength)], isCut: laidOut.length > maxShownLength };
  }
  const tokens = tokenize(text);
  if (tokens === undefined) return { nodes: [text], isCut: false };
  const nodes = [];
  let plain = '';
  for (const { kind, text: part } of pieces(tokens)) {
    if (kind === '') {
      plain += part;
      continue;
    }
    nodes.push(plain, make('span', { class: kind }, part));
    plain = '';
  }
  return { nodes: [...nodes, plain], isCut: false };
}
