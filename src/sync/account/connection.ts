// Creates an organization's connector from its stored settings and secrets, and stores the ERP's metadata.
import type { Connector, RecordTypeMetadata } from '../../connectors/connector.ts';
import { type ConnectorKinds, connectorKinds, createStoredConnector } from '../../connectors/kinds.ts';
import { withPrefixedNames } from '../../connectors/prefixed-names.ts';
import { secretBinding } from '../../connectors/secret-binding.ts';
import type { TenantCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { type ConnectionName, namePrefix, selectConnection } from './connection-of.ts';
import { type ConnectionRevision, recordSignIn, recordSignInError } from './connection-status.ts';
import { readQuerySources, withQueries } from './query-sources.ts';
import {
  readDescriptions,
  readMetadataStatus,
  saveAccount,
  saveDescriptions,
  saveMetadataError,
} from './record-types.store.ts';

export type CreateConnector = (ctx: TenantCtx, connection: ConnectionName) => Promise<Connector>;

type ConnectionRow = {
  name: string;
  is_first: boolean;
  kind: string;
  settings: Record<string, unknown>;
  secrets: string | null;
};
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
        secretBinding(ctx.organizationId, row.name, `erp-private-key-${certificate.slot}`),
      ),
      notAfter: certificate.not_after.toISOString(),
    };
  }
  return row.secrets === null
    ? null
    : JSON.parse(
        ctx.keyring.decrypt(row.secrets, secretBinding(ctx.organizationId, row.name, 'erp-secrets')),
      );
}

export const noConnectionAdvice = 'Set up the connection first';

const readConnection = (ctx: TenantCtx, connection: ConnectionName) =>
  inTransaction(ctx, async (tx) => {
    const row = await selectConnection(tx, ctx.organizationId, connection).first<ConnectionRow | undefined>(
      ...['name', 'is_first', 'kind', 'settings', 'secrets'],
    );
    const certificate = await tx('erp_certificates')
      .where({ organization_id: ctx.organizationId, connection: row?.name ?? '', active: true })
      .first<CertificateRow | undefined>('slot', 'private_key', 'not_after');
    return { row, certificate };
  });

/**
 * Throws 422 `VALIDATION_ERROR` with detail `no_connection` when the organization has no such ERP connection, and
 * `no_credentials` when the connection lacks its credentials. Throws as decrypting the secrets does.
 */
export async function createTenantConnector(
  ctx: TenantCtx,
  connection: ConnectionName,
  kinds: ConnectorKinds = connectorKinds,
): Promise<Connector> {
  const { row, certificate } = await readConnection(ctx, connection);
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
  const connector = createStoredConnector(kinds, row.kind, ctx, row.settings, secrets);
  return row.is_first ? connector : withPrefixedNames(connector, namePrefix(row.name));
}

/**
 * Reads which record types the ERP account has, describes those that the connector knows by name, and stores
 * both. Others are described when they are needed. When the ERP can't be read, stores the error message next
 * to what was listed last and throws the connector's error (an `ErpError`).
 */
export async function fetchAndStoreMetadata(
  ctx: TenantCtx,
  connection: ConnectionName,
  connector: Connector,
  signal: AbortSignal,
) {
  const queries = await readQuerySources(ctx, connection);
  const read = async () => ({
    listed: withQueries((await connector.discover?.(signal)) ?? [], queries),
    described: await connector.metadata(signal, undefined, await readDescriptions(ctx, connection)),
    account: (await connector.account?.(signal)) ?? null,
  });
  const account = await read().catch(async (error: unknown) => {
    await saveMetadataError(ctx, connection, error instanceof Error ? error.message : String(error));
    throw error;
  });
  await saveAccount(ctx, connection, account);
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
  const { connection } = revision;
  try {
    await fetchAndStoreMetadata(ctx, connection, connector, signal);
    await recordSignIn(ctx, revision);
  } catch (error) {
    await recordSignInError(ctx, revision, error);
    if ((await readMetadataStatus(ctx, connection)) === undefined) throw error;
  }
}
