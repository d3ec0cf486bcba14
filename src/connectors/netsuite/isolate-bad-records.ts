// One record whose text breaks the answer of a whole page, or makes it too large, must not cost the others: they are asked for by
// halves until it stands alone. It must never take an outage for a bad record: whoever calls has just had a good answer for the ids.
import { ErpError } from '../connector.ts';

export const isSpoilt = (error: unknown): error is ErpError =>
  error instanceof ErpError && (error.code === 'ANSWER_MALFORMED' || error.code === 'ANSWER_TOO_LARGE');

/** What was found for some of the ids, or why the one id spoils every answer. In the order of the ids. */
export type Part<T> =
  | { readonly found: T; readonly id: null; readonly reason: null }
  | { readonly found: null; readonly id: string; readonly reason: string };

/** So many on one page are no matter of single records. */
const mostSpoilt = 50;

export async function askApart<T>(ids: readonly string[], ask: (ids: readonly string[]) => Promise<T>): Promise<Part<T>[]> {
  let spoilt = 0;
  const half = async (some: readonly string[]): Promise<Part<T>[]> => {
    const middle = Math.ceil(some.length / 2);
    return [...(await part(some.slice(0, middle))), ...(await part(some.slice(middle)))];
  };
  const part = async (some: readonly string[]): Promise<Part<T>[]> => {
    const [id] = some;
    if (id === undefined) return [];
    try {
      return [{ found: await ask(some), id: null, reason: null }];
    } catch (error) {
      if (!isSpoilt(error)) throw error;
      if (some.length > 1) return half(some);
      spoilt += 1;
      if (spoilt > mostSpoilt) throw error;
      return [{ found: null, id, reason: error.message }];
    }
  };
  return part(ids);
}
