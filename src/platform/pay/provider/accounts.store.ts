// Rows of an organization's accounts at payment providers; the only writer of that table.
import type { Ctx } from '../../../core/ctx.ts';
import { unavailable } from '../../../core/errors.ts';
import { newestFirst } from '../../../db/page.ts';
import { recordServerTimeline } from '../../../db/server-timeline.ts';
import type { Tx } from '../../../db/transaction.ts';
import type { ProviderName } from '../../../gateways/payments/providers.ts';
import { enqueueTask, hasUnfinishedChecks } from './tasks.store.ts';

export type PayAccountRow = {
  id: string;
  provider: ProviderName;
  secrets: string | null;
  secret_hint: string | null;
  looked_until: Date;
};

const columns = ['id', 'provider', 'secrets', 'secret_hint', 'looked_until'] as const;

export const findAccount = async (tx: Tx, organizationId: string, id: string) =>
  tx('pay_accounts')
    .where({ organization_id: organizationId, id })
    .first<PayAccountRow | undefined>(...columns);

/** Accounts at one provider: the configured one first, then the most recently updated. */
export const listAccounts = async (tx: Tx, organizationId: string, provider: ProviderName) =>
  tx('pay_accounts as a')
    .where({ 'a.organization_id': organizationId, 'a.provider': provider })
    .orderByRaw(
      'exists (select from pay_configs c where c.organization_id = a.organization_id and c.account_id = a.id) desc',
    )
    .orderBy(newestFirst('a.updated_at', 'a.id'))
    .select<PayAccountRow[]>(...columns);

/**
 * Serializes the creation of accounts in an organization, until the transaction ends. An advisory lock, since
 * there may be no configuration row to lock yet.
 */
export const lockAccountCreation = (tx: Tx, organizationId: string) =>
  tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`pay accounts ${organizationId}`]);

export const insertAccount = (tx: Tx, organizationId: string, row: Omit<PayAccountRow, 'looked_until'>) =>
  tx('pay_accounts').insert({ organization_id: organizationId, ...row });
export const updateSecrets = (
  tx: Tx,
  organizationId: string,
  id: string,
  sealed: Pick<PayAccountRow, 'secrets' | 'secret_hint'>,
) =>
  tx('pay_accounts')
    .where({ organization_id: organizationId, id })
    .update({ ...sealed, updated_at: tx.raw('clock_timestamp()') });
/** No change when the account must be checked from before `from`: the database failed over meanwhile. */
export const saveCheckedUntil = (tx: Tx, organizationId: string, id: string, from: Date, until: Date) =>
  tx('pay_accounts')
    .where({ organization_id: organizationId, id })
    .where('looked_until', '>=', from)
    .update({ looked_until: until });

/**
 * After a restore: makes the organization's accounts check everything again that changed since the day before
 * their last check. Wakes the workers on commit.
 */
export async function checkAccountsAgain(tx: Tx, organizationId: string): Promise<void> {
  const accounts = await tx('pay_accounts')
    .where({ organization_id: organizationId })
    .update({
      looked_until: tx.raw("looked_until - interval '1 day'"),
      incomplete_since: tx.raw('clock_timestamp()'),
    })
    .returning<{ id: string }[]>('id');
  for (const { id: accountId } of accounts)
    await enqueueTask(tx, organizationId, { accountId, kind: 'account', subject: '' });
}

/**
 * Throws 503 while payments and refunds that a failover or a restore lost may not have been entered again:
 * another one could charge or return the same money twice.
 */
export async function assertChecked(tx: Tx, organizationId: string, id: string): Promise<void> {
  await recordServerTimeline(tx);
  const incomplete = tx('pay_accounts')
    .where({ organization_id: organizationId, id })
    .whereNotNull('incomplete_since');
  const found = await incomplete
    .clone()
    .first<{ listed: boolean } | undefined>(tx.raw('looked_until >= incomplete_since as listed'));
  if (found === undefined) return;
  // In this order: the check of the account has enqueued those of its payments before it is recorded.
  if (!found.listed || (await hasUnfinishedChecks(tx, organizationId, id)))
    throw unavailable(
      'The database failed over or was restored, and payments are being compared with the payment provider; try again',
      5,
    );
  await incomplete.update({ incomplete_since: null });
}

/** The organization and provider of a webhook address, looked up across all organizations. */
export async function findWebhookEndpoint(ctx: Ctx, endpointId: string) {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string; provider: string }[] }>(
    'select * from find_pay_account(?)',
    [endpointId],
  );
  const [row] = rows;
  return row === undefined ? undefined : { organizationId: row.organization_id, provider: row.provider };
}
