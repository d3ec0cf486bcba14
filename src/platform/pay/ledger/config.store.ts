// Rows of the payment configuration and of its accounts; the only writer of those tables.
import type { Tx } from '../../db/transaction.ts';
import type { PayAccountRow } from './accounts.ts';
import type { InvoiceMapping, WriteBack } from './pay.schemas.ts';

export type PayConfigRow = {
  account_id: string;
  currency: string;
  enabled: boolean;
  invoices: InvoiceMapping;
  write_back: WriteBack;
  updated_at: Date;
};
const columns = ['account_id', 'currency', 'enabled', 'invoices', 'write_back', 'updated_at'] as const;

const configs = (tx: Tx, organizationId: string) => tx('pay_configs').where({ organization_id: organizationId });

export const findPayConfig = async (tx: Tx, organizationId: string): Promise<PayConfigRow | undefined> =>
  configs(tx, organizationId).first<PayConfigRow | undefined>(...columns);

/**
 * Serializes the creation of accounts in an organization, until the transaction ends. An advisory lock, since there may be no configuration
 * row to lock yet.
 */
export const lockAccountCreation = (tx: Tx, organizationId: string) =>
  tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`pay accounts ${organizationId}`]);

/** Serializes an organization's checkouts and changes of its payment configuration, until the transaction ends. */
export const lockPayConfig = async (tx: Tx, organizationId: string): Promise<PayConfigRow | undefined> =>
  configs(tx, organizationId)
    .forUpdate()
    .first<PayConfigRow | undefined>(...columns);

export const isWriteBackEnabled = async (tx: Tx, organizationId: string): Promise<boolean> => {
  const config = await findPayConfig(tx, organizationId);
  return config !== undefined && config.write_back !== false;
};

export const upsertPayConfig = (tx: Tx, organizationId: string, row: Omit<PayConfigRow, 'updated_at'>) =>
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

export const insertAccount = (tx: Tx, organizationId: string, row: Omit<PayAccountRow, 'looked_until'>) =>
  tx('pay_accounts').insert({ organization_id: organizationId, ...row });
export const updateSecrets = (tx: Tx, organizationId: string, id: string, sealed: Pick<PayAccountRow, 'secrets' | 'secret_hint'>) =>
  tx('pay_accounts')
    .where({ organization_id: organizationId, id })
    .update({ ...sealed, updated_at: tx.raw('clock_timestamp()') });
export const saveCheckedUntil = (tx: Tx, organizationId: string, id: string, until: Date) =>
  tx('pay_accounts').where({ organization_id: organizationId, id }).update({ looked_until: until });
