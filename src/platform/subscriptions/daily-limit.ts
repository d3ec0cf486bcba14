// How much an organization may send by its subscriptions, so that nobody's schedule becomes everybody's flood.
import type { TenantCtx } from '../../core/ctx.ts';
import type { Tx } from '../../db/transaction.ts';
import { countMailsOfDay } from '../../mail/index.ts';

/** Why nothing more is sent for now; undefined while something is. */
export async function whyNoMore(tx: Tx, { organizationId, settings }: Pick<TenantCtx, 'organizationId' | 'settings'>) {
  const most = settings.mail.mostSubscriptionMailsPerDay;
  if ((await countMailsOfDay(tx, { organizationId }, 'subscription', most)) < most) return undefined;
  return `The organization sends at most ${most.toLocaleString('en-US')} mails of subscriptions a day`;
}
