// Rows of ERP connections and their certificates. Only this file writes these tables, except for the columns that say
// what is known about a connection: those are written by src/sync/account.
import type { OdataSettings } from '../../connectors/odata/connection.ts';
import type { Tx } from '../../db/transaction.ts';
import { type ConnectionName, isOneOf, selectConnection } from '../../sync/index.ts';

export type ConnectionRow = KindSettings & {
  name: string;
  is_first: boolean;
  account_id: string;
  secrets: string | null;
  secret_hint: string | null;
  status: 'untested' | 'connected' | 'failed';
  last_tested_at: Date | null;
  last_error: string | null;
};
export type KindSettings =
  | { kind: 'netsuite'; settings: NetsuiteStored }
  | { kind: 'odata'; settings: OdataSettings };
/** The settings of a connection to NetSuite. */
export type NetsuiteStored = {
  accountId: string;
  baseUrl: string | null;
  authentication: { method: 'oauth2' | 'tba' } & Record<string, string | null>;
};
export type CertificateRow = {
  slot: number;
  certificate_id: string | null;
  certificate_pem: string;
  not_after: Date;
  active: boolean;
  created_at: Date;
};

const connectionColumns = [
  'name',
  'is_first',
  'kind',
  'account_id',
  'settings',
  'secrets',
  'secret_hint',
  'status',
  'last_tested_at',
  'last_error',
] as const satisfies readonly (keyof ConnectionRow)[];
const certificateColumns = [
  ...(['slot', 'certificate_id', 'certificate_pem', 'not_after', 'active', 'created_at'] as const),
] satisfies readonly (keyof CertificateRow)[];

const connections = (tx: Tx, organizationId: string) =>
  tx('erp_connections').where({ organization_id: organizationId });

/** The first one, then by name. */
export const listConnections = async (tx: Tx, organizationId: string): Promise<ConnectionRow[]> =>
  connections(tx, organizationId)
    .orderBy([{ column: 'is_first', order: 'desc' }, 'name'])
    .select<ConnectionRow[]>(...connectionColumns);

/** Null: the first one. */
export const findConnection = async (
  tx: Tx,
  organizationId: string,
  connection: ConnectionName,
): Promise<ConnectionRow | undefined> =>
  selectConnection(tx, organizationId, connection).first<ConnectionRow | undefined>(...connectionColumns);

/** Locks the connection before its certificates, as deleting it does, so that neither blocks the other. */
export const lockConnection = async (
  tx: Tx,
  organizationId: string,
  name: string,
): Promise<ConnectionRow | undefined> =>
  selectConnection(tx, organizationId, name)
    .forUpdate()
    .first<ConnectionRow | undefined>(...connectionColumns);

/** Whether any connection has bare names of record types. */
export const hasFirstConnection = async (tx: Tx, organizationId: string): Promise<boolean> =>
  (await connections(tx, organizationId).where({ is_first: true }).first('name')) !== undefined;

/** Whether a sync configuration, paused or not, reads a record type of the connection. */
export const hasSyncs = async (
  tx: Tx,
  organizationId: string,
  connection: ConnectionName,
): Promise<boolean> => (await syncs(tx, organizationId, connection).first('id')) !== undefined;

const selectCertificates = (tx: Tx, organizationId: string, connection: string) =>
  tx('erp_certificates')
    .where({ organization_id: organizationId, connection })
    .orderBy('slot')
    .select<CertificateRow[]>(...certificateColumns);

export const listCertificates = async (
  tx: Tx,
  organizationId: string,
  connection: string,
): Promise<CertificateRow[]> => selectCertificates(tx, organizationId, connection);

type Written = Pick<ConnectionRow, 'name' | 'kind' | 'account_id' | 'secrets' | 'secret_hint'> & {
  readonly settings: object;
};
/** `isFirst`: only of a new one. */
export const upsertConnection = (tx: Tx, organizationId: string, row: Written, isFirst: boolean) =>
  tx('erp_connections')
    .insert({
      organization_id: organizationId,
      ...row,
      is_first: isFirst,
      settings: JSON.stringify(row.settings),
      updated_at: tx.raw('clock_timestamp()'),
    })
    .onConflict(['organization_id', 'name'])
    .merge(['kind', 'account_id', 'settings', 'secrets', 'secret_hint', 'updated_at']);

export async function deleteConnection(
  tx: Tx,
  organizationId: string,
  { name, is_first: isFirst }: Pick<ConnectionRow, 'name' | 'is_first'>,
): Promise<void> {
  const own = { organization_id: organizationId };
  await tx('erp_connections')
    .where({ ...own, name })
    .delete();
  await tx('erp_certificates')
    .where({ ...own, connection: name })
    .delete();
  await tx('erp_record_types')
    .where(own)
    .whereRaw(...isOneOf('name', isFirst ? null : name))
    .delete();
}

type NewCertificate = { slot: number; certificate_pem: string; private_key: string; not_after: Date };
export const upsertCertificate = (tx: Tx, organizationId: string, connection: string, row: NewCertificate) =>
  tx('erp_certificates')
    .insert({
      ...{ organization_id: organizationId, connection },
      ...row,
      certificate_id: null,
      active: false,
      created_at: tx.fn.now(),
    })
    .onConflict(['organization_id', 'connection', 'slot'])
    .merge();

/** Locks the certificates, so that none is replaced or activated until the transaction ends. */
export const lockCertificates = async (
  tx: Tx,
  organizationId: string,
  connection: string,
): Promise<CertificateRow[]> => selectCertificates(tx, organizationId, connection).forUpdate();

/** Activates this slot's certificate under this id. An id belongs to one certificate: the other loses it. */
export async function activateCertificate(
  tx: Tx,
  organizationId: string,
  connection: string,
  { slot, certificateId }: { readonly slot: number; readonly certificateId: string },
): Promise<void> {
  const own = { organization_id: organizationId, connection };
  await tx('erp_certificates')
    .where(own)
    .whereNot({ slot })
    .update({ active: false, certificate_id: tx.raw('nullif(certificate_id, ?)', [certificateId]) });
  await tx('erp_certificates')
    .where({ ...own, slot })
    .update({ active: true, certificate_id: certificateId });
}

/** The account from which records with bare names come through the connection called `netsuite`; kept when that is deleted. */
export async function findAccountOfRecords(tx: Tx, organizationId: string): Promise<string | null> {
  const row = await tx('organizations')
    .where({ id: organizationId })
    .first<{ erp_account_id: string | null } | undefined>('erp_account_id');
  return row?.erp_account_id ?? null;
}
export const saveAccountOfRecords = (tx: Tx, organizationId: string, accountId: string | null) =>
  tx('organizations').where({ id: organizationId }).update({ erp_account_id: accountId });

export async function hasOpenRuns(
  tx: Tx,
  organizationId: string,
  connection: ConnectionName,
): Promise<boolean> {
  const open = await tx('sync_runs')
    .where({ organization_id: organizationId })
    .whereIn('status', ['queued', 'running', 'waiting', 'publishing'])
    .whereRaw(...isOneOf('record_type', connection))
    .first<{ id: string } | undefined>('id');
  return open !== undefined;
}

const syncs = (tx: Tx, organizationId: string, connection: ConnectionName) =>
  tx('sync_configs')
    .where({ organization_id: organizationId })
    .whereRaw(...isOneOf('record_type', connection));

export type EnabledSync = { record_type: string; fields: string[] | null };
export const listEnabledSyncs = async (
  tx: Tx,
  organizationId: string,
  connection: ConnectionName,
): Promise<EnabledSync[]> =>
  syncs(tx, organizationId, connection)
    .where({ enabled: true })
    .select<EnabledSync[]>('record_type', 'fields');

/** Pauses every sync of the connection that is not paused yet and returns those. Synced records stay available. */
export const pauseSyncs = (
  tx: Tx,
  organizationId: string,
  connection: ConnectionName,
  reason: object,
): Promise<{ id: string }[]> =>
  syncs(tx, organizationId, connection)
    .whereNull('paused_reason')
    .update({ paused_reason: JSON.stringify(reason) })
    .returning<{ id: string }[]>('id');
export const resumeSyncs = (tx: Tx, organizationId: string, connection: ConnectionName) =>
  syncs(tx, organizationId, connection).whereNotNull('paused_reason').update({ paused_reason: null });
