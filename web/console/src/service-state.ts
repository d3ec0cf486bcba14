// The state of the service, as requests have found it: a session that ended, a limit, a service that doesn't
// answer.
import { signal } from '@preact/signals';

/**
 * A request was refused because the session is over. Further ones are not sent until the person has signed in
 * again.
 */
export const sessionEnded = signal(false);

/**
 * The organization that this page shows; empty before it is known. Every call is sent for it, whichever one
 * the session has chosen since.
 */
export const shownOrganization = signal('');

/** The number of reads that wait for the rate limit. */
export const limitedReads = signal(0);

/** The last request had no answer. */
export const unreachable = signal(false);

/** The number of runs that are open, as far as screens have read it lately. */
export const openRuns = signal(0);
/** Screens that know better read it again within this time. */
const forgetMs = 120_000;
let forgetting: ReturnType<typeof setTimeout> | undefined;

/** Says how many runs are open: no request is made for it alone, so that it is forgotten when no screen says it again. */
export function noteOpenRuns(count: number): void {
  openRuns.value = count;
  clearTimeout(forgetting);
  if (count > 0) forgetting = setTimeout(() => noteOpenRuns(0), forgetMs);
}
