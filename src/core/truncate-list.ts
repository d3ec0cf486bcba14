// Keeps an answer within a number of characters by leaving whole items out, and says so. Items are JSON text and are copied, never
// parsed, so that numbers keep their digits. For readers who pay by the character, such as language models.
import { AppError } from './errors.ts';

/** As many whole items from the front of `{…},{…}` as fit into `most` characters. */
export function frontOf(items: string, most: number): { readonly text: string; readonly count: number } {
  let depth = 0;
  let inText = false;
  let count = 0;
  let end = 0;
  for (let at = 0; at < items.length && at < most; at += 1) {
    const character = items[at];
    if (inText) {
      if (character === '\\') at += 1;
      else if (character === '"') inText = false;
    } else if (character === '"') inText = true;
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

export const tooLong = (path: string, advice: string): AppError => {
  const message = `The answer is too long: ${advice}`;
  return new AppError('BAD_REQUEST', message, { details: [{ path, code: 'answer_too_long', message }] });
};

type Bounded = {
  /** What the list is called in the answer. */
  readonly name: string;
  /** JSON objects, separated by commas. */
  readonly items: string;
  readonly of: number;
  /** What else the answer holds. */
  readonly rest: Readonly<Record<string, unknown>>;
  readonly most: number;
  /** How to ask for less; `path` is the input that does. */
  readonly advice: string;
  readonly path: string;
};

const roomForCut = 120;

/** An object with the list first. Throws 400 when not even one item fits. */
export function boundedList({ name, items, of, rest, most, advice, path }: Bounded): string {
  const others = JSON.stringify(rest).slice(1, -1);
  const tail = others === '' ? '' : `,${others}`;
  const room = most - tail.length;
  if (items.length <= room) return `{"${name}":[${items}]${tail}}`;
  const { text, count } = frontOf(items, room - roomForCut - advice.length);
  if (count === 0) throw tooLong(path, advice);
  const cut = { shown: count, of, message: `Only the first ${count} of ${of} are shown: ${advice}` };
  return `{"${name}":[${text}]${tail},"cut":${JSON.stringify(cut)}}`;
}
