// Parses long JSON without holding the event loop, which `JSON.parse` holds for half a second at 64 million
// characters.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/** Up to this length, the scan for slices costs more than it spares. */
const maxWholeLength = 2_097_152;
const minSliceLength = 262_144;

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Whether an odd number of backslashes from `start` on precedes `end`: what is there is escaped. */
function isEscapedAt(text: string, start: number, end: number): boolean {
  let before = end - 1;
  while (before >= start && text.charCodeAt(before) === backslash) before -= 1;
  return (end - before) % 2 === 0;
}

/** Finds the ends of strings, which may go on in the next part. */
function createStringScan() {
  let isEscaped = false;
  return {
    /** The index of the quotation mark that ends the string at `at`, or -1 when this part doesn't. */
    endIn(part: string, at: number): number {
      const start: number = at + (isEscaped ? 1 : 0);
      let end = part.indexOf('"', start);
      while (end !== -1 && isEscapedAt(part, start, end)) end = part.indexOf('"', end + 1);
      isEscaped = end === -1 && isEscapedAt(part, start, part.length);
      return end;
    },
  };
}

/** `text`: elements of an array as JSON, with a comma before all but the first one of the array. */
function append(array: unknown[], text: string): void {
  const isFirst = array.length === 0;
  const elements: unknown[] = JSON.parse(`[${isFirst ? '' : '0'}${text}]`);
  for (let index = isFirst ? 0 : 1; index < elements.length; index += 1) array.push(elements[index]);
}

/**
 * Cuts the arrays in the outermost object or array into slices of whole elements. `outer` is the text with
 * each such array replaced by one that holds its index in `arrays`. Every character is in exactly one of the
 * texts, so all of them are valid JSON if the text is, and it is if they are. Null when brackets don't match.
 */
async function parseArrays(
  parts: readonly string[],
): Promise<{ readonly outer: string; readonly arrays: readonly unknown[][] } | null> {
  const arrays: unknown[][] = [];
  let current: unknown[] | null = null;
  let outer = '';
  let depth = 0;
  let isInString = false;
  const strings = createStringScan();
  /** What the parts before have of the next slice, of an array or of what is around them. */
  let held = '';
  for (const part of parts) {
    let from = 0;
    const take = (to: number): string => {
      const text = held + part.slice(from, to);
      [held, from] = ['', to];
      return text;
    };
    for (let at = 0; at < part.length; at += 1) {
      if (isInString) {
        at = strings.endIn(part, at);
        isInString = at === -1;
        if (isInString) break;
        continue;
      }
      const code = part.charCodeAt(at);
      if (code === quote) isInString = true;
      else if (code === openBrace || code === openBracket) {
        depth += 1;
        if (depth !== 2 || code !== openBracket) continue;
        outer += `${take(at + 1)}${arrays.length}`;
        current = [];
        arrays.push(current);
      } else if (code === closeBrace || code === closeBracket) {
        depth -= 1;
        if (depth !== 1 || current === null) continue;
        if (code !== closeBracket) return null;
        append(current, take(at));
        current = null;
      } else if (
        code === comma &&
        depth === 2 &&
        current !== null &&
        held.length + at - from >= minSliceLength
      ) {
        append(current, take(at));
        await yieldToEventLoop();
      }
    }
    held += part.slice(from);
  }
  return current === null ? { outer: outer + held, arrays } : null;
}

/** Undefined for text that is not JSON. */
export function findJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * As `JSON.parse` of the joined parts, in slices where the text is long and has long arrays. Rejects with
 * SyntaxError for invalid JSON.
 */
export async function parseJson(parts: readonly string[]): Promise<unknown> {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const sliced = length <= maxWholeLength ? null : await parseArrays(parts);
  if (sliced === null) return JSON.parse(parts.join(''));
  const outer: unknown = JSON.parse(sliced.outer);
  const restore = (value: unknown) => (Array.isArray(value) ? sliced.arrays[Number(value[0])] : value);
  if (Array.isArray(outer)) return outer.map(restore);
  if (typeof outer !== 'object' || outer === null) return outer;
  return Object.fromEntries(Object.entries(outer).map(([name, value]) => [name, restore(value)]));
}
