// Creates an organization's connector from its stored settings and secrets, and stores the ERP's metadata.
import type { Connector, RecordTypeMetadata } from '../../connectors/connector.ts';
import { type ConnectorKinds, connectorKinds, createStoredConnector } from '../../connectors/kinds.ts';
import type { TenantCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { type ConnectionRevision, recordSignIn, recordSignInError } from './connection-status.ts';
import { readQuerySources, withQueries } from './query-sources.ts';
import {
  readDescriptions,
  readMetadataStatus,
  saveAccount,
  saveDescriptions,
  saveMetadataError,
} from './record-types.store.ts';

export type CreateConnector = (ctx: TenantCtx) => Promise<Connector>;

/** The AAD that ties a secret to its organization and purpose: copied elsewhere, it does not decrypt. */
export const secretBinding = (
  organizationId: string,
  purpose: 'erp-secrets' | 'erp-private-key-1' | 'erp-private-key-2',
): string => `${organizationId}/${purpose}`;

type ConnectionRow = { kind: string; settings: Record<string, unknown>; secrets: string | null };
type CertificateRow = { slot: 1 | 2; private_key: string; not_after: Date };

async function readSecrets(
  ctx: TenantCtx,
  row: ConnectionRow,
  certificate: CertificateRow | undefined,
): Promise<unknown> {
  if (certificate !== undefined) {
    return {
      privateKeyPem: ctx.keyring.decrypt(
        certificate.private_key,
        secretBinding(ctx.organizationId, `erp-private-key-${certificate.slot}`),
      ),
      notAfter: certificate.not_after.toISOString(),
    };
  }
  return row.secrets === null
    ? null
    : JSON.parse(ctx.keyring.decrypt(row.secrets, secretBinding(ctx.organizationId, 'erp-secrets')));
}

export const noConnectionAdvice = 'Set up the connection first';

/**
 * Throws 422 `VALIDATION_ERROR` with detail `no_connection` when the organization has no ERP connection, and
 * `no_credentials` when the connection lacks its credentials. Throws as decrypting the secrets does.
 */
export async function createTenantConnector(
  ctx: TenantCtx,
  kinds: ConnectorKinds = connectorKinds,
): Promise<Connector> {
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

/**
 * Reads which record types the ERP account has, describes those that the connector knows by name, and stores
 * both. Others are described when they are needed. When the ERP can't be read, stores the error message next
 * to what was listed last and throws the connector's error (an `ErpError`).
 */
export async function fetchAndStoreMetadata(ctx: TenantCtx, connector: Connector, signal: AbortSignal) {
  const queries = await readQuerySources(ctx);
  const read = async () => ({
    listed: withQueries((await connector.discover?.(signal)) ?? [], queries),
    described: await connector.metadata(signal, undefined, await readDescriptions(ctx)),
    account: (await connector.account?.(signal)) ?? null,
  });
  const account = await read().catch(async (error: unknown) => {
    await saveMetadataError(ctx, error instanceof Error ? error.message : String(error));
    throw error;
  });
  await saveAccount(ctx, account);
}

/**
 * Describes record types and stores the result, without the age of the list. Those that the account doesn't
 * have are absent. Throws the connector's error (an `ErpError`).
 */
export async function fetchAndStoreDescriptions(
  ctx: TenantCtx,
  connector: Connector,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly RecordTypeMetadata[]> {
  const described = await describeRecordTypes(ctx, connector, names, signal);
  const found = new Set(described.map(({ name }) => name));
  await saveDescriptions(
    ctx,
    described,
    names.filter((name) => !found.has(name)),
  );
  return described;
}

/**
 * Describes record types by name, as the ERP has them now; those that the account doesn't have are absent.
 * Throws the connector's error.
 */
export async function describeRecordTypes(
  ctx: TenantCtx,
  connector: Connector,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly RecordTypeMetadata[]> {
  const queries = await readQuerySources(ctx, names);
  const others = names.filter((name) => !queries.some((query) => query.name === name));
  const last = await readDescriptions(ctx, names);
  const described = others.length === 0 ? [] : await connector.metadata(signal, others, last);
  const ofQueries = await Promise.all(
    queries.map((query) =>
      connector.describeQuery?.(query, signal, last.find(({ name }) => name === query.name) ?? null),
    ),
  );
  return [
    ...described.filter(({ name }) => others.includes(name)),
    ...ofQueries.filter((query) => query !== undefined),
  ];
}

/**
 * Like `fetchAndStoreMetadata`, but keeps what was listed last, with the error in `lastError`, when the ERP
 * can't be read, and stores in the connection's status whether the ERP accepted its credentials. Throws the
 * connector's error only when nothing was ever listed.
 */
export async function refreshMetadata(
  ctx: TenantCtx,
  connector: Connector,
  revision: ConnectionRevision,
  signal: AbortSignal,
): Promise<void> {
  try {
    await fetchAndStoreMetadata(ctx, connector, signal);
    await recordSignIn(ctx, revision);
  } catch (error) {
    await recordSignInError(ctx, revision, error);
    if ((await readMetadataStatus(ctx)) === undefined) throw error;
  }
}
