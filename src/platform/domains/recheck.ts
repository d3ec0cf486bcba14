// Looks again, without being asked, for the records of pending domains. Any number of processes may do it on one database: each
// due domain is given to one of them.
import type { Ctx } from '../../core/ctx.ts';
import { type Recurring, recurring } from '../../core/recurring.ts';
import { inTransaction } from '../../db/transaction.ts';
import { lookUpTxt } from '../../gateways/dns.ts';
import { serviceItself } from '../audit.store.ts';
import { challengeName } from './check.ts';
import { settle } from './domains.service.ts';
import { findDomain } from './domains.store.ts';

const everyMs = 10_000;
const atOnce = 5;
/** Longer than a look-up and its transaction take. */
const leaseSeconds = 60;

type Due = { organization_id: string; id: string };

const claim = async (ctx: Ctx, most: number): Promise<Due[]> =>
  (await ctx.db.control.raw<{ rows: Due[] }>('select * from claim_due_domains(?, make_interval(secs => ?))', [most, leaseSeconds])).rows;

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

/** Goes on with whatever is due next, so that a slow name server holds up one lane alone. */
async function recheckInLane(ctx: Ctx, first: Due, signal: AbortSignal): Promise<void> {
  for (let due: Due | undefined = first; due !== undefined && !signal.aborted; [due] = signal.aborted ? [] : await claim(ctx, 1))
    await recheck(ctx, due, signal);
}

async function recheckDue(ctx: Ctx, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const lanes = await Promise.allSettled((await claim(ctx, atOnce)).map((first) => recheckInLane(ctx, first, signal)));
  for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason;
}

/** `tick` looks at every domain that is due. */
export const startDomainChecks = (ctx: Ctx): Recurring =>
  recurring(
    everyMs,
    (stopping) => recheckDue(ctx, stopping),
    (error) => ctx.log.warn({ err: error }, 'due domains could not be claimed'),
  );
