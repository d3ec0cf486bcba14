// Rows of organizations, and the one column of a session that names one of them.
import { readPage } from '../../db/page.ts';
import type { Tx } from '../../db/transaction.ts';
import type { PageQuery } from '../../http/page.ts';

export type OrganizationRow = { id: string; slug: string; name: string; created_at: Date };

export const findOrganization = async (tx: Tx, id: string): Promise<OrganizationRow | undefined> =>
  tx('organizations').where({ id }).first<OrganizationRow | undefined>('id', 'slug', 'name', 'created_at');

/** Keeps members, roles and the organization itself as they are until the transaction ends; rows that only refer to it go on. */
export const lockOrganization = async (tx: Tx, id: string): Promise<OrganizationRow | undefined> =>
  tx('organizations').where({ id }).forNoKeyUpdate().first<OrganizationRow | undefined>('id', 'slug', 'name', 'created_at');

export const updateOrganization = (tx: Tx, id: string, change: Partial<Pick<OrganizationRow, 'name' | 'slug'>>) =>
  tx('organizations').where({ id }).update(change);

/** The person's organizations, or `only` that one of them. */
export function listOrganizations(tx: Tx, userId: string, only: string | undefined, page: PageQuery, q: string | undefined) {
  const query = tx
    .select('o.id', 'o.slug', 'o.name', 'o.created_at')
    .from(only === undefined ? tx.raw('organizations_of(?) as o', [userId]) : tx.raw('organizations as o'))
    .orderBy([
      { column: 'o.created_at', order: 'desc' },
      { column: 'o.id', order: 'desc' },
    ]);
  if (only !== undefined) query.where('o.id', only);
  if (q !== undefined) query.whereRaw('strpos(lower(o.name), lower(?)) > 0', [q]);
  return readPage<OrganizationRow>(query, page);
}

type SessionOf = { readonly sessionId: string; readonly userId: string };

/** Makes this the session's organization, unless it names `current`, in which the person works. */
export async function activate(
  tx: Tx,
  { sessionId, userId }: SessionOf,
  organizationId: string,
  current: string | undefined,
): Promise<void> {
  await tx.raw("select set_config('portal.user_id', ?, true)", [userId]);
  const session = tx('sessions').where({ id: sessionId });
  if (current !== undefined) session.whereRaw('active_organization_id is distinct from ?', [current]);
  await session.update({ active_organization_id: organizationId });
}

/** Marks the organization; false when it was marked before. From here on nothing makes its room in the warehouse anew. */
export const markDeleting = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx('organizations').where({ id }).whereNull('deleting_since').update({ deleting_since: tx.fn.now() })) === 1;

/** What runs stops, and nothing new is due. Workers see at their next step that the run is no longer theirs. */
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

/** Everything that refers to the organization goes with it, except its audit log; stored answers refer to nothing. */
export async function deleteOrganizationRow(tx: Tx, id: string): Promise<void> {
  await tx('idempotency_keys').where({ organization_id: id }).delete();
  await tx('organizations').where({ id }).delete();
}
