import { z } from 'zod';

const key = (pattern: RegExp, message: string) => z.string().max(255).regex(pattern, message);

/**
 * A restricted key is enough: it needs to write checkout sessions and refunds, and to read these, payments,
 * payouts, balance and events.
 */
export const StripeSecrets = z.strictObject({
  secretKey: key(/^(sk|rk)_(test|live)_\w{8,}$/, 'must be a secret or restricted key: sk_… or rk_…'),
  webhookSecret: key(/^whsec_[\w+/=-]{8,}$/, "must be the webhook endpoint's signing secret: whsec_…"),
});
export type StripeSecrets = z.output<typeof StripeSecrets>;
