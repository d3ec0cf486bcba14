// The people behind tokens and sessions, looked up before an organization is known.
import type { Ctx } from '../core/ctx.ts';
import { newId } from '../core/id.ts';
import { inTransaction, type Tx } from '../db/transaction.ts';
import type { TokenClaims } from './access-token.ts';

export type User = { readonly id: string; readonly email: string; readonly name: string };
export type Membership = {
  readonly organization: { readonly id: string; readonly slug: string; readonly name: string };
  readonly role: { readonly id: string; readonly name: string; readonly builtIn: boolean; readonly permissions: readonly string[] };
};

type Asking = { readonly db: Pick<Ctx['db'], 'control'> };

export async function findLinked(ctx: Asking, { issuer, subject }: Pick<TokenClaims, 'issuer' | 'subject'>): Promise<User | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: User[] }>('select id, email, name from find_identity(?, ?)', [issuer, subject]);
  return rows[0];
}

/** The user linked to the token's subject; at first sight linked by an e-mail that the issuer verified. */
export async function findUserByToken(
  ctx: Pick<Ctx, 'db'>,
  claims: Pick<TokenClaims, 'issuer' | 'subject' | 'verifiedEmail'>,
): Promise<User | undefined> {
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

type Newcomer = { readonly issuer: string; readonly subject: string; readonly email: string; readonly name: string };

/**
 * A person nobody knew, made and linked at once. Undefined when someone with that e-mail is already linked to another subject of
 * the issuer: an address that changed hands opens nobody's account.
 */
export const makeUser = (ctx: Pick<Ctx, 'db'>, { issuer, subject, email, name }: Newcomer): Promise<User | undefined> =>
  ctx.db.control.transaction(async (tx) => {
    await tx.raw('select ensure_user(?, ?, ?)', [newId(), email, name]);
    const { rows } = await tx.raw<{ rows: User[] }>('select id, email, name from link_identity(?, ?, ?)', [issuer, subject, email]);
    return rows[0] ?? findLinked({ db: { control: tx } }, { issuer, subject });
  });

/** Whether an invitation for this e-mail waits to be accepted. */
export async function isInvited(ctx: Pick<Ctx, 'db'>, email: string): Promise<boolean> {
  const { rows } = await ctx.db.control.raw<{ rows: { invited: boolean }[] }>('select invited(?) as invited', [email]);
  return rows[0]?.invited === true;
}

/** Whoever was known by the e-mail alone gets a name; a name that was given stays. For a transaction bound to that person. */
export const nameUser = (tx: Tx, userId: string, name: string) =>
  tx('users').where('id', userId).whereRaw('lower(name) = lower(email)').update({ name });

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

/**
 * Where a session works: in the organization that it chose, or in the only one while none was chosen. Undefined where that one is gone:
 * what was meant for it must not happen in another.
 */
export const workingMembership = (memberships: readonly Membership[], chosenId: string | null): Membership | undefined =>
  chosenId === null && memberships.length === 1 ? memberships[0] : memberships.find(({ organization }) => organization.id === chosenId);

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
