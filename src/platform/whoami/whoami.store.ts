// Reads the metrics that GET /whoami reports.
import type { TenantCtx } from '../../core/ctx.ts';
import { inTransaction } from '../../db/transaction.ts';
import { measureTenantStorage } from '../../warehouse/tenant-schema.ts';
import { readBalance } from '../conversations/credits.store.ts';

type Counted = { active_users: string; active_visitors: string; active_keys: string };

const thisMonth = "organization_id = :id and month = date_trunc('month', now() at time zone 'UTC')::date";

/** Warehouse size, active people, visitors, keys, and credits. Throws only if PostgreSQL returns no row. */
export async function readMetrics(ctx: TenantCtx) {
  const storage = await measureTenantStorage(ctx);
  const counted = await inTransaction(ctx, async (tx) => {
    const { rows } = await tx.raw<{ rows: Counted[] }>(
      `with members as (
         select lower(u.email) as email from user_activity left join users u on u.id = user_id where ${thisMonth}
       ), visitors as (select email from portal_activity where ${thisMonth})
       select (select count(*) from members)
                + (select count(*) from visitors v where not exists (select from members m where m.email = v.email)) as active_users,
              (select count(*) from visitors) as active_visitors,
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
    activeVisitors: Number(counted.active_visitors),
    activeKeys: Number(counted.active_keys),
    credits: counted.credits,
  };
}
