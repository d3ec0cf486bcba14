// Opens an organization's ERP connection from its stored settings and secrets, and keeps what the ERP was found to hold.
import type { Connector, RecordTypeMetadata } from '../connectors/connector.ts';
import { type ConnectorKinds, connectorKinds, openStored } from '../connectors/kinds.ts';
import type { TenantCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { inTransaction } from '../db/transaction.ts';

/** Ties a sealed secret to its organization and purpose: copied elsewhere it does not open. */
export const secretBinding = (organizationId: string, purpose: 'erp-secrets' | 'erp-private-key-1' | 'erp-private-key-2'): string =>
  `${organizationId}/${purpose}`;

type ConnectionRow = { kind: string; settings: Record<string, unknown>; secrets: string | null };
type CertificateRow = { slot: 1 | 2; private_key: string; not_after: Date };

async function readSecrets(ctx: TenantCtx, row: ConnectionRow, certificate: CertificateRow | undefined): Promise<unknown> {
  if (certificate !== undefined) {
    return {
      privateKeyPem: ctx.keyring.open(certificate.private_key, secretBinding(ctx.organizationId, `erp-private-key-${certificate.slot}`)),
      notAfter: certificate.not_after.toISOString(),
    };
  }
  return row.secrets === null ? null : JSON.parse(ctx.keyring.open(row.secrets, secretBinding(ctx.organizationId, 'erp-secrets')));
}

/** Throws VALIDATION_ERROR when there is no connection, or one that lacks its credentials. */
export async function openConnectorOf(ctx: TenantCtx, kinds: ConnectorKinds = connectorKinds): Promise<Connector> {
  const { row, certificate } = await inTransaction(ctx, async (tx) => ({
    row: await tx('erp_connections')
      .where({ organization_id: ctx.organizationId })
      .first<ConnectionRow | undefined>('kind', 'settings', 'secrets'),
    certificate: await tx('erp_certificates')
      .where({ organization_id: ctx.organizationId, active: true })
      .first<CertificateRow | undefined>('slot', 'private_key', 'not_after'),
  }));
  if (row === undefined)
    throw new AppError('VALIDATION_ERROR', 'There is no ERP connection', {
      details: [{ path: '', code: 'no_connection', message: 'Set one up with PUT /netsuite/connection' }],
    });
  const method = (row.settings['authentication'] as { method?: string } | undefined)?.method;
  const secrets = await readSecrets(ctx, row, method === 'oauth2' ? certificate : undefined);
  if (secrets === null) {
    throw new AppError('VALIDATION_ERROR', 'The ERP connection has no credentials', {
      details: [
        {
          path: 'authentication',
          code: 'no_credentials',
          message:
            method === 'oauth2'
              ? 'Make a certificate, upload it in the ERP, and name its certificate id in the connection'
              : 'Put the secrets into the connection',
        },
      ],
    });
  }
  return openStored(kinds, row.kind, ctx, row.settings, secrets);
}

export type StoredMetadata = {
  readonly recordTypes: readonly RecordTypeMetadata[];
  readonly refreshedAt: Date;
  readonly lastError: string | null;
};

export const readMetadata = (ctx: TenantCtx): Promise<StoredMetadata | undefined> =>
  inTransaction(ctx, async (tx) => {
    const row = await tx('erp_metadata')
      .where({ organization_id: ctx.organizationId })
      .first<{ record_types: RecordTypeMetadata[]; refreshed_at: Date; last_error: string | null } | undefined>(
        'record_types',
        'refreshed_at',
        'last_error',
      );
    return row === undefined ? undefined : { recordTypes: row.record_types, refreshedAt: row.refreshed_at, lastError: row.last_error };
  });

async function storedMetadata(ctx: TenantCtx): Promise<StoredMetadata> {
  const stored = await readMetadata(ctx);
  if (stored === undefined) throw new Error('the metadata was not stored');
  return stored;
}

/** Reads the account anew and stores it. Throws what the ERP answered, and notes it beside the last good answer. */
export async function renewMetadata(ctx: TenantCtx, connector: Connector, signal: AbortSignal): Promise<StoredMetadata> {
  let recordTypes: readonly RecordTypeMetadata[];
  try {
    recordTypes = await connector.metadata(signal);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    await inTransaction(ctx, (tx) => tx('erp_metadata').where({ organization_id: ctx.organizationId }).update({ last_error: message }));
    throw error;
  }
  await inTransaction(ctx, (tx) =>
    tx('erp_metadata')
      .insert({
        organization_id: ctx.organizationId,
        record_types: JSON.stringify(recordTypes),
        refreshed_at: tx.fn.now(),
        last_error: null,
      })
      .onConflict('organization_id')
      .merge(),
  );
  return storedMetadata(ctx);
}

/** Like renewMetadata, but when the ERP can't be read the last good answer stays, with the reason beside it. */
export async function refreshMetadata(ctx: TenantCtx, connector: Connector, signal: AbortSignal): Promise<StoredMetadata> {
  try {
    return await renewMetadata(ctx, connector, signal);
  } catch (error) {
    const stored = await readMetadata(ctx);
    if (stored === undefined) throw error;
    return stored;
  }
}
