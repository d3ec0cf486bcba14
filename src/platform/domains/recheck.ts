// Background checks of domains: pending ones until their record exists, verified ones daily. Any number of
// processes may run them on one database: each due domain is claimed by one of them, with a lease.
import type { Ctx } from '../../core/ctx.ts';
import { type QueueWorker, startQueueWorker } from '../../db/queue-worker.ts';
import { inTransaction } from '../../db/transaction.ts';
import { resolveTxt } from '../../gateways/dns.ts';
import { systemAuthor } from '../../identity/audit.store.ts';
import { challengeName } from './domain-verdict.ts';
import { recordCheck } from './domains.service.ts';
import { findDomain } from './domains.store.ts';

const pollMs = 10_000;
const maxConcurrency = 5;
/** Longer than a DNS lookup and its transaction take. */
const leaseSeconds = 60;

type Due = { organization_id: string; id: string };

async function claim(ctx: Ctx): Promise<Due | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: Due[] }>(
    'select * from claim_due_domains(1, make_interval(secs => ?))',
    [leaseSeconds],
  );
  return rows[0];
}

async function recheck(
  ctx: Ctx,
  { organization_id: organizationId, id }: Due,
  signal: AbortSignal,
): Promise<void> {
  const tenant = { ...ctx, organizationId };
  try {
    const row = await inTransaction(tenant, (tx) => findDomain(tx, organizationId, id));
    if (row === undefined || row.status === 'failed') return;
    const answer = await resolveTxt(ctx.settings, challengeName(row.hostname), { signal });
    // An aborted lookup is no result; the lease expires and the domain is checked again.
    if (!signal.aborted) await recordCheck(tenant, systemAuthor(organizationId), id, answer, row);
  } catch (error) {
    // A failure of one domain must not stop the checks of the others.
    ctx.log.error({ err: error, domainId: id }, 'checking a domain failed');
  }
}

/** `waitUntilIdle` resolves when every due domain has been checked. */
export const startDomainChecks = (ctx: Ctx): QueueWorker =>
  startQueueWorker<Due>(ctx, {
    name: 'domains',
    pollMs,
    concurrency: maxConcurrency,
    claim: () => claim(ctx),
    work: (due, stopping) => recheck(ctx, due, stopping),
  });
