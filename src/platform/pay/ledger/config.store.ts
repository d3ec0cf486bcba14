// Rows of the payment configuration; the only writer of that table.
import type { Tx } from '../../../db/transaction.ts';
import type { ProviderName } from '../../../gateways/payments/providers.ts';
import type { InvoiceMapping, WriteBack } from './config.schemas.ts';

export type PayConfigRow = {
  account_id: string;
  currency: string;
  enabled: boolean;
  invoices: InvoiceMapping;
  write_back: WriteBack;
  updated_at: Date;
};
const columns = ['account_id', 'currency', 'enabled', 'invoices', 'write_back', 'updated_at'] as const;

const configs = (tx: Tx, organizationId: string) =>
  tx('pay_configs').where({ organization_id: organizationId });

export const findPayConfig = async (tx: Tx, organizationId: string): Promise<PayConfigRow | undefined> =>
  configs(tx, organizationId).first<PayConfigRow | undefined>(...columns);

/** With the name of its provider; undefined unless payments are on. */
export const findEnabledConfig = async (tx: Tx, organizationId: string) =>
  tx('pay_configs as c')
    .join('pay_accounts as a', (on) =>
      on.on('a.organization_id', 'c.organization_id').on('a.id', 'c.account_id'),
    )
    .where({ 'c.organization_id': organizationId, 'c.enabled': true })
    .first<(Pick<PayConfigRow, 'currency' | 'invoices'> & { provider: ProviderName }) | undefined>(
      'c.currency',
      'c.invoices',
      'a.provider',
    );

/** Serializes the organization's checkouts and changes of its configuration, until the transaction ends. */
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
