// Sessions of signed-in people. The cookie holds 32 random bytes; only their SHA-256 is stored. A session belongs to a person, not
// to an organization: its rows are bound to `portal.user_id`, and only the look-up by hash sees across people.
import { createHash } from 'node:crypto';
import type { Ctx } from '../core/ctx.ts';
import type { Tx } from '../db/transaction.ts';
import type { User } from './users.store.ts';

export type Session = { readonly id: string; readonly user: User; readonly organizationId: string | null };

export const hashSessionToken = (token: string): Buffer => createHash('sha256').update(token).digest();
const form = /^[A-Za-z0-9_-]{43}$/;

/** A transaction that row-level security binds to one person's own rows. */
export function inPersonTransaction<T>(ctx: Pick<Ctx, 'db'>, userId: string, work: (tx: Tx) => Promise<T>): Promise<T> {
  return ctx.db.control.transaction(async (tx) => {
    await tx.raw("select set_config('portal.user_id', ?, true)", [userId]);
    return work(tx);
  });
}

type FoundRow = { id: string; user_id: string; user_email: string; user_name: string; active_organization_id: string | null };

/** The living session behind a cookie, by the database's clock; undefined when malformed, unknown, idle for too long or too old. */
export async function findSession(ctx: Pick<Ctx, 'db' | 'settings'>, token: string): Promise<Session | undefined> {
  if (!form.test(token)) return undefined;
  const { idleMs, absoluteMs } = ctx.settings.session;
  const { rows } = await ctx.db.control.raw<{ rows: FoundRow[] }>(
    `select * from find_session(?) where last_seen_at > seen_at - ? * interval '1 millisecond' and created_at > seen_at - ? * interval '1 millisecond'`,
    [hashSessionToken(token), idleMs, absoluteMs],
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  return {
    id: row.id,
    user: { id: row.user_id, email: row.user_email, name: row.user_name },
    organizationId: row.active_organization_id,
  };
}

/** Notes that the session is in use, at most once a minute; never holds up the request. */
export function touchSession(ctx: Pick<Ctx, 'db' | 'log'>, session: Session): void {
  inPersonTransaction(ctx, session.user.id, (tx) =>
    tx.raw("update sessions set last_seen_at = now() where id = ? and last_seen_at < now() - interval '1 minute'", [session.id]),
  ).catch((error: unknown) => ctx.log.warn({ err: error }, 'could not note the use of a session'));
}
