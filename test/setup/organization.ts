// Creates organizations, API keys and sessions for tests, as far as possible with the code of the service.
import type { Ctx } from '../../src/core/ctx.ts';
import { createId } from '../../src/core/id.ts';
import type { RowScopes } from '../../src/core/record-access.ts';
import { inTransaction, type Tx } from '../../src/db/transaction.ts';
import { generateApiKey } from '../../src/identity/api-key.ts';
import { insertSession, inUserTransaction } from '../../src/identity/sessions.store.ts';
import { provisionOrganization } from '../../src/platform/organizations/organizations.service.ts';

let made = 0;

export async function makeOrganization(
  ctx: Ctx,
  options: { name?: string; ownerEmail?: string } = {},
): Promise<{ id: string; slug: string; ownerId: string }> {
  made += 1;
  const name = options.name ?? `Test company ${made}`;
  const organization = await provisionOrganization(ctx, {
    name,
    ownerEmail: options.ownerEmail ?? `owner-${made}@example.test`,
  });
  return { id: organization.id, slug: organization.slug, ownerId: organization.ownerId };
}

type Scopes = {
  versions?: string[];
  resources?: string[];
  permissions?: string[];
  rows?: RowScopes;
  fields?: Record<string, string[]>;
  unmasked?: boolean;
  createdBy?: string;
};

/** Creates an API key, by default in the name of the organization's first member. */
export async function makeKey(
  ctx: Ctx,
  organizationId: string,
  scopes: Scopes = {},
): Promise<{ id: string; secret: string }> {
  const key = generateApiKey();
  const id = createId();
  await inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    const owner = await tx('memberships').orderBy('joined_at').first<{ user_id: string }>('user_id');
    await tx('api_keys').insert({
      id,
      organization_id: organizationId,
      name: 'test',
      prefix: key.prefix,
      secret_hash: key.hash,
      scope_versions: scopes.versions ?? [],
      scope_resources: scopes.resources ?? [],
      scope_permissions: scopes.permissions ?? [],
      // A database of the version before lacks these columns.
      ...(scopes.rows !== undefined && { scope_rows: JSON.stringify(scopes.rows) }),
      ...(scopes.fields !== undefined && { scope_fields: JSON.stringify(scopes.fields) }),
      ...(scopes.unmasked !== undefined && { scope_unmasked: scopes.unmasked }),
      created_by: scopes.createdBy ?? owner?.user_id,
    });
  });
  return { id, secret: key.secret };
}

/**
 * Adds a person to the organization, with a built-in role by name or a new role with exactly these
 * permissions.
 */
export async function makeMember(
  ctx: Ctx,
  organizationId: string,
  role: string | readonly string[],
): Promise<{ id: string; email: string }> {
  made += 1;
  const email = `member-${made}@example.test`;
  return inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    const { rows } = await tx.raw<{ rows: { id: string }[] }>('select ensure_user(?, ?, ?) as id', [
      createId(),
      email,
      email,
    ]);
    const userId = rows[0]?.id ?? '';
    const roleId =
      typeof role === 'string'
        ? (await tx('roles').where({ name: role }).first<{ id: string }>('id')).id
        : await insertRole(tx, role);
    await tx('memberships').insert({ organization_id: organizationId, user_id: userId, role_id: roleId });
    return { id: userId, email };
  });

  async function insertRole(tx: Tx, permissions: readonly string[]): Promise<string> {
    const id = createId();
    await tx('roles').insert({ id, organization_id: organizationId, name: `role ${id}`, permissions });
    return id;
  }
}

/** Creates a person without an organization, as sign-in would. */
export async function makePerson(ctx: Ctx, email: string): Promise<{ id: string; email: string }> {
  const { rows } = await ctx.db.control.raw<{ rows: { id: string }[] }>('select ensure_user(?, ?, ?) as id', [
    createId(),
    email,
    email,
  ]);
  return { id: rows[0]?.id ?? '', email };
}

/**
 * Creates a session in that organization, or without a selected one; `headers` are those of a request by a
 * page of this service.
 */
export async function makeSession(
  ctx: Ctx,
  userId: string,
  activeOrganizationId: string | null = null,
): Promise<{ id: string; token: string; cookie: string; headers: Record<string, string> }> {
  const given = { userId, organizationId: activeOrganizationId, ip: '127.0.0.1', userAgent: 'test' };
  const { id, token } = await inUserTransaction(ctx, userId, (tx) => insertSession(tx, given));
  const cookie = `portal_session=${token}`;
  return { id, token, cookie, headers: { cookie, origin: new URL(ctx.settings.publicUrl).origin } };
}
