import { netsuiteName, secretBinding } from '../../connectors/secret-binding.ts';
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { AppError, invalid, notFound } from '../../core/errors.ts';
import { createCertificate } from '../../core/secrets/certificate.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  type ConnectionName,
  namePrefix,
  noConnectionAdvice,
  resetConnectionStatus,
} from '../../sync/index.ts';
import { countSyncedRecords } from '../../warehouse/record-state.ts';
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
import { odataForm } from './odata-form.ts';

/** NetSuite accepts certificates of at most two years. */
const certificateDays = 729;
export const target = ['erp-connection', null] as const;

const forms = { netsuite: netsuiteForm, odata: odataForm } as const;

/** Of its record types: null for the first connection. */
export const typesOf = ({
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

const pickSettings = (row: store.ConnectionRow): store.KindSettings =>
  row.kind === 'netsuite'
    ? { kind: row.kind, settings: row.settings }
    : { kind: row.kind, settings: row.settings };

function view(row: store.ConnectionRow, certificates: readonly store.CertificateRow[]) {
  return {
    ...{ ...pickSettings(row), name: row.name, recordTypePrefix: namePrefix(typesOf(row)) },
    hasCredentials: forms[row.kind].hasCredentials(row, certificates),
    credentialHint: row.secret_hint,
    status: row.status,
    lastTestedAt: instantOrNull(row.last_tested_at),
    lastError: row.last_error,
    certificates: certificates.map(viewCertificate),
  };
}
type ConnectionView = ReturnType<typeof view>;

export const noConnection = () =>
  notFound('ERP connection', { code: 'no_connection', message: noConnectionAdvice });

async function viewRow(tx: Tx, organizationId: string, row: store.ConnectionRow): Promise<ConnectionView> {
  return view(row, await store.listCertificates(tx, organizationId, row.name));
}

/** Throws 404 for an unknown one. */
export async function getRow(tx: Tx, organizationId: string, name: string): Promise<store.ConnectionRow> {
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

/**
 * The connection's name before the names of its record types; null for the first one. Without any connection, what is left
 * belongs to `netsuite`. Throws 404 for another name that no connection has.
 */
export const findTypesIn = async (tx: Tx, organizationId: string, name: string): Promise<ConnectionName> => {
  const row = await store.findConnection(tx, organizationId, name);
  if (row !== undefined) return typesOf(row);
  if (name !== netsuiteName) throw noConnection();
  return (await store.hasFirstConnection(tx, organizationId)) ? name : null;
};
/** Throws as `findTypesIn` does. */
export const findTypesOf = (ctx: TenantCtx, name: string): Promise<ConnectionName> =>
  inTransaction(ctx, (tx) => findTypesIn(tx, ctx.organizationId, name));

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

/**
 * Whether a new connection becomes the first one: record types with bare names belong to no other, and those that were
 * synced through a connection that was deleted to `netsuite`. Throws 422 `records_of_another_account` when records under its
 * name are left of an earlier one, or may still come: whose they are isn't known.
 */
async function placeNew(tx: Tx, ctx: RequestCtx, name: string): Promise<boolean> {
  const { organizationId } = ctx;
  const isLeft = async (connection: ConnectionName): Promise<boolean> =>
    (await countSyncedRecords(ctx, namePrefix(connection))) > 0 ||
    (await store.hasOpenRuns(tx, organizationId, connection));
  const hasFirst = await store.hasFirstConnection(tx, organizationId);
  if (name === netsuiteName && !hasFirst) return true;
  if (await isLeft(name)) {
    const message =
      'Choose another name, or delete what is left: DELETE /connections/{connection}?purge=<slug>';
    throw invalid('Records of an earlier connection have this name', [
      { path: 'name', code: 'records_of_another_account', message },
    ]);
  }
  return !hasFirst && !(await store.hasSyncs(tx, organizationId, null)) && !(await isLeft(null));
}

type OfKind<K extends ConnectionInput['kind']> = Extract<ConnectionInput, { kind: K }>;
type Given =
  | (Omit<OfKind<'netsuite'>, 'secrets'> & { readonly secrets?: Partial<NetsuiteSecretsInput> | undefined })
  | OfKind<'odata'>;

const prepare = (
  tx: Tx,
  ctx: RequestCtx,
  given: Given,
  before: store.ConnectionRow | undefined,
): Promise<PreparedConnection> =>
  given.kind === 'netsuite'
    ? netsuiteForm.prepare(tx, ctx, given.name, { secrets: undefined, ...given }, before)
    : odataForm.prepare(tx, ctx, given.name, { secrets: undefined, ...given }, before);

/** Stores a connection as entered, in the caller's transaction, which has locked it if it exists. */
async function write(
  tx: Tx,
  ctx: RequestCtx,
  given: Given,
  before: store.ConnectionRow | undefined,
): Promise<ConnectionView> {
  const { organizationId } = ctx;
  const { name, kind } = given;
  if (before === undefined) await assertQuota(tx, ctx, 'connections');
  const isFirst = before?.is_first ?? (await placeNew(tx, ctx, name));
  const prepared = await prepare(tx, ctx, given, before);
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
    // Waits for another that is being created.
    await assertQuota(tx, ctx, 'connections');
    if ((await store.findConnection(tx, ctx.organizationId, name)) !== undefined)
      throw invalid('The name is taken', [
        { path: 'name', code: 'taken', message: 'Another connection has this name' },
      ]);
    return write(tx, ctx, input, undefined);
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
    return write(tx, ctx, { name, ...input }, before);
  });

function viewNetsuite(connection: ConnectionView) {
  if (connection.kind !== 'netsuite') throw noConnection();
  const { name: _, kind: __, recordTypePrefix: ___, settings, ...state } = connection;
  return { ...settings, ...state };
}

/** Throws 404 when no connection is set up. */
export const getErpConnection = async (ctx: RequestCtx) =>
  viewNetsuite(await getConnection(ctx, netsuiteName));

/** Rejects with the paths of this form, which has the settings at its top and secrets within the sign-in. */
async function withFlatPaths<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof AppError) || error.status !== 422) throw error;
    const flat = (path: string) => (path === 'secrets' ? 'authentication' : path.replace(/^settings\./, ''));
    throw invalid(
      error.message,
      error.details.map((detail) => ({ ...detail, path: flat(detail.path) })),
    );
  }
}

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
    const written = write(tx, ctx, { name: netsuiteName, kind: 'netsuite', settings, secrets }, before);
    return viewNetsuite(await withFlatPaths(written));
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
    if (name !== netsuiteName) await store.lockConnection(tx, ctx.organizationId, name);
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
