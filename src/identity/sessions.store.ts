// Sessions of signed-in people. The cookie holds 32 random bytes; only their SHA-256 is stored. A session
// belongs to a person, not to an organization: row-level security restricts its rows to `portal.user_id`, and
// only the lookup by hash works across people.
import type { Knex } from 'knex';
import type { Ctx } from '../core/ctx.ts';
import { createId } from '../core/id.ts';
import { createSecretToken, hashSecretToken, secretTokenPattern } from '../core/secrets/secret-token.ts';
import { newestFirst, readPage } from '../db/page.ts';
import type { Tx } from '../db/transaction.ts';
import type { User } from './users.store.ts';

export type Session = { readonly id: string; readonly user: User; readonly organizationId: string | null };

/** A transaction that row-level security restricts to one person's own rows. Rejects when `work` rejects. */
export function inUserTransaction<T>(ctx: Pick<Ctx, 'db'>, userId: string, work: (tx: Tx) => Promise<T>) {
  return ctx.db.control.transaction(async (tx) => {
    await tx.raw("select set_config('portal.user_id', ?, true)", [userId]);
    return work(tx);
  });
}

/** Lets a person's transaction also write to an organization of theirs, for its audit log. */
export const bindOrganization = (tx: Tx, organizationId: string) =>
  tx.raw("select set_config('portal.organization_id', ?, true)", [organizationId]);

type FoundRow = {
  id: string;
  user_id: string;
  user_email: string;
  user_name: string;
  active_organization_id: string | null;
};

/** Active sessions of cookies; none malformed, unknown, idle too long or too old by the database's clock. */
export async function findSessions(
  ctx: Pick<Ctx, 'db' | 'settings'>,
  tokens: readonly string[],
): Promise<Session[]> {
  const hashes = tokens.filter((token) => secretTokenPattern.test(token)).map(hashSecretToken);
  if (hashes.length === 0) return [];
  const { idleMs, absoluteMs } = ctx.settings.session;
  const { rows } = await ctx.db.control.raw<{ rows: FoundRow[] }>(
    `select found.* from unnest(?::bytea[]) as given(hash), find_session(given.hash) as found
     where last_seen_at > seen_at - ? * interval '1 millisecond' and created_at > seen_at - ? * interval '1 millisecond'`,
    [hashes, idleMs, absoluteMs],
  );
  return rows.map((row) => ({
    id: row.id,
    user: { id: row.user_id, email: row.user_email, name: row.user_name },
    organizationId: row.active_organization_id,
  }));
}

/** The active session. Undefined for several: none can be trusted, as another domain may have set one. */
export async function findSession(
  ctx: Pick<Ctx, 'db' | 'settings'>,
  tokens: readonly string[],
): Promise<Session | undefined> {
  const [session, ...others] = await findSessions(ctx, tokens);
  return others.length === 0 ? session : undefined;
}

/** Whether the person's session still exists, in any transaction, however long it has been idle. */
export async function hasSession(tx: Tx, userId: string, id: string): Promise<boolean> {
  await tx.raw("select set_config('portal.user_id', ?, true)", [userId]);
  return (await tx('sessions').where({ id }).first<{ id: string } | undefined>('id')) !== undefined;
}

/** Records that the session is in use, at most once a minute. Runs in the background and never rejects. */
export function recordSessionUse(ctx: Pick<Ctx, 'db' | 'log'>, session: Session): void {
  inUserTransaction(ctx, session.user.id, (tx) =>
    tx.raw(
      "update sessions set last_seen_at = now() where id = ? and last_seen_at < now() - interval '1 minute'",
      [session.id],
    ),
  ).catch((error: unknown) => ctx.log.warn({ err: error }, 'could not record the use of a session'));
}

type NewSession = {
  readonly userId: string;
  readonly organizationId: string | null;
  readonly ip: string;
  readonly userAgent: string | null;
};

const maxUserAgentLength = 300;

/** Returns the only copy of the token: the database stores its hash. */
export async function insertSession(tx: Tx, session: NewSession): Promise<{ id: string; token: string }> {
  const token = createSecretToken();
  const id = createId();
  await tx('sessions').insert({
    id,
    token_hash: hashSecretToken(token),
    user_id: session.userId,
    active_organization_id: session.organizationId,
    ip: session.ip,
    user_agent: session.userAgent?.slice(0, maxUserAgentLength) ?? null,
  });
  return { id, token };
}

export type EndedSession = { readonly id: string; readonly organizationId: string | null };

/** Deletes one session of the person, or all except one, and returns the deleted ones. */
export async function deleteSessions(
  tx: Tx,
  userId: string,
  which: { only: string } | { except: string | null },
): Promise<EndedSession[]> {
  const query = tx('sessions').where('user_id', userId);
  if ('only' in which) query.where('id', which.only);
  else if (which.except !== null) query.whereNot('id', which.except);
  const rows = (await query.delete().returning(['id', 'active_organization_id'])) as {
    id: string;
    active_organization_id: string | null;
  }[];
  return rows.map((row) => ({ id: row.id, organizationId: row.active_organization_id }));
}

/** False when the session has ended in the meantime. */
export const setActiveOrganization = async (
  tx: Tx,
  userId: string,
  sessionId: string,
  organizationId: string,
): Promise<boolean> =>
  (await tx('sessions')
    .where({ user_id: userId, id: sessionId })
    .update({ active_organization_id: organizationId })) === 1;

export type SessionRow = {
  id: string;
  created_at: Date;
  last_seen_at: Date;
  expires_at: Date;
  ip: string | null;
  user_agent: string | null;
};

/** The person's active sessions, newest first; `expires_at` is when a session ends if it isn't used again. */
export function listSessions(
  tx: Tx,
  userId: string,
  page: { page: number; pageSize: number },
  limits: { idleMs: number; absoluteMs: number },
) {
  const end = tx.raw(
    "least(last_seen_at + ? * interval '1 millisecond', created_at + ? * interval '1 millisecond')",
    [limits.idleMs, limits.absoluteMs],
  );
  const query = tx('sessions')
    .where('user_id', userId)
    .whereRaw('? > clock_timestamp()', [end])
    .select('id', 'created_at', 'last_seen_at', 'ip', 'user_agent', tx.raw('? as expires_at', [end]))
    .orderBy(newestFirst('created_at', 'id'));
  return readPage<SessionRow>(query, page);
}

/** Deletes all sessions created until then, and returns how many. Needs a connection as the tables' owner. */
export const endSessionsBefore = (owner: Knex, before: Date): Promise<number> =>
  owner('sessions').where('created_at', '<=', before).delete();
