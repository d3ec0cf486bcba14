// Background checks of domains: pending ones until their record exists, verified ones daily. Any number of
// processes may run them on one database: each due domain is claimed by one of them, with a lease.
import type { Ctx } from '../../core/ctx.ts';
import { type JobWorker, startJobWorker } from '../../db/job-worker.ts';
import { finishJob, type Job } from '../../db/jobs.ts';
import { inTransaction } from '../../db/transaction.ts';
import { resolveTxt } from '../../gateways/dns.ts';
import { systemAuthor } from '../../identity/audit.store.ts';
import { challengeName } from './domain-verdict.ts';
import { recordCheck } from './domains.service.ts';
import { findDomain } from './domains.store.ts';

const pollMs = 10_000;
const concurrency = 5;
/** Longer than a DNS lookup and its transaction take. */
const leaseMs = 60_000;

/** Saving the result sets the time of the next check. */
async function recheck(ctx: Ctx, job: Job, signal: AbortSignal): Promise<void> {
  const { organizationId, key: id } = job;
  const tenant = { ...ctx, organizationId };
  try {
    const row = await inTransaction(tenant, async (tx) => {
      const found = await findDomain(tx, organizationId, id);
      if (found !== undefined && found.status !== 'failed') return found;
      return void (await finishJob(tx, job));
    });
    if (row === undefined) return;
    const answer = await resolveTxt(ctx.settings, challengeName(row.hostname), { signal });
    // An aborted lookup is no result; the lease expires and the domain is checked again.
    if (!signal.aborted) await recordCheck(tenant, systemAuthor(organizationId), id, answer, row);
  } catch (error) {
    // A failure of one domain must not stop the checks of the others.
    ctx.log.error({ err: error, domainId: id }, 'checking a domain failed');
  }
}

/** `waitUntilIdle` resolves when every due domain has been checked. */
export const startDomainChecks = (ctx: Ctx): JobWorker =>
  startJobWorker(ctx, {
    kind: 'domains',
    pollMs,
    leaseMs,
    concurrency,
    work: (job, signal) => recheck(ctx, job, signal),
  });
