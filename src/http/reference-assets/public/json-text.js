// Lays JSON out as elements from its text alone. Nothing is parsed into values, so every digit stays as it came.
import { make } from './dom.js';

const token = /\s*(?:([{}[\],:])|("(?:[^"\\]+|\\.)*")|(-?\d[\d.eE+-]*|true|false|null))/y;
/** Beyond this many characters colours cost more than they give. */
const mostColoured = 200_000;
/** Beyond this many a page would be slow to scroll; the whole answer can be saved. */
const mostShown = 1_000_000;

/** The tokens of a JSON text; undefined where it isn't one. */
function tokensOf(text) {
  const tokens = [];
  token.lastIndex = 0;
  let end = 0;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    tokens.push({ mark: match[1], string: match[2], word: match[3] });
    end = token.lastIndex;
  }
  return text.slice(end).trim() === '' && tokens.length > 0 ? tokens : undefined;
}

const classOf = ({ string, word }, next) => {
  if (string !== undefined) return next?.mark === ':' ? 'json-name' : 'json-string';
  return /^[-\d]/.test(word) ? 'json-number' : 'json-word';
};

/** Pieces of the laid-out text, each with its kind; `kind` is empty for punctuation and space. */
function* pieces(tokens) {
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  for (const [index, current] of tokens.entries()) {
    const { mark } = current;
    const next = tokens[index + 1];
    if (mark === undefined) yield { kind: classOf(current, next), text: current.string ?? current.word };
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

/** The text with line breaks; what is no JSON comes back as it is. */
export function layOut(text) {
  const tokens = tokensOf(text);
  return tokens === undefined ? text : [...pieces(tokens)].map((piece) => piece.text).join('');
}

/** Elements for a text, coloured when it is JSON, and whether it was cut. */
export function showText(text, isJson) {
  if (text.length > mostColoured || !isJson) {
    const laidOut = isJson && text.length <= mostShown ? layOut(text) : text;
    return { nodes: [laidOut.slice(0, mostShown)], isCut: laidOut.length > mostShown };
  }
  const tokens = tokensOf(text);
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
