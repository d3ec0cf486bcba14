// Organizations and keys for tests, made by the same code that operators and callers use.
import type { Ctx } from '../../src/core/ctx.ts';
import { newId } from '../../src/core/id.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { makeApiKey } from '../../src/identity/api-key.ts';
import { createOrganization } from '../../src/platform/organizations/organizations.service.ts';

let made = 0;

export async function makeOrganization(
  ctx: Ctx,
  options: { name?: string; ownerEmail?: string } = {},
): Promise<{ id: string; slug: string; ownerId: string }> {
  made += 1;
  const name = options.name ?? `Test company ${made}`;
  const organization = await createOrganization(ctx, { name, ownerEmail: options.ownerEmail ?? `owner-${made}@example.test` });
  return { id: organization.id, slug: organization.slug, ownerId: organization.ownerId };
}

type Scopes = { versions?: string[]; resources?: string[]; permissions?: string[]; createdBy?: string };

/** A key as the API would make it; by default the organization's first member made it. */
export async function makeKey(ctx: Ctx, organizationId: string, scopes: Scopes = {}): Promise<{ id: string; secret: string }> {
  const key = makeApiKey();
  const id = newId();
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
      created_by: scopes.createdBy ?? owner?.user_id,
    });
  });
  return { id, secret: key.secret };
}
