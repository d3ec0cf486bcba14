// Which object a Stripe event concerns. Only ids and our own metadata are read from events: everything else
// may be outdated or of another API version.
import Stripe from 'stripe';
import { z } from 'zod';
import { findJson } from '../../../core/text/parse-json.ts';
import { ProviderError, type ProviderEvent, type ProviderObject } from '../provider.ts';
import { ourPaymentId } from './snapshots.ts';

/** The maximum age of a signature. */
const toleranceSeconds = 300;

/**
 * The types to subscribe a webhook endpoint to, and to list for missed events. Stripe's list accepts at most
 * twenty types.
 */
export const eventTypes = [
  'checkout.session.completed',
  'checkout.session.expired',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'payment_intent.processing',
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
  'payment_intent.canceled',
  'charge.refunded',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'payout.created',
  'payout.updated',
  'payout.paid',
  'payout.reconciliation_completed',
  'payout.failed',
  'payout.canceled',
] as const;

const Id = z.string().min(1).max(255);
const Reference = z.union([Id, z.object({ id: Id })]).nullish();
const EventText = z.object({
  id: Id,
  type: z.string().max(200),
  /** Set for events of a connected account, whose payments don't belong to this account. */
  account: z.string().nullish(),
  data: z
    .object({
      object: z.object({
        id: Id.optional(),
        object: z.string(),
        payment_intent: Reference,
        metadata: z.record(z.string(), z.string()).nullish(),
      }),
    })
    .optional(),
  /** Thin events have only a reference to the object. */
  related_object: z.object({ id: Id, type: z.string() }).nullish(),
});

const kinds: Readonly<Record<string, ProviderObject['kind']>> = {
  'checkout.session': 'session',
  payment_intent: 'payment',
  payout: 'payout',
};

type Given = {
  readonly id?: string | undefined;
  readonly object: string;
  readonly payment_intent?: unknown;
  readonly metadata?: Readonly<Record<string, string>> | null | undefined;
};

/** Null for an object of an irrelevant type. */
function toProviderObject(given: Given): ProviderObject | null {
  const kind = kinds[given.object];
  if (kind !== undefined) return given.id === undefined ? null : { kind, id: given.id };
  if (!['charge', 'refund', 'dispute'].includes(given.object)) return null;
  const intent = Reference.safeParse(given.payment_intent).data;
  return intent ? { kind: 'payment', id: typeof intent === 'string' ? intent : intent.id } : null;
}

/**
 * The object types that carry our metadata from the start. A refund or payout itself doesn't show which
 * payment it belongs to.
 */
const marked = new Set(['checkout.session', 'payment_intent', 'charge']);

/** The same, but null for payments that other programs or organizations made on the same Stripe account. */
export const findOurObject = (given: Given, accountId: string): ProviderObject | null =>
  marked.has(given.object) && ourPaymentId({ metadata: given.metadata ?? null }, accountId) === null
    ? null
    : toProviderObject(given);

/** Throws ProviderError: 'bad-signature', or 'malformed-answer' for a signed body that can't be parsed. */
export function parseStripeEvent(
  rawBody: Buffer,
  signature: string | undefined,
  {
    accountId,
    webhookSecret,
    nowMs,
  }: { readonly accountId: string; readonly webhookSecret: string; readonly nowMs: number },
): ProviderEvent {
  try {
    const { signature: verifier } = Stripe.webhooks;
    if (verifier === null) throw new Error('the Stripe library has no signature verifier');
    verifier.verifyHeader(rawBody, signature ?? '', webhookSecret, toleranceSeconds, undefined, nowMs);
  } catch {
    throw new ProviderError('bad-signature', 'The event is not signed by Stripe, or is too old');
  }
  const event = EventText.safeParse(findJson(rawBody.toString('utf8'))).data;
  if (event === undefined) throw new ProviderError('malformed-answer', 'The event cannot be read');
  const { id, type, account, data, related_object: related } = event;
  const concerns =
    data === undefined
      ? related && toProviderObject({ id: related.id, object: related.type })
      : findOurObject(data.object, accountId);
  return { id, type, concerns: account ? null : (concerns ?? null) };
}
