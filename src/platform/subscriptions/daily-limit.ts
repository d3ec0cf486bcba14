// Daily limit of subscription mails per organization, so that one organization can't flood the mail queue.
import type { TenantCtx } from '../../core/ctx.ts';
import type { Tx } from '../../db/transaction.ts';
import { countMailsInLastDay } from '../../mail/index.ts';

/** The error message when the organization has used up its mails of the day; undefined while it has not. */
export async function dailyLimitMessage(
  tx: Tx,
  { organizationId, settings }: Pick<TenantCtx, 'organizationId' | 'settings'>,
) {
  const max = settings.mail.maxSubscriptionMailsPerDay;
  if ((await countMailsInLastDay(tx, { organizationId }, 'subscription', max)) < max) return undefined;
  return `Daily limit reached: an organization sends at most ${max.toLocaleString('en-US')} subscription mails a day`;
}
