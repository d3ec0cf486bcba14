// Rows of the ERP connection and its certificates. Only this file writes these tables, except for the columns
// that say what is known about the connection: those are written by src/sync/account/connection-status.ts.
import type { Tx } from '../../db/transaction.ts';

export type ConnectionRow = {
  kind: string;
  account_id: string;
  settings: { accountId: string; baseUrl: string | null; authentication: Record<string, string | null> };
  secrets: string | null;
  secret_hint: string | null;
  status: 'untested' | 'connected' | 'failed';
  last_tested_at: Date | null;
  last_error: string | null;
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

export const findConnection = async (tx: Tx, organizationId: string): Promise<ConnectionRow | undefined> =>
  tx('erp_connections')
    .where({ organization_id: organizationId })
    .first<ConnectionRow | undefined>(...connectionColumns);

/** Locks the connection before its certificates, as deleting it does, so that neither blocks the other. */
export const lockConnection = async (tx: Tx, organizationId: string): Promise<ConnectionRow | undefined> =>
  tx('erp_connections')
    .where({ organization_id: organizationId })
    .forUpdate()
    .first<ConnectionRow | undefined>(...connectionColumns);

export const listCertificates = async (tx: Tx, organizationId: string): Promise<CertificateRow[]> =>
  tx('erp_certificates')
    .where({ organization_id: organizationId })
    .orderBy('slot')
    .select<CertificateRow[]>(...certificateColumns);

type Written = { account_id: string; settings: object; secrets: string | null; secret_hint: string | null };
export const upsertConnection = (tx: Tx, organizationId: string, row: Written) =>
  tx('erp_connections')
    .insert({
      organization_id: organizationId,
      kind: 'netsuite',
      ...row,
      settings: JSON.stringify(row.settings),
      updated_at: tx.raw('clock_timestamp()'),
    })
    .onConflict('organization_id')
    .merge();

export const deleteConnection = async (tx: Tx, organizationId: string): Promise<void> => {
  await tx('erp_connections').where({ organization_id: organizationId }).delete();
  await tx('erp_certificates').where({ organization_id: organizationId }).delete();
  await tx('erp_metadata').where({ organization_id: organizationId }).delete();
  await tx('erp_record_types').where({ organization_id: organizationId }).delete();
};

type NewCertificate = { slot: number; certificate_pem: string; private_key: string; not_after: Date };
export const upsertCertificate = (tx: Tx, organizationId: string, row: NewCertificate) =>
  tx('erp_certificates')
    .insert({
      organization_id: organizationId,
      ...row,
      certificate_id: null,
      active: false,
      created_at: tx.fn.now(),
    })
    .onConflict(['organization_id', 'slot'])
    .merge();

/** Locks the certificates, so that none is replaced or activated until the transaction ends. */
export const lockCertificates = async (tx: Tx, organizationId: string): Promise<CertificateRow[]> =>
  tx('erp_certificates')
    .where({ organization_id: organizationId })
    .orderBy('slot')
    .forUpdate()
    .select<CertificateRow[]>(...certificateColumns);

/** Activates this slot's certificate under this id. An id belongs to one certificate: the other loses it. */
export async function activateCertificate(
  tx: Tx,
  organizationId: string,
  slot: number,
  certificateId: string,
): Promise<void> {
  await tx('erp_certificates')
    .where({ organization_id: organizationId })
    .whereNot({ slot })
    .update({ active: false, certificate_id: tx.raw('nullif(certificate_id, ?)', [certificateId]) });
  await tx('erp_certificates')
    .where({ organization_id: organizationId, slot })
    .update({ active: true, certificate_id: certificateId });
}

/** The ERP account that the stored records come from; kept when the connection is deleted. */
export async function findAccountOfRecords(tx: Tx, organizationId: string): Promise<string | null> {
  const row = await tx('organizations')
    .where({ id: organizationId })
    .first<{ erp_account_id: string | null } | undefined>('erp_account_id');
  return row?.erp_account_id ?? null;
}
export const saveAccountOfRecords = (tx: Tx, organizationId: string, accountId: string | null) =>
  tx('organizations').where({ id: organizationId }).update({ erp_account_id: accountId });

export async function hasOpenRuns(tx: Tx, organizationId: string): Promise<boolean> {
  const open = await tx('sync_runs')
    .where({ organization_id: organizationId })
    .whereIn('status', ['queued', 'running', 'waiting', 'publishing'])
    .first<{ id: string } | undefined>('id');
  return open !== undefined;
}

export type EnabledSync = { record_type: string; fields: string[] | null };
export const listEnabledSyncs = async (tx: Tx, organizationId: string): Promise<EnabledSync[]> =>
  tx('sync_configs')
    .where({ organization_id: organizationId, enabled: true })
    .select<EnabledSync[]>('record_type', 'fields');

/** Pauses every sync that is not paused yet and returns those. Synced records stay available. */
export const pauseSyncs = (tx: Tx, organizationId: string, reason: object): Promise<{ id: string }[]> =>
  tx('sync_configs')
    .where({ organization_id: organizationId })
    .whereNull('paused_reason')
    .update({ paused_reason: JSON.stringify(reason) })
    .returning<{ id: string }[]>('id');
export const resumeSyncs = (tx: Tx, organizationId: string) =>
  tx('sync_configs')
    .where({ organization_id: organizationId })
    .whereNotNull('paused_reason')
    .update({ paused_reason: null });
