import type { Ctx } from '../../src/core/ctx.ts';
import { claimJob, type Job } from '../../src/db/jobs.ts';
import { startAttempt } from '../../src/mail/outgoing-mails.store.ts';

/** Claims a mail and marks it as being sent, as a sender does; undefined when none is to be sent. */
export async function startMail(ctx: Ctx, leaseMs = 60_000): Promise<Job | undefined> {
  for (;;) {
    const job = await claimJob(ctx, 'mails', leaseMs);
    if (job === undefined || (await startAttempt(ctx, job)) !== undefined) return job;
  }
}

/** Its id. */
export const claimMail = async (ctx: Ctx): Promise<string | undefined> => (await startMail(ctx))?.key;
