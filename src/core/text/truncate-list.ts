// Keeps a response within a number of characters by dropping whole items from the end of its list, and
// reports that it did. Items are copied as JSON text, never parsed, so that numbers keep their digits. For
// clients with limited input, such as language models.
import { AppError } from '../errors.ts';

/** Takes as many whole items from the start of `{…},{…}` as fit into `maxChars` characters. */
export function takeWholeItems(
  items: string,
  maxChars: number,
): { readonly text: string; readonly count: number } {
  let depth = 0;
  let inString = false;
  let count = 0;
  let end = 0;
  for (let at = 0; at < items.length && at < maxChars; at += 1) {
    const character = items[at];
    if (inString) {
      if (character === '\\') at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      if (depth > 0) continue;
      count += 1;
      end = at + 1;
    }
  }
  return { text: items.slice(0, end), count };
}

/** 400 `answer_too_long`; `path` is the input that reduces the response, `advice` says how. */
export const responseTooLong = (path: string, advice: string): AppError => {
  const message = `The response is too long: ${advice}`;
  return new AppError('BAD_REQUEST', message, { details: [{ path, code: 'answer_too_long', message }] });
};

type TruncatedList = {
  /** The property name of the list in the response. */
  readonly name: string;
  /** JSON objects, separated by commas. */
  readonly items: string;
  /** Total number of items, including those that the response leaves out. */
  readonly of: number;
  /** The response's other properties. */
  readonly rest: Readonly<Record<string, unknown>>;
  readonly maxChars: number;
  /** How to request less; `path` names the input that does so. */
  readonly advice: string;
  readonly path: string;
};

/** Characters reserved for the property `cut`, without the advice. */
const cutNoticeChars = 120;

/**
 * JSON text of an object with the list as its first property, and `cut` when items were left out. Throws 400
 * `answer_too_long` when not even one item fits.
 */
export function truncatedList({ name, items, of, rest, maxChars, advice, path }: TruncatedList): string {
  const others = JSON.stringify(rest).slice(1, -1);
  const tail = others === '' ? '' : `,${others}`;
  const available = maxChars - tail.length;
  if (items.length <= available) return `{"${name}":[${items}]${tail}}`;
  const { text, count } = takeWholeItems(items, available - cutNoticeChars - advice.length);
  if (count === 0) throw responseTooLong(path, advice);
  const cut = { shown: count, of, message: `Only the first ${count} of ${of} are shown: ${advice}` };
  return `{"${name}":[${text}]${tail},"cut":${JSON.stringify(cut)}}`;
}
