// Rules of the ERP connection: secrets are sealed, the account can't change under synced data, a test is a real round trip.
import { type ConnectionReport, ErpError } from '../../connectors/connector.ts';
import { checkBaseUrl, realmOf, restHost } from '../../connectors/netsuite/connection.ts';
import { makeCertificate } from '../../core/certificate.ts';
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound, unavailable } from '../../core/errors.ts';
import { UnreadableBox } from '../../core/keyring.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  loadingFields,
  noteHealth,
  openConnectorOf,
  purgeWarehouse,
  readMetadata,
  refreshMetadata,
  secretBinding,
  syncedRecords,
} from '../../sync/index.ts';
import type { ConnectionInput } from './netsuite.schemas.ts';
import * as store from './netsuite.store.ts';

const target = { type: 'erp-connection', id: null };
/** NetSuite accepts certificates of at most two years. */
const certificateDays = 729;
const testTimeoutMs = 30_000;
const metadataTimeoutMs = 300_000;
/** Of a shorter secret, four characters would tell too much. */
const shortestHinted = 16;

function view(row: store.ConnectionRow, certificates: readonly store.CertificateRow[]) {
  const { method } = row.settings.authentication;
  return {
    accountId: row.account_id,
    baseUrl: row.settings.baseUrl,
    authentication: { ...row.settings.authentication, method: method === 'tba' ? ('tba' as const) : ('oauth2' as const) },
    hasCredentials: method === 'tba' ? row.secrets !== null : certificates.some(({ active, certificate_id: id }) => active && id !== null),
    credentialHint: row.secret_hint,
    status: row.status,
    lastTestedAt: instantOrNull(row.last_tested_at),
    lastError: row.last_error,
    certificates: certificates.map((held) => ({
      slot: held.slot,
      certificateId: held.certificate_id,
      active: held.active,
      notAfter: instant(held.not_after),
      createdAt: instant(held.created_at),
    })),
  };
}

async function getConnectionIn(tx: Tx, organizationId: string) {
  const row = await store.findConnection(tx, organizationId);
  if (row === undefined) throw notFound('ERP connection');
  return view(row, await store.listCertificates(tx, organizationId));
}

export const getConnection = (ctx: RequestCtx) => inTransaction(ctx, (tx) => getConnectionIn(tx, ctx.organizationId));

/** Sealed secrets to store: the given ones, else those already there for the same method. */
function sealedSecrets(
  ctx: RequestCtx,
  { authentication }: ConnectionInput,
  before: store.ConnectionRow | undefined,
): Pick<store.ConnectionRow, 'secrets' | 'secret_hint'> {
  if (authentication.method === 'oauth2') return { secrets: null, secret_hint: null };
  const { consumerSecret, tokenSecret } = authentication;
  if (consumerSecret !== undefined && tokenSecret !== undefined) {
    return {
      secrets: ctx.keyring.seal(JSON.stringify({ consumerSecret, tokenSecret }), secretBinding(ctx.organizationId, 'erp-secrets')),
      secret_hint: tokenSecret.length >= shortestHinted ? tokenSecret.slice(-4) : null,
    };
  }
  if (consumerSecret === undefined && tokenSecret === undefined && before?.secrets !== undefined && before.secrets !== null) return before;
  throw invalid('Both secrets are needed', [
    { path: 'authentication', code: 'secrets_needed', message: 'Give consumerSecret and tokenSecret together' },
  ]);
}

function settingsOf({ accountId, baseUrl, authentication }: ConnectionInput) {
  const plain =
    authentication.method === 'oauth2'
      ? { method: authentication.method, clientId: authentication.clientId, certificateId: authentication.certificateId }
      : { method: authentication.method, consumerKey: authentication.consumerKey, tokenId: authentication.tokenId };
  return { accountId, baseUrl, authentication: plain };
}

function checkAddress(ctx: RequestCtx, { baseUrl, accountId }: ConnectionInput): string | null {
  if (baseUrl === null) return null;
  const problem = checkBaseUrl(baseUrl, ctx.settings.erp.allowedHosts);
  if (problem !== null) throw invalid('The base URL is not acceptable', [{ path: 'baseUrl', code: 'host_not_allowed', message: problem }]);
  const { origin, hostname } = new URL(baseUrl);
  if (hostname.endsWith('.netsuite.com') && hostname !== restHost(accountId)) {
    throw invalid("The base URL is another account's", [
      { path: 'baseUrl', code: 'other_account', message: `The account's own address is https://${restHost(accountId)}` },
    ]);
  }
  return origin;
}

/** Ids of two companies must never mix: neither in what is here nor in what a run is still bringing. */
async function checkAccount(tx: Tx, ctx: RequestCtx, accountId: string, records: number): Promise<void> {
  const held = await store.accountOfRecords(tx, ctx.organizationId);
  if (held === null || realmOf(held) === realmOf(accountId)) return;
  if (records > 0) {
    throw invalid("The account can't change while its records are here", [
      {
        path: 'accountId',
        code: 'records_of_another_account',
        message: 'Delete the connection with ?purge=<slug> first: the ids of two companies would mix',
      },
    ]);
  }
  if (await store.hasOpenRuns(tx, ctx.organizationId)) {
    throw invalid("The account can't change while a sync is open", [
      { path: 'accountId', code: 'run_open', message: 'Cancel the open runs first, or wait until they have ended' },
    ]);
  }
}

async function activate(tx: Tx, ctx: RequestCtx, certificateId: string, mayRename: boolean): Promise<void> {
  if (await store.activateCertificate(tx, ctx.organizationId, certificateId, mayRename)) return;
  throw invalid('There is no certificate waiting for that id', [
    {
      path: 'authentication.certificateId',
      code: 'no_certificate',
      message: 'Make one with POST /netsuite/connection/certificate and upload it first',
    },
  ]);
}

export async function putConnection(ctx: RequestCtx, given: ConnectionInput) {
  const input = { ...given, baseUrl: checkAddress(ctx, given) };
  const { authentication } = input;
  const records = await syncedRecords(ctx);
  return inTransaction(ctx, async (tx) => {
    const before = await store.findConnection(tx, ctx.organizationId);
    await checkAccount(tx, ctx, input.accountId, records);
    await store.upsertConnection(tx, ctx.organizationId, {
      account_id: input.accountId,
      settings: settingsOf(input),
      ...pickSecrets(sealedSecrets(ctx, input, before)),
    });
    await store.noteAccountOfRecords(tx, ctx.organizationId, input.accountId);
    if (authentication.method === 'oauth2' && authentication.certificateId !== null)
      await activate(tx, ctx, authentication.certificateId, before?.status !== 'connected');
    await store.resumeSyncs(tx, ctx.organizationId);
    await writeAudit(tx, ctx, { action: 'erp-connection.put', target, changes: { settings: settingsOf(input) } });
    return getConnectionIn(tx, ctx.organizationId);
  });
}

const pickSecrets = ({ secrets, secret_hint }: Pick<store.ConnectionRow, 'secrets' | 'secret_hint'>) => ({ secrets, secret_hint });

const connectionDeleted = {
  code: 'NO_CONNECTION',
  message: 'The ERP connection was deleted',
  fix: 'Set up a connection with PUT /netsuite/connection.',
};

/** Without `purge` the synced records stay served; with the organization's slug they go too, even after the connection did. */
export async function removeConnection(ctx: RequestCtx, purge: string | undefined): Promise<void> {
  if (purge !== undefined && purge !== ctx.principal.organization.slug) {
    throw invalid('The confirmation does not match', [{ path: 'purge', code: 'not_confirmed', message: "Give the organization's slug" }]);
  }
  const leftOver = purge !== undefined && (await syncedRecords(ctx)) > 0;
  await inTransaction(ctx, async (tx) => {
    if (!leftOver) await getConnectionIn(tx, ctx.organizationId);
    await store.deleteConnection(tx, ctx.organizationId);
    for (const { id } of await store.pauseSyncs(tx, ctx.organizationId, connectionDeleted))
      await noteHealth(tx, ctx, id, { health: 'paused', problem: connectionDeleted, runId: null });
    await writeAudit(tx, ctx, { action: 'erp-connection.delete', target, changes: { purged: purge !== undefined } });
  });
  if (purge === undefined) return;
  await purgeWarehouse(ctx);
  await inTransaction(ctx, (tx) => store.noteAccountOfRecords(tx, ctx.organizationId, null));
}

/** The key pair is made here; only the certificate leaves. The slot that isn't signing is used. */
export async function newCertificate(ctx: RequestCtx) {
  const made = makeCertificate({
    commonName: `portal ${ctx.principal.organization.slug}`.slice(0, 64),
    days: certificateDays,
    keyType: 'ec-p256',
    now: ctx.clock.now(),
  });
  return inTransaction(ctx, async (tx) => {
    const active = (await store.listCertificates(tx, ctx.organizationId)).find((row) => row.active);
    const slot = active?.slot === 1 ? 2 : 1;
    await store.putCertificate(tx, ctx.organizationId, {
      slot,
      certificate_pem: made.certificatePem,
      private_key: ctx.keyring.seal(made.privateKeyPem, secretBinding(ctx.organizationId, `erp-private-key-${slot}`)),
      not_after: made.notAfter,
    });
    await writeAudit(tx, ctx, { action: 'erp-connection.certificate', target, changes: { slot, notAfter: instant(made.notAfter) } });
    return { slot, certificatePem: made.certificatePem, notAfter: instant(made.notAfter) };
  });
}

/** Credentials that no key opens any more are as good as none. */
const openConnection = (ctx: RequestCtx) =>
  openConnectorOf(ctx).catch((error: unknown) => {
    if (!(error instanceof UnreadableBox)) throw error;
    ctx.log.error({ err: error }, "the ERP connection's credentials can't be opened");
    throw invalid("The connection's credentials can't be opened", [
      {
        path: 'authentication',
        code: 'credentials_unreadable',
        message: 'The encryption key has changed: put the former one back beside it, or enter the credentials anew',
      },
    ]);
  });

/** Whatever keeps the ERP from answering becomes a problem that says what to do about it. */
async function runTest(ctx: RequestCtx, account: string): Promise<ConnectionReport> {
  const connector = await openConnection(ctx);
  const signal = AbortSignal.timeout(testTimeoutMs);
  const startedMs = ctx.clock.monotonicMs();
  try {
    return await connector.test(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    const problem = {
      code: 'TIMEOUT',
      message: `The ERP did not answer within ${testTimeoutMs / 1000} s`,
      fix: 'Check the account id and base URL; if they are right, the ERP or the network is slow, and a later try may succeed.',
    };
    return { ok: false, latencyMs: Math.round(ctx.clock.monotonicMs() - startedMs), account, problems: [problem] };
  }
}

export async function testConnection(ctx: RequestCtx) {
  const { accountId } = await getConnection(ctx);
  const report = await runTest(ctx, accountId);
  await inTransaction(ctx, async (tx) => {
    await store.noteTest(
      tx,
      ctx.organizationId,
      report.ok ? 'connected' : 'failed',
      report.ok ? null : (report.problems[0]?.message ?? null),
    );
    if (report.ok) await store.resumeSyncs(tx, ctx.organizationId);
    await writeAudit(tx, ctx, { action: 'erp-connection.test', target, changes: { ok: report.ok } });
  });
  return { ...report, problems: [...report.problems] };
}

type Stored = NonNullable<Awaited<ReturnType<typeof readMetadata>>>;
const metadataView = (stored: Stored) => ({
  refreshedAt: instant(stored.refreshedAt),
  lastError: stored.lastError,
  recordTypes: stored.recordTypes.map(({ fields, name, label, table, source }) => ({
    name,
    label,
    table,
    source,
    fieldCount: fields.length,
    syncableFieldCount: fields.filter(({ syncable }) => syncable).length,
  })),
});

export async function getMetadata(ctx: RequestCtx) {
  const stored = await readMetadata(ctx);
  if (stored === undefined) throw notFound('ERP metadata');
  return metadataView(stored);
}

export async function getRecordType(ctx: RequestCtx, name: string) {
  const recordType = (await readMetadata(ctx))?.recordTypes.find((candidate) => candidate.name === name);
  if (recordType === undefined) throw notFound('Record type');
  const loading = await loadingFields(ctx, name);
  return {
    name: recordType.name,
    label: recordType.label,
    table: recordType.table,
    source: recordType.source,
    fields: recordType.fields.map(({ fields, ...field }) => ({
      ...field,
      loading: loading.has(field.name),
      ...(fields !== undefined && {
        fields: fields.map((line) => ({
          name: line.name,
          label: line.label,
          type: line.type,
          syncable: line.syncable,
          reason: line.reason,
        })),
      }),
    })),
  };
}

/** What trying again can't cure is the connection's fault; the rest is the ERP being away. */
function metadataFailure(error: unknown, timedOut: boolean): unknown {
  if (timedOut) return unavailable('The ERP did not answer in time', 60, error);
  if (!(error instanceof ErpError)) return error;
  const hopeless = ['credentials', 'forbidden', 'query'].includes(error.kind);
  if (!hopeless) return unavailable(`The ERP could not be read: ${error.message}. ${error.fix}`, 30, error);
  return invalid(`The ERP could not be read: ${error.message}`, [{ path: '', code: error.code, message: error.fix }]);
}

export async function refreshErpMetadata(ctx: RequestCtx) {
  const connector = await openConnection(ctx);
  const signal = AbortSignal.timeout(metadataTimeoutMs);
  const stored = await refreshMetadata(ctx, connector, signal).catch((error: unknown) => {
    throw metadataFailure(error, signal.aborted);
  });
  await inTransaction(ctx, (tx) =>
    writeAudit(tx, ctx, { action: 'erp-metadata.refresh', target, changes: { recordTypes: stored.recordTypes.length } }),
  );
  return metadataView(stored);
}
