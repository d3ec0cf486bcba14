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
