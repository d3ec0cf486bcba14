// An organization's accounts at payment providers, and how one is opened. Secrets are sealed to their account: copied elsewhere they
// don't open.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { AppError, invalid, unavailable } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { type PaymentProvider, ProviderError, type ProviderName } from '../../gateways/payments/provider.ts';
import { findProviderKind } from '../../gateways/payments/providers.ts';
import { platformBase } from '../../http/served.ts';

export type AccountRow = { id: string; provider: ProviderName; secrets: string | null; secret_hint: string | null; looked_until: Date };

const columns = ['id', 'provider', 'secrets', 'secret_hint', 'looked_until'] as const;
/** No provider is waited for longer by one question. */
export const providerTimeoutMs = 20_000;
/** Of a shorter secret, four characters would tell too much. */
const shortestHinted = 16;

export const findAccount = async (tx: Tx, organizationId: string, id: string): Promise<AccountRow | undefined> =>
  tx('pay_accounts')
    .where({ organization_id: organizationId, id })
    .first<AccountRow | undefined>(...columns);

/** Those at one provider: first the one that payments are taken by now, then the one that was changed last. */
export const listAccounts = async (tx: Tx, organizationId: string, provider: ProviderName): Promise<AccountRow[]> =>
  tx('pay_accounts as a')
    .where({ 'a.organization_id': organizationId, 'a.provider': provider })
    .orderByRaw('exists (select from pay_configs c where c.organization_id = a.organization_id and c.account_id = a.id) desc')
    .orderBy([
      { column: 'a.updated_at', order: 'desc' },
      { column: 'a.id', order: 'desc' },
    ])
    .select<AccountRow[]>(...columns);

export const payAccountBinding = (organizationId: string, accountId: string): string => `${organizationId}/pay-account/${accountId}`;

/** `secrets` as the provider's own schema gave them. */
export function sealSecrets(ctx: TenantCtx, accountId: string, secrets: unknown): Pick<AccountRow, 'secrets' | 'secret_hint'> {
  const [first] = Object.values(secrets ?? {}).filter((value) => typeof value === 'string');
  return {
    secrets: ctx.keyring.seal(JSON.stringify(secrets), payAccountBinding(ctx.organizationId, accountId)),
    secret_hint: first === undefined || first.length < shortestHinted ? null : first.slice(-4),
  };
}

export const webhookUrl = (publicUrl: string, { id, provider }: Pick<AccountRow, 'id' | 'provider'>): string =>
  `${publicUrl}${platformBase}/pay/webhooks/${provider}/${id}`;

export async function openWith(
  ctx: TenantCtx,
  { id, provider }: Pick<AccountRow, 'id' | 'provider'>,
  secrets: unknown,
): Promise<PaymentProvider> {
  const kind = findProviderKind(provider);
  if (kind === undefined) throw new Error(`there is no payment provider ${provider}`);
  return kind.open(ctx, { id, secrets, publicUrl: ctx.settings.publicUrl });
}

/** Throws UnreadableBox when the encryption key is gone. */
export const openAccount = async (ctx: TenantCtx, row: AccountRow): Promise<PaymentProvider> =>
  openWith(ctx, row, row.secrets === null ? {} : JSON.parse(ctx.keyring.open(row.secrets, payAccountBinding(ctx.organizationId, row.id))));

export async function openAccountOf(ctx: TenantCtx, accountId: string): Promise<PaymentProvider> {
  const row = await inTransaction(ctx, (tx) => findAccount(tx, ctx.organizationId, accountId));
  if (row === undefined) throw new Error('the payment account is gone');
  return openAccount(ctx, row);
}

/** Throws 422 where this installation takes no new payments at the provider. */
export function requireOffered(ctx: Ctx, provider: ProviderName, path: string): void {
  const kind = findProviderKind(provider);
  const message = kind === undefined ? 'It is not part of this installation' : kind.refusedHere(ctx.settings);
  if (message !== null) throw invalid('Payments are not taken at this provider', [{ path, code: 'provider_not_offered', message }]);
}

/** Whose webhook address it is, whatever the organization. */
export async function findEndpoint(ctx: Ctx, endpointId: string): Promise<{ organizationId: string; provider: string } | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string; provider: string }[] }>(
    'select * from find_pay_account(?)',
    [endpointId],
  );
  const [row] = rows;
  return row === undefined ? undefined : { organizationId: row.organization_id, provider: row.provider };
}

/** Ends a question to a provider after its time, or when `stop` is aborted. */
export const providerSignal = (stop?: AbortSignal): AbortSignal =>
  stop === undefined ? AbortSignal.timeout(providerTimeoutMs) : AbortSignal.any([stop, AbortSignal.timeout(providerTimeoutMs)]);

/** Nothing was done at the provider, and asking again in the same words can't help. */
export const isRefusal = (error: unknown): error is ProviderError =>
  error instanceof ProviderError && ['rejected', 'refused-credentials', 'too-much-refunded'].includes(error.kind);

/** What a caller is told of a failed question: 422 for a refusal, in the provider's words, else 503. */
export function asAnswer(error: unknown, path: string): AppError {
  if (error instanceof AppError) return error;
  if (isRefusal(error))
    return invalid('The payment provider refuses it', [{ path, code: error.kind.replaceAll('-', '_'), message: error.message }]);
  const wait = error instanceof ProviderError ? (error.retryAfterMs ?? 5_000) : 5_000;
  return unavailable('The payment provider does not answer for the moment', Math.max(1, Math.ceil(wait / 1000)), error);
}
