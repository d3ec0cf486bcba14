// Parses long JSON without holding the event loop, which `JSON.parse` holds for half a second at 64 million characters.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/** Up to this length, the scan for slices costs more than it spares. */
const maxWholeLength = 2_097_152;
const minSliceLength = 262_144;

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The index of the quotation mark that ends the string which starts at `start`. */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === backslash) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
  return text.length;
}

/**
 * Cuts the arrays in the outermost object or array into slices of whole elements. `outer` is the text with each such array replaced by one
 * that holds its index in `arrays`. Every character is in exactly one of the texts, so all of them are valid JSON if the text is, and it is
 * if they are. Null for a text whose brackets don't match.
 */
async function parseArrays(text: string): Promise<{ readonly outer: string; readonly arrays: readonly unknown[][] } | null> {
  const arrays: unknown[][] = [];
  let current: unknown[] | null = null;
  let outer = '';
  let depth = 0;
  /** The end of the last slice, of an array or of what is around them. A slice of an array starts with a comma, except for its first one. */
  let from = 0;
  const parseSlice = (array: unknown[], to: number): void => {
    const isFirst = array.length === 0;
    const elements: unknown[] = JSON.parse(`[${isFirst ? '' : '0'}${text.slice(from, to)}]`);
    for (let index = isFirst ? 0 : 1; index < elements.length; index += 1) array.push(elements[index]);
    from = to;
  };
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = stringEnd(text, at);
    else if (code === openBrace || code === openBracket) {
      depth += 1;
      if (depth !== 2 || code !== openBracket) continue;
      outer += `${text.slice(from, at + 1)}${arrays.length}`;
      from = at + 1;
      current = [];
      arrays.push(current);
    } else if (code === closeBrace || code === closeBracket) {
      depth -= 1;
      if (depth !== 1 || current === null) continue;
      if (code !== closeBracket) return null;
      parseSlice(current, at);
      current = null;
    } else if (code === comma && depth === 2 && current !== null && at - from >= minSliceLength) {
      parseSlice(current, at);
      await yieldToEventLoop();
    }
  }
  return current === null ? { outer: outer + text.slice(from), arrays } : null;
}

/** As `JSON.parse`, in slices where the text is long and has long arrays. Rejects with SyntaxError for invalid JSON. */
export async function parseJson(text: string): Promise<unknown> {
  if (text.length <= maxWholeLength) return JSON.parse(text);
  const sliced = await parseArrays(text);
  if (sliced === null) return JSON.parse(text);
  const outer: unknown = JSON.parse(sliced.outer);
  const restore = (value: unknown): unknown => (Array.isArray(value) ? sliced.arrays[Number(value[0])] : value);
  if (Array.isArray(outer)) return outer.map(restore);
  if (typeof outer !== 'object' || outer === null) return outer;
  return Object.fromEntries(Object.entries(outer).map(([name, value]) => [name, restore(value)]));
}
