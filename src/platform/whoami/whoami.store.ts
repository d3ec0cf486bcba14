// Measures what the identity record reports.
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import { measureTenant } from '../../warehouse/tenant-schema.ts';

type Counted = { active_users: string; active_keys: string; credits_used: string; resets_at: Date };

export async function readMetrics(ctx: TenantCtx) {
  const storage = await measureTenant(ctx);
  const counted = await inTransaction(ctx, async (tx) => {
    const { rows } = await tx.raw<{ rows: Counted[] }>(
      `select (select count(*) from user_activity where organization_id = :id and month = date_trunc('month', now() at time zone 'UTC')::date) as active_users,
              (select count(*) from api_keys where organization_id = :id and revoked_at is null and (expires_at is null or expires_at > now())) as active_keys,
              (select coalesce(sum(credits), 0) from agent_credit_entries where organization_id = :id and month = date_trunc('month', now() at time zone 'UTC')::date) as credits_used,
              (date_trunc('month', now() at time zone 'UTC') + interval '1 month') at time zone 'UTC' as resets_at`,
      { id: ctx.organizationId },
    );
    return rows[0];
  });
  if (counted === undefined) throw new Error('the metrics were not counted');
  return {
    storage,
    activeUsers: Number(counted.active_users),
    activeKeys: Number(counted.active_keys),
    creditsUsed: Number(counted.credits_used),
    resetsAt: counted.resets_at,
  };
}
