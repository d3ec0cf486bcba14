// Manages ERP connections: seals secrets, refuses another account while records exist, runs their tests.
import type { ConnectionProblem, ConnectionReport } from '../../connectors/connector.ts';
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { AppError, invalid, notFound } from '../../core/errors.ts';
import { createCertificate } from '../../core/secrets/certificate.ts';
import { DecryptionError } from '../../core/secrets/keyring.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  type ConnectionName,
  type ConnectionVerdict,
  createTenantConnector,
  namePrefix,
  netsuiteName,
  noConnectionAdvice,
  readConnectionRevision,
  recordSyncHealth,
  resetConnectionStatus,
  saveConnectionTest,
  secretBinding,
} from '../../sync/index.ts';
import { purgeRecordTypes } from '../../warehouse/purge.ts';
import { countSyncedRecords } from '../../warehouse/record-state.ts';
import { listServedRecordTypes } from '../api-schemas/api-schemas.store.ts';
import { assertQuota } from '../quotas.ts';
import type { PreparedConnection } from './connection-form.ts';
import type {
  ConnectionInput,
  ConnectionUpdate,
  ErpConnectionInput,
  NetsuiteSecretsInput,
} from './connections.schemas.ts';
import * as store from './connections.store.ts';
import { netsuiteForm } from './netsuite-form.ts';

/** NetSuite accepts certificates of at most two years. */
const certificateDays = 729;
const testTimeoutMs = 30_000;
const target = ['erp-connection', null] as const;

const forms = { netsuite: netsuiteForm } as const;

/** Of its record types: null for the first connection. */
const typesOf = ({
  name,
  is_first: isFirst,
}: Pick<store.ConnectionRow, 'name' | 'is_first'>): ConnectionName => (isFirst ? null : name);

const viewCertificate = (certificate: store.CertificateRow) => ({
  slot: certificate.slot,
  certificateId: certificate.certificate_id,
  active: certificate.active,
  certificatePem: certificate.certificate_pem,
  notAfter: instant(certificate.not_after),
  createdAt: instant(certificate.created_at),
});

function view(row: store.ConnectionRow, certificates: readonly store.CertificateRow[]) {
  return {
    ...{ name: row.name, kind: row.kind, recordTypePrefix: namePrefix(typesOf(row)), settings: row.settings },
    hasCredentials: forms[row.kind].hasCredentials(row, certificates),
    credentialHint: row.secret_hint,
    status: row.status,
    lastTestedAt: instantOrNull(row.last_tested_at),
    lastError: row.last_error,
    certificates: certificates.map(viewCertificate),
  };
}
type ConnectionView = ReturnType<typeof view>;

const noConnection = () => notFound('ERP connection', { code: 'no_connection', message: noConnectionAdvice });

async function viewRow(tx: Tx, organizationId: string, row: store.ConnectionRow): Promise<ConnectionView> {
  return view(row, await store.listCertificates(tx, organizationId, row.name));
}

async function getRow(tx: Tx, organizationId: string, name: string): Promise<store.ConnectionRow> {
  const row = await store.findConnection(tx, organizationId, name);
  if (row === undefined) throw noConnection();
  return row;
}

/** All of them are few: one page. */
export const listConnections = (ctx: RequestCtx): Promise<{ data: ConnectionView[] }> =>
  inTransaction(ctx, async (tx) => {
    const data: ConnectionView[] = [];
    for (const row of await store.listConnections(tx, ctx.organizationId))
      data.push(await viewRow(tx, ctx.organizationId, row));
    return { data };
  });

/** Throws 404 for an unknown one. */
export const getConnection = (ctx: RequestCtx, name: string): Promise<ConnectionView> =>
  inTransaction(ctx, async (tx) =>
    viewRow(tx, ctx.organizationId, await getRow(tx, ctx.organizationId, name)),
  );

/** The connection's name before the names of its record types; null for the first one and where there is none of this name. */
export const findTypesOf = (ctx: TenantCtx, name: string): Promise<ConnectionName> =>
  inTransaction(ctx, async (tx) => {
    const row = await store.findConnection(tx, ctx.organizationId, name);
    return row?.is_first === true ? null : name;
  });

/** The account of the stored records, if any: that of `netsuite` is known even after it was deleted. */
const findCurrentAccount = async (
  tx: Tx,
  organizationId: string,
  name: string,
  before: store.ConnectionRow | undefined,
): Promise<string | null> =>
  (name === netsuiteName ? await store.findAccountOfRecords(tx, organizationId) : before?.account_id) ?? null;

type Written = Pick<store.ConnectionRow, 'name' | 'kind'> & { readonly isFirst: boolean };

/**
 * Records of two ERP accounts must never mix. Throws 422 when the account changes while records of the
 * current one are stored, or while a run may still add some.
 */
async function assertSameAccount(
  tx: Tx,
  ctx: RequestCtx,
  { name, kind, isFirst }: Written,
  { account }: PreparedConnection,
  before: store.ConnectionRow | undefined,
): Promise<void> {
  const form = forms[kind];
  const current = await findCurrentAccount(tx, ctx.organizationId, name, before);
  if (current === null || form.isSameAccount(current, account)) return;
  const path = form.accountField;
  const connection = isFirst ? null : name;
  if ((await countSyncedRecords(ctx, namePrefix(connection))) > 0) {
    const message = 'Delete the connection with ?purge=<slug> first: record ids of two accounts would mix';
    throw invalid('The account cannot change while its records are stored', [
      { path, code: 'records_of_another_account', message },
    ]);
  }
  if (await store.hasOpenRuns(tx, ctx.organizationId, connection)) {
    throw invalid('The account cannot change while a sync run is open', [
      { path, code: 'run_open', message: 'Cancel the open runs first, or wait until they end' },
    ]);
  }
}

type Given = Omit<ConnectionInput, 'secrets'> & {
  readonly secrets: Partial<NetsuiteSecretsInput> | undefined;
};

/** Stores a connection as entered, in the caller's transaction, which has locked it if it exists. */
async function write(
  tx: Tx,
  ctx: RequestCtx,
  { name, kind, ...given }: Given,
  before: store.ConnectionRow | undefined,
): Promise<ConnectionView> {
  const { organizationId } = ctx;
  if (before === undefined) await assertQuota(tx, ctx, 'connections');
  const isFirst = before?.is_first ?? (await store.isFirstConnection(tx, organizationId, name));
  const prepared = await forms[kind].prepare(tx, ctx, name, given, before);
  await assertSameAccount(tx, ctx, { name, kind, isFirst }, prepared, before);
  const { account, settings, secrets, hint, audit } = prepared;
  const sealed =
    secrets === 'kept'
      ? (before?.secrets ?? null)
      : secrets &&
        ctx.keyring.encrypt(JSON.stringify(secrets), secretBinding(organizationId, name, 'erp-secrets'));
  const row = { name, kind, account_id: account, settings, secrets: sealed, secret_hint: hint };
  await store.upsertConnection(tx, organizationId, row, isFirst);
  await resetConnectionStatus(tx, organizationId, name);
  if (name === netsuiteName) await store.saveAccountOfRecords(tx, organizationId, account);
  await store.resumeSyncs(tx, organizationId, isFirst ? null : name);
  await writeAudit(tx, ctx, 'erp-connection.put', target, {
    ...(name !== netsuiteName && { name, kind }),
    ...{ settings, ...audit },
  });
  return viewRow(tx, organizationId, await getRow(tx, organizationId, name));
}

/** Throws 422 for a taken name, `netsuite` of another kind, a full quota, and as `putNetsuite` does. */
export const createConnection = (ctx: RequestCtx, input: ConnectionInput): Promise<ConnectionView> =>
  inTransaction(ctx, async (tx) => {
    const { name, kind } = input;
    if (name === netsuiteName && kind !== 'netsuite')
      throw invalid('The name is reserved', [
        { path: 'name', code: 'reserved', message: 'netsuite is the name of a connection to NetSuite' },
      ]);
    if ((await store.findConnection(tx, ctx.organizationId, name)) !== undefined)
      throw invalid('The name is taken', [
        { path: 'name', code: 'taken', message: 'Another connection has this name' },
      ]);
    return write(tx, ctx, { secrets: undefined, ...input }, undefined);
  });

/** Throws 404 for an unknown one, 422 for another kind, and as `putNetsuite` does. */
export const updateConnection = (
  ctx: RequestCtx,
  name: string,
  input: ConnectionUpdate,
): Promise<ConnectionView> =>
  inTransaction(ctx, async (tx) => {
    const before = await store.lockConnection(tx, ctx.organizationId, name);
    if (before === undefined) throw noConnection();
    if (before.kind !== input.kind)
      throw invalid('The kind of a connection cannot change', [
        { path: 'kind', code: 'other_kind', message: `${name} is of kind ${before.kind}` },
      ]);
    return write(tx, ctx, { name, secrets: undefined, ...input }, before);
  });

const viewNetsuite = ({ name: _, kind: __, recordTypePrefix: ___, settings, ...state }: ConnectionView) => ({
  ...settings,
  ...state,
});

/** Throws 404 when no connection is set up. */
export const getErpConnection = async (ctx: RequestCtx) =>
  viewNetsuite(await getConnection(ctx, netsuiteName));

/**
 * Throws 422 for a base URL that is not allowed, missing secrets, a changed account with stored records, or a
 * certificate id that fits no certificate or several.
 */
export const putErpConnection = (ctx: RequestCtx, { authentication, ...given }: ErpConnectionInput) =>
  inTransaction(ctx, async (tx) => {
    const before = await store.lockConnection(tx, ctx.organizationId, netsuiteName);
    const { secrets, ...plain } =
      authentication.method === 'oauth2'
        ? { ...authentication, secrets: undefined }
        : splitSecrets(authentication);
    const settings = { ...given, authentication: plain };
    return viewNetsuite(
      await write(tx, ctx, { name: netsuiteName, kind: 'netsuite', settings, secrets }, before),
    );
  });

const splitSecrets = ({
  consumerSecret,
  tokenSecret,
  ...plain
}: Extract<ErpConnectionInput['authentication'], { method: 'tba' }>) => ({
  ...plain,
  secrets: {
    ...(consumerSecret !== undefined && { consumerSecret }),
    ...(tokenSecret !== undefined && { tokenSecret }),
  },
});

const connectionDeleted = {
  code: 'NO_CONNECTION',
  message: 'The ERP connection was deleted',
  fix: 'Set up the connection again.',
};

/** Throws 422 `in_use` while a published version shows records of the connection. */
async function assertNotServed(tx: Tx, ctx: RequestCtx, row: store.ConnectionRow): Promise<void> {
  const served = await listServedRecordTypes(tx, ctx.organizationId);
  const own = served.filter(({ recordType }) => isTypeOf(row, recordType));
  if (own.length === 0) return;
  const names = [...new Set(own.map(({ version, recordType }) => `${recordType} in ${version}`))];
  throw invalid('Published versions show records of this connection', [
    { path: '', code: 'in_use', message: `Retire them first: ${names.slice(0, 10).join(', ')}` },
  ]);
}
const isTypeOf = (row: Pick<store.ConnectionRow, 'name' | 'is_first'>, recordType: string): boolean =>
  row.is_first ? !recordType.includes(':') : recordType.startsWith(namePrefix(row.name));

/** Throws 400 `confirmation_mismatch` when `purge` isn't the organization's slug. */
function assertConfirmed(ctx: RequestCtx, purge: string | undefined): void {
  if (purge === undefined || purge === ctx.principal.organization.slug) return;
  const message = "Repeat the organization's slug in ?purge=<slug>.";
  throw new AppError('BAD_REQUEST', 'Deleting the synced records must be confirmed', {
    details: [{ path: 'purge', code: 'confirmation_mismatch', message }],
  });
}

/**
 * Without `purge` the synced records stay available. With the organization's slug they are deleted too, those of
 * `netsuite` also when the connection was deleted before. Throws 404 when there is nothing to delete, 400
 * `confirmation_mismatch`, and 422 `records_stored` for another connection than `netsuite` without `purge`: nothing would
 * say which account its records are from. `refusesServed`: also 422 while a published version shows them.
 */
export async function deleteConnection(
  ctx: RequestCtx,
  name: string,
  purge: string | undefined,
  refusesServed = true,
): Promise<void> {
  assertConfirmed(ctx, purge);
  const known = await inTransaction(ctx, (tx) => store.findConnection(tx, ctx.organizationId, name));
  const { is_first: isFirst } = known ?? { is_first: name === netsuiteName };
  const connection = isFirst ? null : name;
  const records = await countSyncedRecords(ctx, namePrefix(connection));
  const isLeftOver = known === undefined && purge !== undefined && name === netsuiteName && records > 0;
  if (known === undefined && !isLeftOver) throw noConnection();
  if (name !== netsuiteName && purge === undefined && records > 0)
    throw invalid('The connection has synced records', [
      { path: '', code: 'records_stored', message: 'Delete them with it: ?purge=<organization slug>' },
    ]);
  await inTransaction(ctx, async (tx) => {
    const row = { name, is_first: isFirst };
    if (known !== undefined && refusesServed) await assertNotServed(tx, ctx, known);
    await store.deleteConnection(tx, ctx.organizationId, row);
    for (const { id } of await store.pauseSyncs(tx, ctx.organizationId, connection, connectionDeleted))
      await recordSyncHealth(tx, ctx, id, { health: 'paused', problem: connectionDeleted, runId: null });
    await writeAudit(tx, ctx, 'erp-connection.delete', target, {
      ...(name !== netsuiteName && { name }),
      purged: purge !== undefined,
    });
  });
  if (purge === undefined) return;
  await purgeRecordTypes(ctx, (recordType) => isTypeOf({ name, is_first: isFirst }, recordType));
  if (name === netsuiteName)
    await inTransaction(ctx, (tx) => store.saveAccountOfRecords(tx, ctx.organizationId, null));
}

/** Throws 422 for a kind without certificates, and 404 for an unknown connection other than `netsuite`. */
async function assertSignsWithCertificates(tx: Tx, ctx: RequestCtx, name: string): Promise<void> {
  if (name === netsuiteName) return;
  const { kind } = await getRow(tx, ctx.organizationId, name);
  if (kind === 'netsuite') return;
  const message = `A connection of kind ${kind} has no certificates`;
  throw invalid('The connection has no certificates', [{ path: '', code: 'no_certificates', message }]);
}

/**
 * Generates a key pair in the slot that is not active; only the certificate is returned. Throws as
 * `assertSignsWithCertificates` does.
 */
export async function createErpCertificate(ctx: RequestCtx, name: string) {
  const generated = createCertificate({
    commonName: `portal ${ctx.principal.organization.slug}`.slice(0, 64),
    days: certificateDays,
    keyType: 'ec-p256',
    now: ctx.clock.now(),
  });
  return inTransaction(ctx, async (tx) => {
    await assertSignsWithCertificates(tx, ctx, name);
    const active = (await store.lockCertificates(tx, ctx.organizationId, name)).find((row) => row.active);
    const slot = active?.slot === 1 ? 2 : 1;
    await store.upsertCertificate(tx, ctx.organizationId, name, {
      slot,
      certificate_pem: generated.certificatePem,
      private_key: ctx.keyring.encrypt(
        generated.privateKeyPem,
        secretBinding(ctx.organizationId, name, `erp-private-key-${slot}`),
      ),
      not_after: generated.notAfter,
    });
    await writeAudit(tx, ctx, 'erp-connection.certificate', target, {
      ...(name !== netsuiteName && { name }),
      slot,
      notAfter: instant(generated.notAfter),
    });
    return { slot, certificatePem: generated.certificatePem, notAfter: instant(generated.notAfter) };
  });
}

/** Throws 422 `credentials_unreadable` when no configured encryption key can decrypt the credentials. */
export const getConnector = (ctx: TenantCtx, connection: ConnectionName) =>
  createTenantConnector(ctx, connection).catch((error: unknown) => {
    if (!(error instanceof DecryptionError)) throw error;
    ctx.log.error({ err: error }, 'the credentials of the ERP connection cannot be decrypted');
    const message =
      'The encryption key has changed. Add the former key again next to the new one, or enter the credentials again.';
    throw invalid('The credentials of the connection cannot be decrypted', [
      { path: 'authentication', code: 'credentials_unreadable', message },
    ]);
  });

/** Reports a timeout as a problem with a fix instead of throwing. */
async function runTest(ctx: RequestCtx, name: string, account: string): Promise<ConnectionReport> {
  const connector = await getConnector(ctx, name);
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
export async function testConnection(ctx: RequestCtx, name: string) {
  const { organizationId } = ctx;
  const row = await inTransaction(ctx, (tx) => getRow(tx, organizationId, name));
  const revision = await readConnectionRevision(ctx, name);
  const report = await runTest(ctx, name, row.account_id);
  const ok = await inTransaction(ctx, async (tx) => {
    const syncs = await store.listEnabledSyncs(tx, organizationId, typesOf(row));
    const verdict = toVerdict(report, syncs);
    const isCurrent = await saveConnectionTest(tx, organizationId, revision, verdict);
    // Syncs were paused because the ERP refused the credentials, which it has now accepted.
    if (isCurrent && report.ok) await store.resumeSyncs(tx, organizationId, typesOf(row));
    await writeAudit(tx, ctx, 'erp-connection.test', target, {
      ...(name !== netsuiteName && { name }),
      ok: verdict.error === null,
    });
    return verdict.error === null;
  });
  const problems = report.problems.map(({ code, message, fix, recordTypes }) => ({
    ...{ code, message, fix },
    ...(recordTypes !== undefined && { recordTypes: [...recordTypes] }),
  }));
  return { ...report, ok, partial: report.ok && !ok, problems };
}
