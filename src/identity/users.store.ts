// Looks up the users of tokens and sessions, before the organization is known.
import type { Ctx } from '../core/ctx.ts';
import { createId } from '../core/id.ts';
import { inTransaction, type Tx } from '../db/transaction.ts';
import type { TokenClaims } from './access-token.ts';

export type User = { readonly id: string; readonly email: string; readonly name: string };
export type Membership = {
  readonly organization: { readonly id: string; readonly slug: string; readonly name: string };
  readonly role: {
    readonly id: string;
    readonly name: string;
    readonly builtIn: boolean;
    readonly permissions: readonly string[];
  };
};

type LookupCtx = { readonly db: Pick<Ctx['db'], 'control'> };

export async function findLinkedUser(
  ctx: LookupCtx,
  { issuer, subject }: Pick<TokenClaims, 'issuer' | 'subject'>,
): Promise<User | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: User[] }>(
    'select id, email, name from find_identity(?, ?)',
    [issuer, subject],
  );
  return rows[0];
}

/** The user of the token's subject, linked on first use by an e-mail address that the issuer verified. */
export async function findUserByToken(
  ctx: Pick<Ctx, 'db'>,
  claims: Pick<TokenClaims, 'issuer' | 'subject' | 'verifiedEmail'>,
): Promise<User | undefined> {
  const linked = await findLinkedUser(ctx, claims);
  if (linked !== undefined) return linked;
  const email = await claims.verifiedEmail();
  if (email === null) return undefined;
  const linking = await ctx.db.control.raw<{ rows: User[] }>(
    'select id, email, name from link_identity(?, ?, ?)',
    [claims.issuer, claims.subject, email],
  );
  // When no user was linked, a concurrent request of the same person may have done it.
  return linking.rows[0] ?? findLinkedUser(ctx, claims);
}

type NewUser = {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  readonly name: string;
};

/**
 * Creates and links a user in one transaction. Undefined when the user with that e-mail address is already
 * linked to another subject of the issuer: an address that was reassigned to another person must not give
 * access to the previous owner's account.
 */
export const createUser = (ctx: Pick<Ctx, 'db'>, { issuer, subject, email, name }: NewUser) =>
  ctx.db.control.transaction(async (tx) => {
    await tx.raw('select ensure_user(?, ?, ?)', [createId(), email, name]);
    const { rows } = await tx.raw<{ rows: User[] }>('select id, email, name from link_identity(?, ?, ?)', [
      issuer,
      subject,
      email,
    ]);
    return rows[0] ?? findLinkedUser({ db: { control: tx } }, { issuer, subject });
  });

/** `id` is null for someone who is only invited so far. */
export type MailRecipient = Omit<User, 'id'> & { readonly id: string | null; readonly linked: boolean };

/** The user or invited person with this e-mail address, and the address as it was entered in the service. */
export async function findMailRecipient(ctx: LookupCtx, email: string): Promise<MailRecipient | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: MailRecipient[] }>(
    'select * from find_mail_recipient(?)',
    [email],
  );
  return rows[0];
}

/** The user of a recipient, created when there is only an invitation. */
export async function registerRecipient(
  ctx: LookupCtx,
  { id, email, name }: Pick<MailRecipient, 'id' | 'email' | 'name'>,
): Promise<User> {
  if (id !== null) return { id, email, name };
  const { rows } = await ctx.db.control.raw<{ rows: { id: string }[] }>('select ensure_user(?, ?, ?) as id', [
    createId(),
    email,
    name,
  ]);
  return { id: rows[0]?.id ?? '', email, name };
}

/** The owner who has been longest in this organization, or in the oldest one. */
export async function findFirstOwner(ctx: LookupCtx, organizationId: string | null) {
  const { rows } = await ctx.db.control.raw<{ rows: User[] }>('select * from find_first_owner(?)', [
    organizationId,
  ]);
  return rows[0];
}

/** Whether an invitation for this e-mail address is pending. */
export async function hasInvitation(ctx: Pick<Ctx, 'db'>, email: string): Promise<boolean> {
  const { rows } = await ctx.db.control.raw<{ rows: { invited: boolean }[] }>(
    'select invited(?) as invited',
    [email],
  );
  return rows[0]?.invited === true;
}

/**
 * Sets the name of a user whose name is still the e-mail address; an existing name stays. Returns the number
 * of changed rows. Needs a transaction from `inUserTransaction`.
 */
export const setUserName = (tx: Tx, userId: string, name: string) =>
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

/** All memberships of the user, the oldest organization first. */
export async function findMemberships(ctx: Pick<Ctx, 'db'>, userId: string): Promise<Membership[]> {
  const { rows } = await ctx.db.control.raw<{ rows: MembershipRow[] }>('select * from memberships_of(?)', [
    userId,
  ]);
  return rows.map((row) => ({
    organization: { id: row.organization_id, slug: row.organization_slug, name: row.organization_name },
    role: {
      id: row.role_id,
      name: row.role_name,
      builtIn: row.role_built_in,
      permissions: row.role_permissions,
    },
  }));
}

/** The membership of the selected organization, or the only one. Undefined when a choice is needed. */
export const activeMembership = (memberships: readonly Membership[], chosenId: string | null) =>
  memberships.length === 1
    ? memberships[0]
    : memberships.find(({ organization }) => organization.id === chosenId);

/** Counts the person among this month's active users. Runs in the background and never rejects. */
export function recordActivity(ctx: Pick<Ctx, 'db' | 'log'>, organizationId: string, userId: string): void {
  inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    await tx.raw(
      "insert into user_activity (organization_id, user_id, month) values (?, ?, date_trunc('month', now() at time zone 'UTC')::date) on conflict do nothing",
      [organizationId, userId],
    );
    await tx.raw(
      "update memberships set last_active_at = now() where user_id = ? and (last_active_at is null or last_active_at < now() - interval '1 minute')",
      [userId],
    );
  }).catch((error: unknown) => ctx.log.warn({ err: error }, 'could not record a user as active'));
}
