// Stripe as a payment provider: hosted checkouts, refunds and payouts of one account. Its library is loaded with the first question.
import { z } from 'zod';
import type { ProviderKind } from '../provider.ts';

const key = (pattern: RegExp, message: string) => z.string().max(255).regex(pattern, message);

/** A restricted key will do: it writes checkout sessions and refunds, and reads these, payments, payouts, balance and events. */
export const StripeSecrets = z.strictObject({
  secretKey: key(/^(sk|rk)_(test|live)_\w{8,}$/, 'must be a secret or restricted key: sk_… or rk_…'),
  webhookSecret: key(/^whsec_[\w+/=-]{8,}$/, "must be the webhook endpoint's signing secret: whsec_…"),
});
export type StripeSecrets = z.output<typeof StripeSecrets>;

export const stripe: ProviderKind = {
  name: 'stripe',
  secrets: StripeSecrets,
  refusedHere: () => null,
  open: async (ctx, account) => (await import('./open-stripe.ts')).openStripe(ctx, account.id, StripeSecrets.parse(account.secrets)),
};
