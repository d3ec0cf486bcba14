// Stored connections: with credentials, or only with what their account has.

import type { Connector } from '../../src/connectors/connector.ts';
import { secretBinding } from '../../src/connectors/secret-binding.ts';
import type { TenantCtx } from '../../src/core/ctx.ts';
import { inTransaction, type Tx } from '../../src/db/transaction.ts';
import { fetchAndStoreMetadata } from '../../src/sync/account/connection.ts';
import { type ReadAccount, saveAccount } from '../../src/sync/account/record-types.store.ts';

/** Inserts it unless it is there; `columns` are those of erp_connections. */
export const setConnection = (tx: Tx, organizationId: string, columns: object = {}) =>
  tx('erp_connections')
    .insert({
      ...{ organization_id: organizationId, kind: 'netsuite', account_id: '1', settings: '{}' },
      ...columns,
    })
    .onConflict(['organization_id', 'name'])
    .merge(['organization_id', ...Object.keys(columns)]);

/** A connection with credentials, through which runs read; replaces what was entered under its name. */
export const enterConnection = (
  { tenant, organizationId }: { readonly tenant: TenantCtx; readonly organizationId: string },
  name: string,
  { kind, settings, secrets }: { readonly kind: string; readonly settings: object; readonly secrets: object },
) =>
  inTransaction(tenant, (tx) =>
    setConnection(tx, organizationId, {
      ...{ name, kind, account_id: name, settings: JSON.stringify(settings) },
      secrets: tenant.keyring.encrypt(
        JSON.stringify(secrets),
        secretBinding(organizationId, name, 'erp-secrets'),
      ),
    }),
  );

/** As of a listing just now: `account` is what the account has as a whole. */
export const setAccount = (tx: Tx, organizationId: string, account: object) =>
  setConnection(tx, organizationId, { listed_at: new Date(), account: JSON.stringify(account) });

/** Stores the record types of an account, as a refresh does. */
export async function storeAccount(
  ctx: Pick<TenantCtx, 'db' | 'organizationId'>,
  account: ReadAccount,
): Promise<void> {
  await inTransaction(ctx, (tx) => setConnection(tx, ctx.organizationId));
  await saveAccount(ctx, null, account);
}

/** Lists the record types of the account of this connector. Rejects with its errors. */
export async function listAccount(ctx: TenantCtx, connector: Connector): Promise<void> {
  await inTransaction(ctx, (tx) => setConnection(tx, ctx.organizationId));
  await fetchAndStoreMetadata(ctx, null, connector, AbortSignal.timeout(60_000));
}
