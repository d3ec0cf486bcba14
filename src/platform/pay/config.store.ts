// Rows of the payment configuration and of the accounts behind it; the only writer of those tables.
import type { Tx } from '../../db/transaction.ts';
import type { AccountRow } from './accounts.ts';
import type { InvoiceMapping, WriteBack } from './pay.schemas.ts';

export type ConfigRow = {
  account_id: string;
  currency: string;
  enabled: boolean;
  invoices: InvoiceMapping;
  write_back: WriteBack;
  updated_at: Date;
};
const columns = ['account_id', 'currency', 'enabled', 'invoices', 'write_back', 'updated_at'] as const;

const configs = (tx: Tx, organizationId: string) => tx('pay_configs').where({ organization_id: organizationId });

export const findConfig = async (tx: Tx, organizationId: string): Promise<ConfigRow | undefined> =>
  configs(tx, organizationId).first<ConfigRow | undefined>(...columns);

/** Whoever makes an account waits for whoever is making one: there may be no configuration yet whose row could be locked. */
export const lockAccounts = (tx: Tx, organizationId: string) =>
  tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`pay accounts ${organizationId}`]);

/** One after the other: checkouts of an organization, and changes of what they go by. */
export const lockConfig = async (tx: Tx, organizationId: string): Promise<ConfigRow | undefined> =>
  configs(tx, organizationId)
    .forUpdate()
    .first<ConfigRow | undefined>(...columns);

export const writesBack = async (tx: Tx, organizationId: string): Promise<boolean> => {
  const config = await findConfig(tx, organizationId);
  return config !== undefined && config.write_back !== false;
};

export const upsertConfig = (tx: Tx, organizationId: string, row: Omit<ConfigRow, 'updated_at'>) =>
  tx('pay_configs')
    .insert({
      organization_id: organizationId,
      ...row,
      invoices: JSON.stringify(row.invoices),
      write_back: JSON.stringify(row.write_back),
      updated_at: tx.raw('clock_timestamp()'),
    })
    .onConflict('organization_id')
    .merge();

export const insertAccount = (tx: Tx, organizationId: string, row: Omit<AccountRow, 'looked_until'>) =>
  tx('pay_accounts').insert({ organization_id: organizationId, ...row });
export const updateSecrets = (tx: Tx, organizationId: string, id: string, sealed: Pick<AccountRow, 'secrets' | 'secret_hint'>) =>
  tx('pay_accounts')
    .where({ organization_id: organizationId, id })
    .update({ ...sealed, updated_at: tx.raw('clock_timestamp()') });
export const noteLooked = (tx: Tx, organizationId: string, id: string, until: Date) =>
  tx('pay_accounts').where({ organization_id: organizationId, id }).update({ looked_until: until });
