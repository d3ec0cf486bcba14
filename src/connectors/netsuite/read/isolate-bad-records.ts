// A single record can make the response for a whole page unreadable (broken text) or too large. This file
// finds such records by bisection, so that they don't cost the others. It must never mistake an outage for a
// bad record: call it only right after the ERP answered a request for the same ids successfully.
import { ErpError } from '../../connector.ts';

/** Whether the response could not be read because of its content or size, as one bad record can cause. */
export const isUnreadableResponse = (error: unknown): error is ErpError =>
  error instanceof ErpError && (error.code === 'ANSWER_MALFORMED' || error.code === 'ANSWER_TOO_LARGE');

/** The result for a batch of the ids, or why the response for a single id is unreadable. */
export type BatchResult<T> =
  | { readonly found: T; readonly id: null; readonly reason: null }
  | { readonly found: null; readonly id: string; readonly reason: string };

/** More bad records than this on one page mean that something else is wrong. */
const maxBadRecords = 50;

/**
 * Fetches the ids in batches that are halved until each unreadable response is down to a single id. Results
 * come in the order of the ids; once `isFull` is true for a batch, the ids behind it are not fetched and
 * returned as `rest`. Rejects with whatever `read` rejects with, except unreadable responses; of these the
 * one for the 51st bad record is thrown as well.
 */
export async function isolateBadRecords<T>(
  ids: readonly string[],
  read: (ids: readonly string[]) => Promise<T>,
  isFull: (found: T) => boolean,
): Promise<{ readonly parts: readonly BatchResult<T>[]; readonly rest: readonly string[] }> {
  let badRecords = 0;
  let full = false;
  const rest: string[] = [];
  const fetchHalves = async (some: readonly string[]): Promise<BatchResult<T>[]> => {
    const middle = Math.ceil(some.length / 2);
    return [...(await fetchBatch(some.slice(0, middle))), ...(await fetchBatch(some.slice(middle)))];
  };
  const fetchBatch = async (some: readonly string[]): Promise<BatchResult<T>[]> => {
    const [id] = some;
    if (full) rest.push(...some);
    if (full || id === undefined) return [];
    try {
      const found = await read(some);
      full = isFull(found);
      return [{ found, id: null, reason: null }];
    } catch (error) {
      if (!isUnreadableResponse(error)) throw error;
      if (some.length > 1) return fetchHalves(some);
      badRecords += 1;
      if (badRecords > maxBadRecords) throw error;
      return [{ found: null, id, reason: error.message }];
    }
  };
  return { parts: await fetchBatch(ids), rest };
}
