// The client of an organization's account at a payment provider, and what its errors mean to callers. Secrets
// are encrypted with the account's id as additional data: copied to another row, they can't be decrypted.
import type { Ctx, TenantCtx } from '../../../core/ctx.ts';
import { AppError, invalid, unavailable } from '../../../core/errors.ts';
import { inTransaction } from '../../../db/transaction.ts';
import { type PaymentProvider, ProviderError } from '../../../gateways/payments/provider.ts';
import { findProviderKind, type ProviderName } from '../../../gateways/payments/providers.ts';
import { platformBase } from '../../../http/served.ts';
import { findAccount, type PayAccountRow } from './accounts.store.ts';

/** Upper bound for one request to a provider. */
const providerTimeoutMs = 20_000;
/** A shorter secret gets no hint: four of its characters would reveal too much. */
const minHintedLength = 16;

/** Additional authenticated data of encrypted secrets. Changing it makes stored secrets unreadable. */
export const payAccountBinding = (organizationId: string, accountId: string): string =>
  `${organizationId}/pay-account/${accountId}`;

/** `secrets`: output of the provider's schema. The hint: the last four characters of the first text in it. */
export function sealSecrets(
  ctx: TenantCtx,
  accountId: string,
  secrets: unknown,
): Pick<PayAccountRow, 'secrets' | 'secret_hint'> {
  const [first] = Object.values(secrets ?? {}).filter((value) => typeof value === 'string');
  return {
    secrets: ctx.keyring.encrypt(JSON.stringify(secrets), payAccountBinding(ctx.organizationId, accountId)),
    secret_hint: first === undefined || first.length < minHintedLength ? null : first.slice(-4),
  };
}

export const webhookUrl = (publicUrl: string, { id, provider }: Pick<PayAccountRow, 'id' | 'provider'>) =>
  `${publicUrl}${platformBase}/pay/webhooks/${provider}/${id}`;

/** A provider client with the given secrets. Throws Error when no provider has this name. */
export async function createProvider(
  ctx: TenantCtx,
  { id, provider }: Pick<PayAccountRow, 'id' | 'provider'>,
  secrets: unknown,
): Promise<PaymentProvider> {
  const kind = findProviderKind(provider);
  if (kind === undefined) throw new Error(`Unknown payment provider: ${provider}`);
  return kind.create(ctx, { id, secrets, publicUrl: ctx.settings.publicUrl });
}

/** A client with the account's stored secrets. Throws DecryptionError when the encryption key is missing. */
export const createAccountProvider = async (ctx: TenantCtx, row: PayAccountRow): Promise<PaymentProvider> =>
  createProvider(
    ctx,
    row,
    row.secrets === null
      ? {}
      : JSON.parse(ctx.keyring.decrypt(row.secrets, payAccountBinding(ctx.organizationId, row.id))),
  );

/** Like `createAccountProvider`, by account id. Throws Error when the account doesn't exist. */
export async function getProvider(ctx: TenantCtx, accountId: string): Promise<PaymentProvider> {
  const row = await inTransaction(ctx, (tx) => findAccount(tx, ctx.organizationId, accountId));
  if (row === undefined) throw new Error('The payment account no longer exists');
  return createAccountProvider(ctx, row);
}

/** Throws 422 `provider_not_offered` when this installation takes no new payments at the provider. */
export function assertProviderOffered(ctx: Ctx, provider: ProviderName, path: string): void {
  const kind = findProviderKind(provider);
  const message =
    kind === undefined
      ? 'This installation does not include this provider'
      : kind.unavailableReason(ctx.settings);
  if (message !== null)
    throw invalid('This payment provider is not available', [
      { path, code: 'provider_not_offered', message },
    ]);
}

/** Aborts a provider request after `providerTimeoutMs`, or when `stop` is aborted. */
export const providerSignal = (stop?: AbortSignal): AbortSignal =>
  stop === undefined
    ? AbortSignal.timeout(providerTimeoutMs)
    : AbortSignal.any([stop, AbortSignal.timeout(providerTimeoutMs)]);

/** The provider did nothing, and repeating the same request can't succeed. */
export const isProviderRefusal = (error: unknown): error is ProviderError =>
  error instanceof ProviderError &&
  ['rejected', 'refused-credentials', 'too-much-refunded'].includes(error.kind);

/** A failed provider request: 422 with the provider's message when it rejected, else 503 with Retry-After. */
export function providerErrorToAppError(error: unknown, path: string): AppError {
  if (error instanceof AppError) return error;
  if (isProviderRefusal(error))
    return invalid('The payment provider rejected the request', [
      { path, code: error.kind.replaceAll('-', '_'), message: error.message },
    ]);
  const wait = error instanceof ProviderError ? (error.retryAfterMs ?? 5_000) : 5_000;
  return unavailable(
    'The payment provider is not responding; try again later',
    Math.max(1, Math.ceil(wait / 1000)),
    error,
  );
}
