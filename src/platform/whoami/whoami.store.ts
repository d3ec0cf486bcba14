// Reads the metrics that GET /whoami reports.
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import { measureTenantStorage } from '../../warehouse/tenant-schema.ts';
import { readBalance } from '../conversations/credits.store.ts';

type Counted = { active_users: string; active_keys: string };

/**
 * Warehouse size, active people and keys, and credits of the organization. Throws only if PostgreSQL returns
 * no row.
 */
export async function readMetrics(ctx: TenantCtx) {
  const storage = await measureTenantStorage(ctx);
  const counted = await inTransaction(ctx, async (tx) => {
    const { rows } = await tx.raw<{ rows: Counted[] }>(
      `select (select count(*) from user_activity where organization_id = :id and month = date_trunc('month', now() at time zone 'UTC')::date) as active_users,
              (select count(*) from api_keys where organization_id = :id and revoked_at is null and (least(expires_at, secret_ends_at) <= now()) is not true) as active_keys`,
      { id: ctx.organizationId },
    );
    const [row] = rows;
    if (row === undefined) throw new Error('the metrics were not counted');
    return { ...row, credits: await readBalance(tx, ctx.organizationId) };
  });
  return {
    storage: { ...storage, bytes: storage.bytes ?? 0 },
    activeUsers: Number(counted.active_users),
    activeKeys: Number(counted.active_keys),
    credits: counted.credits,
  };
}
