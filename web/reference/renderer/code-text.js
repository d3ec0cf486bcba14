// Colours sample code: strings, and the words that give it its structure. It knows just enough of the shell,
// JavaScript and Python for the samples of this page, and keeps every character.
import { make } from './dom.js';

const words = 'curl|await|const|for|from|if|import|in|new|of|throw';
const token = new RegExp(
  String.raw`(\\'|'[^']*'|"(?:[^"\\]|\\.)*")|((?<![\w-])(?:--?[A-Za-z]+|${words})(?![\w-]))`,
  'g',
);

/** The elements and texts of a piece of code. */
export function showCode(text) {
  const nodes = [];
  let end = 0;
  for (const { 0: found, 1: string, index } of text.matchAll(token)) {
    nodes.push(
      text.slice(end, index),
      make('span', { class: string === undefined ? 'json-word' : 'json-string' }, found),
    );
    end = index + found.length;
  }
  return [...nodes, text.slice(end)];
}
