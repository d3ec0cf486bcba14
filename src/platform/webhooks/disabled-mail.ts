// The mail that tells the owners of an organization that an endpoint gets no messages any more.
import type { TenantCtx } from '../../core/ctx.ts';
import type { Tx } from '../../db/transaction.ts';
import type { MailContent } from '../../mail/index.ts';
import { enqueueAlertMails } from '../../sync/index.ts';
import type { EndpointRow } from './endpoints.store.ts';

type Reason = NonNullable<EndpointRow['disabled_reason']>;

export const disabledMessages: Readonly<Record<Reason, string>> = {
  failing: 'Every attempt failed for five days. Mend the receiver, then enable the endpoint.',
  gone: 'The receiver answered 410: it wants no messages any more.',
  key_ended: 'Its API key was revoked or has expired: name another key.',
};

const notes = [
  'You receive this mail because you are an owner of the organization. While the endpoint is disabled, nothing is sent to it. Once it is enabled, it gets the records that changed in the meantime.',
];

export function disabledMail(
  { url, id }: Pick<EndpointRow, 'url' | 'id'>,
  reason: Reason,
  publicUrl: string,
): MailContent {
  return {
    title: 'A webhook was disabled',
    paragraphs: [`Endpoint: ${url}`, disabledMessages[reason]],
    action: { label: 'View the endpoint', url: `${publicUrl}/console/webhooks/${id}` },
    notes,
  };
}

/** Queues the mail for each owner, in the transaction that disables the endpoint. */
export async function enqueueDisabledMails(
  tx: Tx,
  ctx: TenantCtx,
  endpoint: EndpointRow,
  reason: Reason,
): Promise<void> {
  const owners = await tx('memberships as m')
    .join('roles as r', 'r.id', 'm.role_id')
    .join('users as u', 'u.id', 'm.user_id')
    .where({ 'm.organization_id': ctx.organizationId, 'r.built_in': true, 'r.name': 'owner' })
    .select<{ email: string }[]>('u.email');
  const content = disabledMail(endpoint, reason, ctx.settings.publicUrl);
  await enqueueAlertMails(
    tx,
    ctx,
    'webhook-disabled',
    owners.map(({ email }) => email),
    content,
  );
}
