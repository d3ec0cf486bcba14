// What providers tell by themselves. An event is a hint: its signature is checked, it is noted once, and whatever it names is put into the
// queue, which asks the provider. What it claims is never believed.
import type { Ctx, TenantCtx } from '../../core/ctx.ts';
import { AppError, notFound } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { ProviderError, type ProviderEvent, type ProviderObject } from '../../gateways/payments/provider.ts';
import type { PublicCall } from '../../http/route.ts';
import { findEndpoint, openAccountOf } from './accounts.ts';
import { insertEvent } from './events.store.ts';
import { findByProviderId } from './payments.store.ts';
import { wake } from './tasks.store.ts';

const subjectOf = ({ kind, id }: ProviderObject): string => `${kind}:${id}`;

/** Has it asked for: our payment where it is known, else the provider's object by its name. */
export async function wakeFor(tx: Tx, organizationId: string, accountId: string, object: ProviderObject): Promise<void> {
  const payment = object.kind === 'payout' ? undefined : await findByProviderId(tx, organizationId, accountId, object.id);
  const task =
    payment === undefined ? { kind: 'object' as const, subject: subjectOf(object) } : { kind: 'payment' as const, subject: payment.id };
  await wake(tx, organizationId, { accountId, ...task });
}

async function keep(ctx: TenantCtx, accountId: string, event: ProviderEvent): Promise<void> {
  const { id, type, concerns } = event;
  await inTransaction(ctx, async (tx) => {
    const row = { account_id: accountId, event_id: id, type, subject: concerns === null ? null : subjectOf(concerns) };
    if (!(await insertEvent(tx, ctx.organizationId, row)) || concerns === null) return;
    await wakeFor(tx, ctx.organizationId, accountId, concerns);
  });
}

/** Throws 404 for an address that is none, and 400 for a signature that is none; neither says more. */
export async function takeEvent(ctx: Ctx, { params, rawBody, headers }: PublicCall): Promise<{ received: true }> {
  const { provider = '', endpointId = '' } = params;
  const endpoint = await findEndpoint(ctx, endpointId);
  if (endpoint === undefined || endpoint.provider !== provider) throw notFound('Webhook');
  const tenant: TenantCtx = { ...ctx, organizationId: endpoint.organizationId };
  const opened = await openAccountOf(tenant, endpointId);
  let event: ProviderEvent;
  try {
    event = opened.readEvent(rawBody, headers);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    ctx.log.warn({ organizationId: endpoint.organizationId, accountId: endpointId, kind: error.kind }, 'a webhook was refused');
    throw new AppError('BAD_REQUEST', 'The event is not acceptable', { cause: error });
  }
  await keep(tenant, endpointId, event);
  return { received: true };
}
