// Bounds what a read may cost, as a multiple of the list without filter: a request that costs PostgreSQL much
// more than others lets its callers take the time of everyone else.
import { defaultPageSize } from '../../db/page.ts';

/** Times the cost of the first page without filter. */
export const maxPlainLists = 20;
/** A total has to see what it counts, and is kept: counting may cost what the pages of these records cost. */
export const maxListsToCount = (rows: number) => Math.max(maxPlainLists, Math.ceil(rows / defaultPageSize));
/** A faster list counts as this long, so that a busy moment of the machine decides nothing. */
const minPlainMs = 5;
/** Only a read that is too slow in each of them is refused. */
const maxAttempts = 5;
/** Longer than a processor is given to others at a time. */
const enoughMs = 100;

type Run = () => Promise<number>;

type Cost = { readonly ms: number; readonly plainMs: number };

/**
 * Undefined unless a read costs more than `maxLists` plain lists. Each further attempt measures both for
 * about the same time: of a processor that others use, a short statement gets all, and a long one its share.
 */
export async function findCost(first: Cost, maxLists: number, read: Run, plain: Run) {
  let found = first;
  for (let attempt = 1; found.ms > maxLists * Math.max(found.plainMs, minPlainMs); attempt += 1) {
    if (attempt === maxAttempts) return found;
    const ms = await read();
    found = { plainMs: await average(plain, ms), ms };
  }
  return undefined;
}

async function average(run: Run, totalMs: number): Promise<number> {
  let [sum, runs] = [0, 0];
  for (; sum < Math.min(totalMs, enoughMs) || runs === 0; runs += 1) sum += await run();
  return sum / runs;
}
