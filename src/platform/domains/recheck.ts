// Looks again, without being asked, for the records of pending domains. Any number of processes may do it on one database: each
// due domain is given to one of them.
import type { Ctx } from '../../core/ctx.ts';
import { type QueueWork, startQueueWork } from '../../db/queue-work.ts';
import { inTransaction } from '../../db/transaction.ts';
import { lookUpTxt } from '../../gateways/dns.ts';
import { serviceItself } from '../../identity/audit.store.ts';
import { challengeName } from './check.ts';
import { settle } from './domains.service.ts';
import { findDomain } from './domains.store.ts';

const pollMs = 10_000;
const lanes = 5;
/** Longer than a look-up and its transaction take. */
const leaseSeconds = 60;

type Due = { organization_id: string; id: string };

async function claim(ctx: Ctx): Promise<Due | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: Due[] }>('select * from claim_due_domains(1, make_interval(secs => ?))', [
    leaseSeconds,
  ]);
  return rows[0];
}

async function recheck(ctx: Ctx, { organization_id: organizationId, id }: Due, signal: AbortSignal): Promise<void> {
  const tenant = { ...ctx, organizationId };
  try {
    const row = await inTransaction(tenant, (tx) => findDomain(tx, organizationId, id));
    if (row === undefined) return;
    const answer = await lookUpTxt(ctx.settings, challengeName(row.hostname), { signal });
    // A look-up cut short says nothing about the domain; its lease ends by itself.
    if (!signal.aborted) await settle(tenant, serviceItself(organizationId), id, answer, 'background');
  } catch (error) {
    // One domain's trouble must not keep the others waiting.
    ctx.log.error({ err: error, domainId: id }, 'a pending domain could not be checked');
  }
}

/** `settled` looks at every domain that is due. */
export const startDomainChecks = (ctx: Ctx): QueueWork =>
  startQueueWork<Due>(ctx, {
    name: 'domains',
    pollMs,
    lanes,
    claim: () => claim(ctx),
    work: (due, stopping) => recheck(ctx, due, stopping),
  });
