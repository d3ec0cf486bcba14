// What the provider has that no event told of: its objects that are not known here yet, and all that changed since the last look.
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { ProviderError, type ProviderObject } from '../../gateways/payments/provider.ts';
import { findAccount, openAccount, openAccountOf, providerSignal } from './accounts.ts';
import { noteLooked } from './config.store.ts';
import { settleEvents } from './events.store.ts';
import { mergePayment } from './merge.ts';
import { mergePayout } from './payouts.service.ts';
import { staleOpenPayouts } from './payouts.store.ts';
import { wake } from './tasks.store.ts';
import { wakeFor } from './webhooks.service.ts';

const minuteMs = 60_000;
const lookEveryMs = 5 * minuteMs;
/** The provider's clock may be off, and its lists may be late. */
const overlapMs = 15 * minuteMs;
const payoutEveryMs = 60 * minuteMs;
/** An object that the provider or the service doesn't know yet: so long until it is asked for again, then it is noted as unknown. */
const unknownWaitsMs = [10_000, minuteMs, 10 * minuteMs, 60 * minuteMs];
const wokenAtOnce = 200;
const looksWithinMs = 10 * minuteMs;

function objectOf(subject: string): ProviderObject {
  const [kind = '', ...rest] = subject.split(':');
  if (kind !== 'session' && kind !== 'payment' && kind !== 'payout') throw new Error(`a task names ${kind}`);
  return { kind, id: rest.join(':') };
}

const databaseTime = async (tx: Tx): Promise<Date> => {
  const { rows } = await tx.raw<{ rows: { at: Date }[] }>('select clock_timestamp() as at');
  return rows[0]?.at ?? new Date(0);
};

/** False when the provider has no such thing, or it is none of ours. */
async function takeIn(ctx: TenantCtx, accountId: string, { kind, id }: ProviderObject, stop: AbortSignal): Promise<boolean> {
  const provider = await openAccountOf(ctx, accountId);
  if (kind === 'payout') {
    const payout = await provider.payout(id, providerSignal(stop));
    if (payout !== null) await mergePayout(ctx, accountId, payout);
    return payout !== null;
  }
  const told = await provider.payment(kind === 'session' ? { sessionId: id } : { providerPaymentId: id }, providerSignal(stop));
  const payment = told === null ? undefined : await mergePayment(ctx, accountId, told);
  if (payment === undefined) return false;
  // From now on it is known by its names; whatever it needs besides is done there.
  await inTransaction(ctx, (tx) => wake(tx, ctx.organizationId, { accountId, kind: 'payment', subject: payment.id }));
  return true;
}

/** Says in how many ms to ask again, or null. `attempt` from 1. */
export async function checkObject(
  ctx: TenantCtx,
  accountId: string,
  subject: string,
  attempt: number,
  stop: AbortSignal,
): Promise<number | null> {
  const before = await inTransaction(ctx, databaseTime);
  const isKnown = await takeIn(ctx, accountId, objectOf(subject), stop);
  const wait = isKnown ? undefined : unknownWaitsMs[attempt - 1];
  if (wait !== undefined) return wait;
  if (!isKnown) ctx.log.warn({ organizationId: ctx.organizationId, accountId, subject }, 'an event named what is not known');
  await inTransaction(ctx, (tx) => settleEvents(tx, ctx.organizationId, accountId, [subject], isKnown ? 'merged' : 'unknown', before));
  return null;
}

/** Puts whatever changed into the queue. Safe to repeat: the mark moves when all of it is there. */
export async function checkAccount(ctx: TenantCtx, accountId: string, stop: AbortSignal): Promise<number> {
  const { account, began } = await inTransaction(ctx, async (tx) => ({
    account: await findAccount(tx, ctx.organizationId, accountId),
    began: await databaseTime(tx),
  }));
  if (account === undefined) throw new Error('the payment account is gone');
  const provider = await openAccount(ctx, account);
  const signal = AbortSignal.any([stop, AbortSignal.timeout(looksWithinMs)]);
  const put = (objects: readonly ProviderObject[]): Promise<void> =>
    inTransaction(ctx, async (tx) => {
      for (const object of objects) await wakeFor(tx, ctx.organizationId, accountId, object);
    });
  let found: ProviderObject[] = [];
  for await (const object of provider.changedSince(new Date(account.looked_until.getTime() - overlapMs), signal)) {
    found.push(object);
    if (found.length < wokenAtOnce) continue;
    await put(found);
    found = [];
  }
  await put(found);
  await inTransaction(ctx, async (tx) => {
    for (const id of await staleOpenPayouts(tx, ctx.organizationId, accountId, payoutEveryMs))
      await wakeFor(tx, ctx.organizationId, accountId, { kind: 'payout', id });
    await noteLooked(tx, ctx.organizationId, accountId, began);
  });
  return lookEveryMs;
}

/** Why a task failed, in words without secrets. */
export const reasonOf = (error: unknown): string =>
  error instanceof ProviderError ? `${error.kind}: ${error.message}`.slice(0, 500) : error instanceof Error ? error.name : 'unknown';
