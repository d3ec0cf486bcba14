// Stripe as a payment provider: hosted checkouts, refunds and payouts of one account. Its library (100 ms to
// load) is imported with the first account that is used.
import type { ProviderKind } from '../provider.ts';
import { StripeSecrets } from './secrets.ts';

export const stripe: ProviderKind = {
  secrets: StripeSecrets,
  unavailableReason: () => null,
  create: async (ctx, account) =>
    (await import('./stripe-provider.ts')).createStripeProvider(
      ctx,
      account.id,
      StripeSecrets.parse(account.secrets),
    ),
};
