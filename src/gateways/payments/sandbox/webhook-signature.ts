// The signature of the sandbox's events: HMAC-SHA256 over the time of sending and the raw body, `t=<seconds
// since 1970>,v1=<hex>`. The secret is derived from the service's key for each account, so it isn't stored or
// entered anywhere.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Ctx } from '../../../core/ctx.ts';
import { ProviderError } from '../provider.ts';

export const signatureHeader = 'sandbox-signature';
/** An older signature may be a replay. The same tolerance applies to the future. */
const windowSeconds = 300;

type Signer = Pick<Ctx, 'clock' | 'keyring'>;

const nowSeconds = ({ clock }: Signer): number => Math.floor(clock.now().getTime() / 1000);

const digest = ({ keyring }: Signer, accountId: string, seconds: number, rawBody: Buffer): Buffer =>
  createHmac('sha256', keyring.sign('webhook', `sandbox:${accountId}`))
    .update(`${seconds}.`)
    .update(rawBody)
    .digest();

export function signWebhook(ctx: Signer, accountId: string, rawBody: Buffer): string {
  const seconds = nowSeconds(ctx);
  return `t=${seconds},v1=${digest(ctx, accountId, seconds, rawBody).toString('hex')}`;
}

/** Throws ProviderError('bad-signature') unless the header signs body and account, within five minutes. */
export function assertWebhookSignature(
  ctx: Signer,
  accountId: string,
  rawBody: Buffer,
  header: string | undefined,
): void {
  const [, seconds = '', hex = ''] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header ?? '') ?? [];
  const given = Buffer.from(hex, 'hex');
  const expected = digest(ctx, accountId, Number(seconds), rawBody);
  const isFresh = Math.abs(nowSeconds(ctx) - Number(seconds)) <= windowSeconds;
  if (given.length !== expected.length || !timingSafeEqual(given, expected) || !isFresh)
    throw new ProviderError('bad-signature', 'The signature is invalid or expired');
}
