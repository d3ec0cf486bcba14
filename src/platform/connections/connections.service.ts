// Manages the ERP connection: seals secrets, refuses another account while records exist, runs its test.
import type { ConnectionProblem, ConnectionReport } from '../../connectors/connector.ts';
import { accountRealm, findBaseUrlProblem, restHost } from '../../connectors/netsuite/connection.ts';
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { AppError, invalid, notFound } from '../../core/errors.ts';
import { createCertificate } from '../../core/secrets/certificate.ts';
import { DecryptionError } from '../../core/secrets/keyring.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  type ConnectionVerdict,
  createTenantConnector,
  noConnectionAdvice,
  readConnectionRevision,
  recordSyncHealth,
  resetConnectionStatus,
  saveConnectionTest,
  secretBinding,
} from '../../sync/index.ts';
import { countSyncedRecords } from '../../warehouse/record-state.ts';
import { purgeWarehouse } from '../../warehouse/tenant-schema.ts';
import { activateCertificate } from './certificates.service.ts';
import type { ErpConnectionInput } from './netsuite.schemas.ts';
import * as store from './netsuite.store.ts';

const target = ['erp-connection', null] as const;
/** NetSuite accepts certificates of at most two years. */
const certificateDays = 729;
const testTimeoutMs = 30_000;
/** Four characters of a shorter secret would reveal too much. */
const minHintedLength = 16;

function view(row: store.ConnectionRow, certificates: readonly store.CertificateRow[]) {
  const { method } = row.settings.authentication;
  return {
    accountId: row.account_id,
    baseUrl: row.settings.baseUrl,
    authentication: {
      ...row.settings.authentication,
      method: method === 'tba' ? ('tba' as const) : ('oauth2' as const),
    },
    hasCredentials:
      method === 'tba'
        ? row.secrets !== null
        : certificates.some(({ active, certificate_id: id }) => active && id !== null),
    credentialHint: row.secret_hint,
    status: row.status,
    lastTestedAt: instantOrNull(row.last_tested_at),
    lastError: row.last_error,
    certificates: certificates.map((certificate) => ({
      slot: certificate.slot,
      certificateId: certificate.certificate_id,
      active: certificate.active,
      certificatePem: certificate.certificate_pem,
      notAfter: instant(certificate.not_after),
      createdAt: instant(certificate.created_at),
    })),
  };
}

async function getConnectionIn(tx: Tx, organizationId: string) {
  const row = await store.findConnection(tx, organizationId);
  if (row === undefined)
    throw notFound('ERP connection', { code: 'no_connection', message: noConnectionAdvice });
  return view(row, await store.listCertificates(tx, organizationId));
}

/** Throws 404 when no connection is set up. */
export const getErpConnection = (ctx: RequestCtx) =>
  inTransaction(ctx, (tx) => getConnectionIn(tx, ctx.organizationId));

/** Seals the given secrets, or keeps the stored ones when none are given. Throws 422 `secrets_needed`. */
function secretsToStore(
  ctx: RequestCtx,
  { authentication }: ErpConnectionInput,
  before: store.ConnectionRow | undefined,
): Pick<store.ConnectionRow, 'secrets' | 'secret_hint'> {
  if (authentication.method === 'oauth2') return { secrets: null, secret_hint: null };
  const { consumerSecret, tokenSecret } = authentication;
  if (consumerSecret !== undefined && tokenSecret !== undefined) {
    return {
      secrets: ctx.keyring.encrypt(
        JSON.stringify({ consumerSecret, tokenSecret }),
        secretBinding(ctx.organizationId, 'erp-secrets'),
      ),
      secret_hint: tokenSecret.length >= minHintedLength ? tokenSecret.slice(-4) : null,
    };
  }
  if (
    consumerSecret === undefined &&
    tokenSecret === undefined &&
    before?.secrets !== undefined &&
    before.secrets !== null
  )
    return before;
  const message = 'Send consumerSecret and tokenSecret together';
  throw invalid('Both secrets are required', [{ path: 'authentication', code: 'secrets_needed', message }]);
}

function toSettings(
  { accountId, baseUrl, authentication }: ErpConnectionInput,
  certificateId: string | null,
) {
  const plain =
    authentication.method === 'oauth2'
      ? { method: authentication.method, clientId: authentication.clientId, certificateId }
      : {
          method: authentication.method,
          consumerKey: authentication.consumerKey,
          tokenId: authentication.tokenId,
        };
  return { accountId, baseUrl, authentication: plain };
}

/** The base URL's origin. Throws 422 `host_not_allowed`, or `other_account` for another account's address. */
function parseBaseUrl(ctx: RequestCtx, { baseUrl, accountId }: ErpConnectionInput): string | null {
  if (baseUrl === null) return null;
  const problem = findBaseUrlProblem(baseUrl, ctx.settings.erp.allowedHosts);
  if (problem !== null)
    throw invalid('The base URL is not allowed', [
      { path: 'baseUrl', code: 'host_not_allowed', message: problem },
    ]);
  const { origin, hostname } = new URL(baseUrl);
  if (hostname.endsWith('.netsuite.com') && hostname !== restHost(accountId)) {
    const message = `The address of this account is https://${restHost(accountId)}`;
    throw invalid('The base URL belongs to another account', [
      { path: 'baseUrl', code: 'other_account', message },
    ]);
  }
  return origin;
}

/**
 * Records of two ERP accounts must never mix. Throws 422 when the account changes while records of the
 * current one are stored, or while a run may still add some.
 */
async function assertSameAccount(tx: Tx, ctx: RequestCtx, accountId: string, records: number): Promise<void> {
  const current = await store.findAccountOfRecords(tx, ctx.organizationId);
  if (current === null || accountRealm(current) === accountRealm(accountId)) return;
  if (records > 0) {
    const message = 'Delete the connection with ?purge=<slug> first: record ids of two accounts would mix';
    throw invalid('The account cannot change while its records are stored', [
      { path: 'accountId', code: 'records_of_another_account', message },
    ]);
  }
  if (await store.hasOpenRuns(tx, ctx.organizationId)) {
    throw invalid('The account cannot change while a sync run is open', [
      { path: 'accountId', code: 'run_open', message: 'Cancel the open runs first, or wait until they end' },
    ]);
  }
}

/**
 * Throws 422 for a base URL that is not allowed, missing secrets, a changed account with stored records, or a
 * certificate id that fits no certificate or several.
 */
export async function putErpConnection(ctx: RequestCtx, given: ErpConnectionInput) {
  const input = { ...given, baseUrl: parseBaseUrl(ctx, given) };
  const { authentication } = input;
  const records = await countSyncedRecords(ctx);
  return inTransaction(ctx, async (tx) => {
    const before = await store.lockConnection(tx, ctx.organizationId);
    await assertSameAccount(tx, ctx, input.accountId, records);
    const certificate =
      authentication.method === 'oauth2' ? await activateCertificate(tx, ctx, authentication) : null;
    const settings = toSettings(input, certificate?.certificateId ?? null);
    await store.upsertConnection(tx, ctx.organizationId, {
      account_id: input.accountId,
      settings,
      ...pickSecrets(secretsToStore(ctx, input, before)),
    });
    await resetConnectionStatus(tx, ctx.organizationId);
    await store.saveAccountOfRecords(tx, ctx.organizationId, input.accountId);
    await store.resumeSyncs(tx, ctx.organizationId);
    const changes = { settings, ...(certificate !== null && { certificateSlot: certificate.slot }) };
    await writeAudit(tx, ctx, 'erp-connection.put', target, changes);
    return getConnectionIn(tx, ctx.organizationId);
  });
}

const pickSecrets = ({ secrets, secret_hint }: Pick<store.ConnectionRow, 'secrets' | 'secret_hint'>) => ({
  secrets,
  secret_hint,
});

const connectionDeleted = {
  code: 'NO_CONNECTION',
  message: 'The ERP connection was deleted',
  fix: 'Set up the connection again.',
};

/**
 * Without `purge` the synced records stay available. With the organization's slug they are deleted too, also
 * when the connection was deleted before. Throws 404 when there is nothing to delete, 400
 * `confirmation_mismatch` when `purge` is not the slug.
 */
export async function deleteErpConnection(ctx: RequestCtx, purge: string | undefined): Promise<void> {
  if (purge !== undefined && purge !== ctx.principal.organization.slug) {
    const message = "Repeat the organization's slug in ?purge=<slug>.";
    throw new AppError('BAD_REQUEST', 'Deleting the synced records must be confirmed', {
      details: [{ path: 'purge', code: 'confirmation_mismatch', message }],
    });
  }
  const leftOver = purge !== undefined && (await countSyncedRecords(ctx)) > 0;
  await inTransaction(ctx, async (tx) => {
    if (!leftOver) await getConnectionIn(tx, ctx.organizationId);
    await store.deleteConnection(tx, ctx.organizationId);
    for (const { id } of await store.pauseSyncs(tx, ctx.organizationId, connectionDeleted))
      await recordSyncHealth(tx, ctx, id, { health: 'paused', problem: connectionDeleted, runId: null });
    await writeAudit(tx, ctx, 'erp-connection.delete', target, { purged: purge !== undefined });
  });
  if (purge === undefined) return;
  await purgeWarehouse(ctx);
  await inTransaction(ctx, (tx) => store.saveAccountOfRecords(tx, ctx.organizationId, null));
}

/** Generates a key pair in the slot that is not active; only the certificate is returned. */
export async function createErpCertificate(ctx: RequestCtx) {
  const generated = createCertificate({
    commonName: `portal ${ctx.principal.organization.slug}`.slice(0, 64),
    days: certificateDays,
    keyType: 'ec-p256',
    now: ctx.clock.now(),
  });
  return inTransaction(ctx, async (tx) => {
    const active = (await store.lockCertificates(tx, ctx.organizationId)).find((row) => row.active);
    const slot = active?.slot === 1 ? 2 : 1;
    await store.upsertCertificate(tx, ctx.organizationId, {
      slot,
      certificate_pem: generated.certificatePem,
      private_key: ctx.keyring.encrypt(
        generated.privateKeyPem,
        secretBinding(ctx.organizationId, `erp-private-key-${slot}`),
      ),
      not_after: generated.notAfter,
    });
    await writeAudit(tx, ctx, 'erp-connection.certificate', target, {
      slot,
      notAfter: instant(generated.notAfter),
    });
    return { slot, certificatePem: generated.certificatePem, notAfter: instant(generated.notAfter) };
  });
}

/** Throws 422 `credentials_unreadable` when no configured encryption key can decrypt the credentials. */
export const getConnector = (ctx: TenantCtx) =>
  createTenantConnector(ctx).catch((error: unknown) => {
    if (!(error instanceof DecryptionError)) throw error;
    ctx.log.error({ err: error }, 'the credentials of the ERP connection cannot be decrypted');
    const message =
      'The encryption key has changed. Add the former key again next to the new one, or enter the credentials again.';
    throw invalid('The credentials of the connection cannot be decrypted', [
      { path: 'authentication', code: 'credentials_unreadable', message },
    ]);
  });

/** Reports a timeout as a problem with a fix instead of throwing. */
async function runTest(ctx: RequestCtx, account: string): Promise<ConnectionReport> {
  const connector = await getConnector(ctx);
  const signal = AbortSignal.timeout(testTimeoutMs);
  const startedMs = ctx.clock.monotonicMs();
  try {
    return await connector.test(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    const problem = {
      code: 'TIMEOUT',
      message: `The ERP did not respond within ${testTimeoutMs / 1000} s`,
      fix: 'Check the account id and base URL. If they are right, the ERP or the network is slow; try again later.',
    };
    return {
      ok: false,
      latencyMs: Math.round(ctx.clock.monotonicMs() - startedMs),
      account,
      problems: [problem],
    };
  }
}

/** Whether the sync reads a record type that the problem hides; of a hidden part, such as lines, that one. */
const concerns = ({ recordTypes, fields }: ConnectionProblem, sync: store.EnabledSync): boolean =>
  recordTypes?.includes(sync.record_type) === true &&
  (fields === undefined ||
    sync.fields === null ||
    fields.some((field) => sync.fields?.includes(field) === true));

/** What the report means for this organization: hidden record types matter only where they are synced. */
function toVerdict(
  { ok, problems }: ConnectionReport,
  syncs: readonly store.EnabledSync[],
): ConnectionVerdict {
  if (!ok) return { error: problems[0]?.message ?? 'The connection does not work', unreadable: [] };
  const blocked = problems.filter((problem) => syncs.some((sync) => concerns(problem, sync)));
  const unreadable = syncs
    .filter((sync) => blocked.some((problem) => concerns(problem, sync)))
    .map(({ record_type: type }) => type);
  return { error: blocked[0]?.message ?? null, unreadable };
}

/**
 * `partial`: the connection works, but not for all record types that are synced. Throws 404 without a
 * connection, 422 `credentials_unreadable`. Other failures are reported in `problems`.
 */
export async function testErpConnection(ctx: RequestCtx) {
  const { accountId } = await getErpConnection(ctx);
  const revision = await readConnectionRevision(ctx);
  const report = await runTest(ctx, accountId);
  const ok = await inTransaction(ctx, async (tx) => {
    const verdict = toVerdict(report, await store.listEnabledSyncs(tx, ctx.organizationId));
    const isCurrent = await saveConnectionTest(tx, ctx.organizationId, revision, verdict);
    // Syncs were paused because the ERP refused the credentials, which it has now accepted.
    if (isCurrent && report.ok) await store.resumeSyncs(tx, ctx.organizationId);
    await writeAudit(tx, ctx, 'erp-connection.test', target, { ok: verdict.error === null });
    return verdict.error === null;
  });
  const problems = report.problems.map(({ code, message, fix, recordTypes }) => ({
    ...{ code, message, fix },
    ...(recordTypes !== undefined && { recordTypes: [...recordTypes] }),
  }));
  return { ...report, ok, partial: report.ok && !ok, problems };
}
