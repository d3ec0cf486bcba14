// What Stripe's events are about. Only ids and our own marks are read from them: all else may be old, and of another version of Stripe's
// interface.
import Stripe from 'stripe';
import { z } from 'zod';
import { ProviderError, type ProviderEvent, type ProviderObject } from '../provider.ts';
import { ourPaymentId } from './snapshots.ts';

/** How old a signature may be. */
const toleranceSeconds = 300;

/** Those that an endpoint should be sent, and that are listed for what it missed. Stripe lists by at most twenty. */
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
  /** Of a connected account, whose payments are none of this account's. */
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
  /** Events of the thin kind name the object alone. */
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

/** Null for an object that means nothing here. */
function objectOf(given: Given): ProviderObject | null {
  const kind = kinds[given.object];
  if (kind !== undefined) return given.id === undefined ? null : { kind, id: given.id };
  if (!['charge', 'refund', 'dispute'].includes(given.object)) return null;
  const intent = Reference.safeParse(given.payment_intent).data;
  return intent ? { kind: 'payment', id: typeof intent === 'string' ? intent : intent.id } : null;
}

/** Those that carry our marks from the beginning. What a refund or a payout is about can't be seen from it. */
const marked = new Set(['checkout.session', 'payment_intent', 'charge']);

/** The same without payments of other programs, and of other organizations, that the account serves as well. */
export const ourObjectOf = (given: Given, accountId: string): ProviderObject | null =>
  marked.has(given.object) && ourPaymentId({ metadata: given.metadata ?? null }, accountId) === null ? null : objectOf(given);

/** Throws ProviderError: 'bad-signature', or 'malformed-answer' for what Stripe signed and nobody can read. */
export function readStripeEvent(
  rawBody: Buffer,
  signature: string | undefined,
  { accountId, webhookSecret, nowMs }: { readonly accountId: string; readonly webhookSecret: string; readonly nowMs: number },
): ProviderEvent {
  try {
    const { signature: verifier } = Stripe.webhooks;
    if (verifier === null) throw new Error('the library has nothing to verify with');
    verifier.verifyHeader(rawBody, signature ?? '', webhookSecret, toleranceSeconds, undefined, nowMs);
  } catch {
    throw new ProviderError('bad-signature', 'The event is not signed by Stripe, or was sent too long ago');
  }
  const event = EventText.safeParse(parsed(rawBody)).data;
  if (event === undefined) throw new ProviderError('malformed-answer', "The event can't be read");
  const { id, type, account, data, related_object: related } = event;
  const aboutOurs =
    data === undefined ? related && objectOf({ id: related.id, object: related.type }) : ourObjectOf(data.object, accountId);
  return { id, type, concerns: account ? null : (aboutOurs ?? null) };
}

function parsed(rawBody: Buffer): unknown {
  try {
    return JSON.parse(rawBody.toString('utf8'));
  } catch {
    return undefined;
  }
}
