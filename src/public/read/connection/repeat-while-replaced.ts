// A run may publish while a read is in progress, and may replace the table that its statement was written
// for. Every read that meets this is repeated from the state that is current by then, by the same rule.
import type { Log } from '../../../core/log.ts';
import { beingReplaced, isUndefinedColumn, isUndefinedObject } from './failures.ts';

/**
 * A table is replaced at most once in a run: more swaps than this in a row mean that the state names a table
 * that is not as published.
 */
const maxAttempts = 4;

type Read = {
  readonly log: Log;
  readonly organizationId: string;
  /** Upgrades the tables of an older version of this service; nothing to do in most calls. */
  readonly updateSchema?: (organizationId: string) => Promise<void>;
};

/**
 * The result of the first attempt that read current data. An attempt resolves with undefined when the data
 * was replaced meanwhile, or rejects with the error of PostgreSQL that its table is gone. `isLast` asks it to
 * read in a way that cannot be overtaken, if it has one. `mayRepeat` is asked before an attempt that failed
 * is repeated; by default only for that error. Rejects with 503 when the data was replaced during every
 * attempt, which is logged, and with any other error of an attempt.
 */
export async function repeatWhileReplaced<T>(
  { log, organizationId, updateSchema }: Read,
  recordType: string,
  attempt: (isLast: boolean) => Promise<T | undefined>,
  mayRepeat: (error: unknown) => boolean = isUndefinedObject,
): Promise<T> {
  let cause: unknown;
  for (let number = 1; number <= maxAttempts; number += 1) {
    try {
      const result = await attempt(number === maxAttempts);
      if (result !== undefined) return result;
    } catch (error) {
      if (!mayRepeat(error)) throw error;
      if (isUndefinedColumn(error)) await updateSchema?.(organizationId);
      cause = error;
    }
  }
  log.error({ err: cause, organizationId, recordType }, 'could not read the active table');
  throw beingReplaced(cause);
}
