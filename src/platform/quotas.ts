// Quotas: how many rows of each kind an organization may have. They keep one tenant from filling the database
// and keep the queries that read all rows of a kind fast.
import type { TenantCtx } from '../core/ctx.ts';
import { type AppError, invalid } from '../core/errors.ts';
import type { QuotaKind } from '../core/settings/quotas.ts';
import type { Tx } from '../db/transaction.ts';

/** Table and condition per kind. Ended rows (revoked, retired, expired, …) are history and do not count. */
const countedRows: Readonly<Record<QuotaKind, string>> = {
  members: 'memberships where true',
  invitations: "invitations where status = 'pending' and expires_at > clock_timestamp()",
  roles: 'roles where not built_in',
  teams: 'teams where true',
  domains: 'domains where true',
  syncs: 'sync_configs where true',
  connections: 'erp_connections where true',
  queries: 'erp_queries where true',
  views: 'views where true',
  viewLinks: 'view_links where expires_at > clock_timestamp()',
  subscriptions: 'subscriptions where true',
  apiKeys: 'api_keys where revoked_at is null',
  webhooks: 'webhook_endpoints where true',
  apiSchemas: "api_schemas where version like 'v%' and status <> 'retired'",
  agents: 'agents where true',
  conversations: 'conversations where owner_id is not null',
  pages: 'portal_pages where true',
  templates: 'portal_templates where true',
  fieldMappings: 'portal_field_mappings where true',
  visitors: 'portal_visitors where true',
  checkouts: "pay_payments where status in ('PENDING', 'PROCESSING')",
};

/** 422 `limit_reached`. */
export function quotaExceeded({ settings }: Pick<TenantCtx, 'settings'>, kind: QuotaKind): AppError {
  const things = kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const message = `An organization may have at most ${settings.quotas[kind]} ${things}. Delete one first.`;
  return invalid('Quota exceeded', [{ path: '', code: 'limit_reached', message }]);
}

/** How many more rows of this kind the organization may have at the moment, at least 0. */
export async function readQuotaLeft(
  tx: Tx,
  { organizationId, settings }: Pick<TenantCtx, 'organizationId' | 'settings'>,
  kind: QuotaKind,
) {
  const max = settings.quotas[kind];
  const { rows } = await tx.raw<{ rows: { count: number }[] }>(
    `select count(*)::int as count from (select from ${countedRows[kind]} and organization_id = ? limit ?) as counted`,
    [organizationId, max],
  );
  return max - (rows[0]?.count ?? 0);
}

/**
 * Call before inserting a row of this kind, in the same transaction. An advisory lock per organization and
 * kind makes concurrent inserts wait: the quota is exact. Throws 422 `limit_reached` at the quota.
 */
export async function assertQuota(
  tx: Tx,
  ctx: Pick<TenantCtx, 'organizationId' | 'settings'>,
  kind: QuotaKind,
): Promise<void> {
  await tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    `room ${kind} ${ctx.organizationId}`,
  ]);
  if ((await readQuotaLeft(tx, ctx, kind)) <= 0) throw quotaExceeded(ctx, kind);
}
