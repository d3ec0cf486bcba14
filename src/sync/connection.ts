// Creates an organization's connector from its stored settings and secrets, and stores the metadata that the ERP reports.
import type { Connector, RecordTypeMetadata } from '../connectors/connector.ts';
import { type ConnectorKinds, connectorKinds, createStoredConnector } from '../connectors/kinds.ts';
import type { TenantCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { inTransaction } from '../db/transaction.ts';
import { type ConnectionRevision, recordSignIn, recordSignInError } from './connection-status.ts';

/** The AAD that ties an encrypted secret to its organization and purpose: copied elsewhere, it does not decrypt. */
export const secretBinding = (organizationId: string, purpose: 'erp-secrets' | 'erp-private-key-1' | 'erp-private-key-2'): string =>
  `${organizationId}/${purpose}`;

type ConnectionRow = { kind: string; settings: Record<string, unknown>; secrets: string | null };
type CertificateRow = { slot: 1 | 2; private_key: string; not_after: Date };

async function readSecrets(ctx: TenantCtx, row: ConnectionRow, certificate: CertificateRow | undefined): Promise<unknown> {
  if (certificate !== undefined) {
    return {
      privateKeyPem: ctx.keyring.decrypt(certificate.private_key, secretBinding(ctx.organizationId, `erp-private-key-${certificate.slot}`)),
      notAfter: certificate.not_after.toISOString(),
    };
  }
  return row.secrets === null ? null : JSON.parse(ctx.keyring.decrypt(row.secrets, secretBinding(ctx.organizationId, 'erp-secrets')));
}

export const noConnectionAdvice = 'Set up a connection with PUT /netsuite/connection';

/**
 * Throws 422 `VALIDATION_ERROR` with detail `no_connection` when the organization has no ERP connection, and `no_credentials` when the
 * connection lacks its credentials. Also throws what decrypting the stored secrets throws.
 */
export async function createTenantConnector(ctx: TenantCtx, kinds: ConnectorKinds = connectorKinds): Promise<Connector> {
  const { row, certificate } = await inTransaction(ctx, async (tx) => ({
    row: await tx('erp_connections')
      .where({ organization_id: ctx.organizationId })
      .first<ConnectionRow | undefined>('kind', 'settings', 'secrets'),
    certificate: await tx('erp_certificates')
      .where({ organization_id: ctx.organizationId, active: true })
      .first<CertificateRow | undefined>('slot', 'private_key', 'not_after'),
  }));
  if (row === undefined)
    throw new AppError('VALIDATION_ERROR', 'The organization has no ERP connection', {
      details: [{ path: '', code: 'no_connection', message: noConnectionAdvice }],
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
              ? 'Create a certificate, upload it in the ERP, and set its certificate id in the connection'
              : 'Set the secrets of the connection',
        },
      ],
    });
  }
  return createStoredConnector(kinds, row.kind, ctx, row.settings, secrets);
}

export type StoredMetadata = {
  readonly recordTypes: readonly RecordTypeMetadata[];
  readonly refreshedAt: Date;
  readonly lastError: string | null;
};

export const readStoredMetadata = (ctx: TenantCtx): Promise<StoredMetadata | undefined> =>
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

async function getStoredMetadata(ctx: TenantCtx): Promise<StoredMetadata> {
  const stored = await readStoredMetadata(ctx);
  if (stored === undefined) throw new Error('the ERP metadata is missing although it was just stored');
  return stored;
}

/**
 * Reads the metadata of the ERP account and stores it. When the ERP can't be read, stores the error message next to the last good
 * metadata and throws the connector's error (an `ErpError`).
 */
export async function fetchAndStoreMetadata(ctx: TenantCtx, connector: Connector, signal: AbortSignal): Promise<StoredMetadata> {
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
  return getStoredMetadata(ctx);
}

/**
 * Reads the metadata of one record type again and stores it among those of the others, whose age stays. Throws the connector's error (an
 * `ErpError`).
 */
export async function fetchAndStoreRecordType(
  ctx: TenantCtx,
  connector: Connector,
  name: string,
  signal: AbortSignal,
): Promise<StoredMetadata> {
  const found = (await connector.metadata(signal, [name])).find((recordType) => recordType.name === name);
  await inTransaction(ctx, async (tx) => {
    const row = await tx('erp_metadata')
      .where({ organization_id: ctx.organizationId })
      .forUpdate()
      .first<{ record_types: RecordTypeMetadata[] } | undefined>('record_types');
    if (row === undefined) return;
    const types = row.record_types.flatMap((type) => (type.name === name ? (found ?? []) : type));
    await tx('erp_metadata')
      .where({ organization_id: ctx.organizationId })
      .update({ record_types: JSON.stringify(types) });
  });
  return getStoredMetadata(ctx);
}

/**
 * Like `fetchAndStoreMetadata`, but returns the last good metadata, with the error in `lastError`, when the ERP can't be read, and stores
 * in the connection's status whether the ERP accepted its credentials. Throws the connector's error only when no metadata was ever stored.
 */
export async function refreshMetadata(
  ctx: TenantCtx,
  connector: Connector,
  revision: ConnectionRevision,
  signal: AbortSignal,
): Promise<StoredMetadata> {
  try {
    const fetched = await fetchAndStoreMetadata(ctx, connector, signal);
    await recordSignIn(ctx, revision);
    return fetched;
  } catch (error) {
    await recordSignInError(ctx, revision, error);
    const stored = await readStoredMetadata(ctx);
    if (stored === undefined) throw error;
    return stored;
  }
}
