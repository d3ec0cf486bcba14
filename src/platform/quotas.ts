// How many things of each kind one organization may have, so that none fills the database, or makes what looks at all of them slow.
import type { TenantCtx } from '../core/ctx.ts';
import { invalid } from '../core/errors.ts';
import type { BoundedKind } from '../core/settings.ts';
import type { Tx } from '../db/transaction.ts';

/** Where things of a kind are kept. What has ended is history and takes no room. */
const kept: Readonly<Record<BoundedKind, string>> = {
  members: 'memberships where true',
  invitations: "invitations where status = 'pending' and expires_at > clock_timestamp()",
  roles: 'roles where not built_in',
  teams: 'teams where true',
  domains: 'domains where true',
  syncs: 'sync_configs where true',
  views: 'views where true',
  subscriptions: 'subscriptions where true',
  apiKeys: 'api_keys where revoked_at is null',
  apiSchemas: "api_schemas where status <> 'retired'",
  agents: 'agents where true',
  conversations: 'conversations where true',
  pages: 'portal_pages where true',
  templates: 'portal_templates where true',
  fieldMappings: 'portal_field_mappings where true',
  checkouts: "pay_payments where status in ('PENDING', 'PROCESSING')",
};

/**
 * To be called before one more is inserted, in the same transaction: whoever inserts another one at once waits for its end, so the
 * bound is exact. Throws 422 `limit_reached`.
 */
export async function makeRoom(tx: Tx, ctx: Pick<TenantCtx, 'organizationId' | 'settings'>, kind: BoundedKind): Promise<void> {
  const most = ctx.settings.mostPerOrganization[kind];
  await tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`room ${kind} ${ctx.organizationId}`]);
  const { rows } = await tx.raw<{ rows: { count: number }[] }>(
    `select count(*)::int as count from (select from ${kept[kind]} and organization_id = ? limit ?) as held`,
    [ctx.organizationId, most],
  );
  if ((rows[0]?.count ?? 0) < most) return;
  throw invalid('The organization has as many of these as it may', [
    { path: '', code: 'limit_reached', message: `At most ${most} (${kind}): take some away first` },
  ]);
}
