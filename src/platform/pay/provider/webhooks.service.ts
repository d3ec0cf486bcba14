// Webhook events of payment providers. An event is only a hint: its signature is verified, it is stored once,
// and a check of the named object is enqueued. Its state is never used; the provider is queried instead.
import type { Ctx, TenantCtx } from '../../../core/ctx.ts';
import { AppError, notFound } from '../../../core/errors.ts';
import { inTransaction, type Tx } from '../../../db/transaction.ts';
import {
  ProviderError,
  type ProviderEvent,
  type ProviderObject,
} from '../../../gateways/payments/provider.ts';
import type { PublicCall } from '../../../http/route/route.ts';
import { findByProviderId } from '../ledger/payments.store.ts';
import { findWebhookEndpoint } from './accounts.store.ts';
import { getProvider } from './accounts.ts';
import { insertEvent } from './events.store.ts';
import { enqueueTask } from './tasks.store.ts';

const toSubject = ({ kind, id }: ProviderObject): string => `${kind}:${id}`;

/** Enqueues a check of our payment if the object belongs to one, else of the provider's object by its id. */
export async function enqueueObjectCheck(
  tx: Tx,
  organizationId: string,
  accountId: string,
  object: ProviderObject,
): Promise<void> {
  const payment =
    object.kind === 'payout' ? undefined : await findByProviderId(tx, organizationId, accountId, object.id);
  const task =
    payment === undefined
      ? { kind: 'object' as const, subject: toSubject(object) }
      : { kind: 'payment' as const, subject: payment.id };
  await enqueueTask(tx, organizationId, { accountId, ...task });
}

async function recordEvent(ctx: TenantCtx, accountId: string, event: ProviderEvent): Promise<void> {
  const { id, type, concerns } = event;
  await inTransaction(ctx, async (tx) => {
    const row = {
      account_id: accountId,
      event_id: id,
      type,
      subject: concerns === null ? null : toSubject(concerns),
    };
    if (!(await insertEvent(tx, ctx.organizationId, row)) || concerns === null) return;
    await enqueueObjectCheck(tx, ctx.organizationId, accountId, concerns);
  });
}

/** Throws 404 for an unknown address and 400 for an invalid signature or body; neither reveals more. */
export async function receiveEvent(
  ctx: Ctx,
  { params, rawBody, headers }: PublicCall,
): Promise<{ received: true }> {
  const { provider = '', endpointId = '' } = params;
  const endpoint = await findWebhookEndpoint(ctx, endpointId);
  if (endpoint === undefined || endpoint.provider !== provider) throw notFound('Webhook');
  const tenant: TenantCtx = { ...ctx, organizationId: endpoint.organizationId };
  const client = await getProvider(tenant, endpointId);
  let event: ProviderEvent;
  try {
    event = client.parseEvent(rawBody, headers);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    ctx.log.warn(
      { organizationId: endpoint.organizationId, accountId: endpointId, kind: error.kind },
      'a payment webhook was rejected',
    );
    throw new AppError('BAD_REQUEST', 'Invalid webhook event', { cause: error });
  }
  await recordEvent(tenant, endpointId, event);
  return { received: true };
}
