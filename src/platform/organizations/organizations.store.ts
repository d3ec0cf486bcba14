// Rows of organizations, and the active organization of a session.
import { containsSql } from '../../core/text/folded-text.ts';
import { newestFirst, readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';

export type OrganizationRow = { id: string; slug: string; name: string; created_at: Date };

export const findOrganization = async (tx: Tx, id: string): Promise<OrganizationRow | undefined> =>
  tx('organizations').where({ id }).first<OrganizationRow | undefined>('id', 'slug', 'name', 'created_at');

/** Serializes changes of members, roles and the organization. Inserts that reference it are not blocked. */
export const lockOrganization = async (tx: Tx, id: string): Promise<OrganizationRow | undefined> =>
  tx('organizations')
    .where({ id })
    .forNoKeyUpdate()
    .first<OrganizationRow | undefined>('id', 'slug', 'name', 'created_at');

export const updateOrganization = (
  tx: Tx,
  id: string,
  change: Partial<Pick<OrganizationRow, 'name' | 'slug'>>,
) => tx('organizations').where({ id }).update(change);

/** All organizations of the person, or just `only`. */
export function listOrganizations(
  tx: Tx,
  userId: string,
  only: string | undefined,
  page: PageQuery,
  q: string | undefined,
) {
  const query = tx
    .select('o.id', 'o.slug', 'o.name', 'o.created_at')
    .from(only === undefined ? tx.raw('organizations_of(?) as o', [userId]) : tx.raw('organizations as o'))
    .orderBy(newestFirst('o.created_at', 'o.id'));
  if (only !== undefined) query.where('o.id', only);
  if (q !== undefined) query.whereRaw(containsSql('o.name'), [q]);
  return readPage<OrganizationRow>(query, page);
}

type SessionOf = { readonly sessionId: string; readonly userId: string };

/** Sets the session's active organization, unless that is already one of `kept`. Returns whether it did. */
export async function switchSessionTo(
  tx: Tx,
  { sessionId, userId }: SessionOf,
  organizationId: string,
  kept: readonly string[],
): Promise<boolean> {
  await tx.raw("select set_config('portal.user_id', ?, true)", [userId]);
  const session = tx('sessions')
    .where({ id: sessionId })
    .whereRaw('coalesce(active_organization_id <> all(?::uuid[]), true)', [[...kept]]);
  return (await session.update({ active_organization_id: organizationId })) === 1;
}

/** False when it was marked before. A marked organization never gets a new warehouse schema. */
export const markDeleting = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx('organizations')
    .where({ id })
    .whereNull('deleting_since')
    .update({ deleting_since: tx.fn.now() })) === 1;

/** Cancels open runs and disables all schedules. Workers notice at their next step that they lost the run. */
export async function stopSyncs(tx: Tx, id: string): Promise<void> {
  await tx('sync_configs').where({ organization_id: id }).update({ enabled: false });
  await tx('sync_runs')
    .where({ organization_id: id })
    .whereIn('status', ['queued', 'running', 'waiting', 'publishing'])
    .update({
      status: 'cancelled',
      cancel_requested: true,
      finished_at: tx.raw('clock_timestamp()'),
      lease_until: null,
      lease_owner: null,
      staged: false,
    });
}

/** Foreign keys cascade to all but the audit log and idempotency keys: the latter are deleted explicitly. */
export async function deleteOrganizationRow(tx: Tx, id: string): Promise<void> {
  await tx('idempotency_keys').where({ organization_id: id }).delete();
  await tx('organizations').where({ id }).delete();
}
