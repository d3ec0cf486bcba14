// Stripe as a payment provider: hosted checkouts, refunds and payouts of one account. Its library (100 ms to load) is imported with the
// first account that is used.
import { z } from 'zod';
import type { ProviderKind } from '../provider.ts';

const key = (pattern: RegExp, message: string) => z.string().max(255).regex(pattern, message);

/**
 * A restricted key is enough: it needs to write checkout sessions and refunds, and to read these, payments, payouts, balance and events.
 */
export const StripeSecrets = z.strictObject({
  secretKey: key(/^(sk|rk)_(test|live)_\w{8,}$/, 'must be a secret or restricted key: sk_… or rk_…'),
  webhookSecret: key(/^whsec_[\w+/=-]{8,}$/, "must be the webhook endpoint's signing secret: whsec_…"),
});
export type StripeSecrets = z.output<typeof StripeSecrets>;

export const stripe: ProviderKind = {
  name: 'stripe',
  secrets: StripeSecrets,
  unavailableReason: () => null,
  create: async (ctx, account) =>
    (await import('./stripe-provider.ts')).createStripeProvider(ctx, account.id, StripeSecrets.parse(account.secrets)),
};
