// Finds what no webhook event reported: provider objects that this service doesn't know yet, and everything
// that changed since the last check of the account.
import type { TenantCtx } from '../../../core/ctx.ts';
import { inTransaction } from '../../../db/transaction.ts';
import { ProviderError, type ProviderObject } from '../../../gateways/payments/provider.ts';
import { databaseTime } from '../ledger/database-time.ts';
import { findAccount, saveCheckedUntil } from './accounts.store.ts';
import { createAccountProvider, getProvider, providerSignal } from './accounts.ts';
import { recordEventOutcome } from './events.store.ts';
import { mergePayment } from './merge.ts';
import { mergePayout } from './payouts.service.ts';
import { listStaleOpenPayouts } from './payouts.store.ts';
import { enqueueTask } from './tasks.store.ts';
import { enqueueObjectCheck } from './webhooks.service.ts';

const minuteMs = 60_000;
const pollIntervalMs = 5 * minuteMs;
/** The provider's clock may differ from ours, and its lists may lag behind. */
const overlapMs = 15 * minuteMs;
const payoutPollIntervalMs = 60 * minuteMs;
/** Delays for what either side doesn't know yet. After the last one it is recorded as unknown. */
const unknownRetryDelaysMs = [10_000, minuteMs, 10 * minuteMs, 60 * minuteMs];
const enqueueBatchSize = 200;
const accountCheckTimeoutMs = 10 * minuteMs;

function parseSubject(subject: string): ProviderObject {
  const [kind = '', ...rest] = subject.split(':');
  if (kind !== 'session' && kind !== 'payment' && kind !== 'payout')
    throw new Error(`Unknown object kind in a payment task: ${kind}`);
  return { kind, id: rest.join(':') };
}

/** False when the provider has no such object, or it isn't one of ours. */
async function fetchAndMerge(
  ctx: TenantCtx,
  accountId: string,
  { kind, id }: ProviderObject,
  stop: AbortSignal,
): Promise<boolean> {
  const provider = await getProvider(ctx, accountId);
  if (kind === 'payout') {
    const payout = await provider.findPayout(id, providerSignal(stop));
    if (payout !== null) await mergePayout(ctx, accountId, payout);
    return payout !== null;
  }
  const snapshot = await provider.findPayment(
    kind === 'session' ? { sessionId: id } : { providerPaymentId: id },
    providerSignal(stop),
  );
  const payment = snapshot === null ? undefined : await mergePayment(ctx, accountId, snapshot);
  if (payment === undefined) return false;
  // The payment now has the provider's ids; its own task does the rest.
  await inTransaction(ctx, (tx) =>
    enqueueTask(tx, ctx.organizationId, { accountId, kind: 'payment', subject: payment.id }),
  );
  return true;
}

/**
 * Returns the delay in ms until the next attempt, or null when done. `attempt` counts from 1. Throws
 * ProviderError when the provider fails, and Error for a malformed subject or a missing account.
 */
export async function checkObject(
  ctx: TenantCtx,
  accountId: string,
  subject: string,
  attempt: number,
  stop: AbortSignal,
): Promise<number | null> {
  const startedAt = await inTransaction(ctx, databaseTime);
  const isKnown = await fetchAndMerge(ctx, accountId, parseSubject(subject), stop);
  const delayMs = isKnown ? undefined : unknownRetryDelaysMs[attempt - 1];
  if (delayMs !== undefined) return delayMs;
  if (!isKnown)
    ctx.log.warn(
      { organizationId: ctx.organizationId, accountId, subject },
      'a payment event names an unknown object',
    );
  await inTransaction(ctx, (tx) =>
    recordEventOutcome(
      tx,
      ctx.organizationId,
      accountId,
      [subject],
      isKnown ? 'merged' : 'unknown',
      startedAt,
    ),
  );
  return null;
}

/**
 * Enqueues a check of everything that changed at the provider; returns the delay in ms until the next check.
 * Safe to repeat: the watermark `looked_until` advances only after all changes are enqueued. Throws
 * ProviderError when the provider fails, Error when the account is missing.
 */
export async function checkAccount(ctx: TenantCtx, accountId: string, stop: AbortSignal): Promise<number> {
  const { account, startedAt } = await inTransaction(ctx, async (tx) => ({
    account: await findAccount(tx, ctx.organizationId, accountId),
    startedAt: await databaseTime(tx),
  }));
  if (account === undefined) throw new Error('The payment account no longer exists');
  const provider = await createAccountProvider(ctx, account);
  const signal = AbortSignal.any([stop, AbortSignal.timeout(accountCheckTimeoutMs)]);
  const enqueue = (objects: readonly ProviderObject[]): Promise<void> =>
    inTransaction(ctx, async (tx) => {
      for (const object of objects) await enqueueObjectCheck(tx, ctx.organizationId, accountId, object);
    });
  let batch: ProviderObject[] = [];
  for await (const object of provider.listChangedSince(
    new Date(account.looked_until.getTime() - overlapMs),
    signal,
  )) {
    batch.push(object);
    if (batch.length < enqueueBatchSize) continue;
    await enqueue(batch);
    batch = [];
  }
  await enqueue(batch);
  await inTransaction(ctx, async (tx) => {
    for (const id of await listStaleOpenPayouts(tx, ctx.organizationId, accountId, payoutPollIntervalMs))
      await enqueueObjectCheck(tx, ctx.organizationId, accountId, { kind: 'payout', id });
    await saveCheckedUntil(tx, ctx.organizationId, accountId, account.looked_until, startedAt);
  });
  return pollIntervalMs;
}

/** Why a task failed, without secrets. It is stored, and shown as `lastError` of the configuration. */
export const describeTaskError = (error: unknown): string =>
  error instanceof ProviderError
    ? `${error.kind}: ${error.message}`.slice(0, 500)
    : error instanceof Error
      ? error.name
      : 'unknown';
