// The people behind tokens and sessions, looked up before an organization is known.
import type { Ctx } from '../core/ctx.ts';
import { inTransaction } from '../db/transaction.ts';
import type { TokenClaims } from './access-token.ts';

export type User = { readonly id: string; readonly email: string; readonly name: string };
export type Membership = {
  readonly organization: { readonly id: string; readonly slug: string; readonly name: string };
  readonly role: { readonly id: string; readonly name: string; readonly builtIn: boolean; readonly permissions: readonly string[] };
};

async function findLinked(ctx: Pick<Ctx, 'db'>, { issuer, subject }: Pick<TokenClaims, 'issuer' | 'subject'>): Promise<User | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: User[] }>('select id, email, name from find_identity(?, ?)', [issuer, subject]);
  return rows[0];
}

/** The user linked to the token's subject; at first sight linked by an e-mail that the issuer verified. */
export async function findUserByToken(ctx: Pick<Ctx, 'db'>, claims: TokenClaims): Promise<User | undefined> {
  const linked = await findLinked(ctx, claims);
  if (linked !== undefined) return linked;
  const email = await claims.verifiedEmail();
  if (email === null) return undefined;
  const made = await ctx.db.control.raw<{ rows: User[] }>('select id, email, name from link_identity(?, ?, ?)', [
    claims.issuer,
    claims.subject,
    email,
  ]);
  // Nobody was linked: another request of the same person may have been faster.
  return made.rows[0] ?? findLinked(ctx, claims);
}

type MembershipRow = {
  organization_id: string;
  organization_slug: string;
  organization_name: string;
  role_id: string;
  role_name: string;
  role_built_in: boolean;
  role_permissions: string[];
};

/** Oldest organization first. */
export async function membershipsOf(ctx: Pick<Ctx, 'db'>, userId: string): Promise<Membership[]> {
  const { rows } = await ctx.db.control.raw<{ rows: MembershipRow[] }>('select * from memberships_of(?)', [userId]);
  return rows.map((row) => ({
    organization: { id: row.organization_id, slug: row.organization_slug, name: row.organization_name },
    role: { id: row.role_id, name: row.role_name, builtIn: row.role_built_in, permissions: row.role_permissions },
  }));
}

/** Counts the person among this month's active users; never holds up the request. */
export function noteActivity(ctx: Pick<Ctx, 'db' | 'log'>, organizationId: string, userId: string): void {
  inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    await tx.raw(
      "insert into user_activity (organization_id, user_id, month) values (?, ?, date_trunc('month', now() at time zone 'UTC')::date) on conflict do nothing",
      [organizationId, userId],
    );
    await tx.raw(
      "update memberships set last_active_at = now() where user_id = ? and (last_active_at is null or last_active_at < now() - interval '1 minute')",
      [userId],
    );
  }).catch((error: unknown) => ctx.log.warn({ err: error }, 'could not note a user as active'));
}
