// Rows of domains. Only this file writes that table. Times come from the database clock.
import { cancelJob, rescheduleJob } from '../../db/jobs.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';
import type { DomainVerdict } from './domain-verdict.ts';
import type { DomainStatus } from './domains.schemas.ts';

export type DomainRow = {
  id: string;
  hostname: string;
  status: DomainStatus;
  verification_value: string;
  is_primary: boolean;
  verified_at: Date | null;
  last_checked_at: Date | null;
  last_error: string | null;
  missing_since: Date | null;
  created_at: Date;
  age_ms: number;
  missing_ms: number | null;
};

export type DomainFilter = { readonly q?: string | undefined; readonly status?: DomainStatus | undefined };

const select = (tx: Tx, organizationId: string) =>
  tx('domains')
    .where('organization_id', organizationId)
    .select(
      'id',
      'hostname',
      'status',
      'verification_value',
      'is_primary',
      'verified_at',
      'last_checked_at',
      'last_error',
      'missing_since',
      'created_at',
      tx.raw('(extract(epoch from clock_timestamp() - created_at) * 1000)::float8 as age_ms'),
      tx.raw('(extract(epoch from clock_timestamp() - missing_since) * 1000)::float8 as missing_ms'),
    );

export function listDomainRows(tx: Tx, organizationId: string, page: PageQuery, { q, status }: DomainFilter) {
  const query = select(tx, organizationId).orderBy(newestFirst('created_at', 'id'));
  if (q !== undefined) query.whereRaw('strpos(hostname, ?) > 0', [q]);
  if (status !== undefined) query.where({ status });
  return readPage<DomainRow>(query, page);
}

export const findDomain = async (tx: Tx, organizationId: string, id: string) =>
  (await select(tx, organizationId).where({ id }).first()) as DomainRow | undefined;

/** Locks the row until the transaction ends. */
export const lockDomain = async (tx: Tx, organizationId: string, id: string) =>
  (await select(tx, organizationId).where({ id }).forUpdate().first()) as DomainRow | undefined;

/** Serializes counting the domains of an organization and moving the primary mark. */
export const lockOrganizationDomains = (tx: Tx, organizationId: string) =>
  tx('organizations').where({ id: organizationId }).forNoKeyUpdate().first('id');

export const listVerifiedHostnames = async (tx: Tx, organizationId: string): Promise<string[]> =>
  tx('domains').where({ organization_id: organizationId, status: 'verified' }).pluck<string[]>('hostname');

const checkOf = (organizationId: string, id: string) =>
  ({ kind: 'domains', organizationId, key: id }) as const;

type NewRow = { id: string; hostname: string; verification_value: string };
export async function insertDomain(tx: Tx, organizationId: string, row: NewRow, nextCheckMs: number) {
  await tx('domains').insert({ ...row, organization_id: organizationId });
  await rescheduleJob(tx, checkOf(organizationId, row.id), nextCheckMs);
}

/** The value of `missing_since` after a check. */
function missingSince(tx: Tx, { status, record }: DomainVerdict) {
  if (status !== 'verified' || record === 'present') return null;
  return tx.raw(record === 'missing' ? 'coalesce(missing_since, clock_timestamp())' : 'missing_since');
}

/**
 * Saves the result of a check and the time of the next one. `verified_at` keeps the time of the first
 * verification; a domain that isn't verified any more isn't primary either.
 */
export async function saveCheck(tx: Tx, organizationId: string, id: string, verdict: DomainVerdict) {
  await rescheduleJob(tx, checkOf(organizationId, id), verdict.nextCheckMs);
  await tx('domains')
    .where({ organization_id: organizationId, id })
    .update({
      status: verdict.status,
      last_error: verdict.lastError,
      last_checked_at: tx.raw('clock_timestamp()'),
      next_check_at: null,
      missing_since: missingSince(tx, verdict),
      ...(verdict.status === 'verified'
        ? { verified_at: tx.raw('coalesce(verified_at, clock_timestamp())') }
        : { verified_at: null, is_primary: false }),
    });
}

/** Returns the hostname that was primary until now. */
export async function unsetPrimary(tx: Tx, organizationId: string): Promise<string | null> {
  const [former] = await tx('domains')
    .where({ organization_id: organizationId, is_primary: true })
    .update({ is_primary: false })
    .returning<{ hostname: string }[]>('hostname');
  return former?.hostname ?? null;
}

export const setPrimary = (tx: Tx, organizationId: string, id: string) =>
  tx('domains').where({ organization_id: organizationId, id }).update({ is_primary: true });

export async function deleteDomainRow(tx: Tx, organizationId: string, id: string): Promise<void> {
  await cancelJob(tx, checkOf(organizationId, id));
  await tx('domains').where({ organization_id: organizationId, id }).delete();
}
