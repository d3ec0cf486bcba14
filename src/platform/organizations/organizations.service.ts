// Making an organization: its built-in roles, its first owner, and its room in the warehouse.
import type { Ctx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { builtInRoles } from '../../core/permissions.ts';
import { violates } from '../../db/pg-errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { createTenantSchema } from '../../warehouse/tenant-schema.ts';

type NewOrganization = { readonly name: string; readonly slug?: string; readonly ownerEmail: string; readonly ownerName?: string };
type CreatedOrganization = { readonly id: string; readonly slug: string; readonly name: string; readonly ownerId: string };

const toSlug = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 48)
    .replace(/-+$/, '') || 'organization';

const describeBuiltIn = {
  owner: 'Everything, the organization itself included',
  admin: 'Everything but deleting the organization',
  editor: 'Reads everything; writes syncs, views, subscriptions, agents, the portal and schema drafts',
  viewer: 'Reads everything',
} as const;

async function insertOrganization(ctx: Ctx, id: string, slug: string, given: NewOrganization): Promise<CreatedOrganization> {
  return inTransaction({ db: ctx.db, organizationId: id }, async (tx) => {
    await tx('organizations').insert({ id, slug, name: given.name });
    const roles = Object.keys(builtInRoles).map((name) => ({
      id: newId(),
      organization_id: id,
      name,
      built_in: true,
      description: describeBuiltIn[name as keyof typeof describeBuiltIn],
    }));
    await tx('roles').insert(roles);
    const owner = await tx.raw<{ rows: { id: string }[] }>('select ensure_user(?, ?, ?) as id', [
      newId(),
      given.ownerEmail,
      given.ownerName ?? given.ownerEmail,
    ]);
    const ownerId = owner.rows[0]?.id ?? '';
    const role = roles.find(({ name }) => name === 'owner');
    await tx('memberships').insert({ organization_id: id, user_id: ownerId, role_id: role?.id });
    return { id, slug, name: given.name, ownerId };
  });
}

/** Without a slug one is derived from the name; a taken one then gets a number. A given slug that is taken is 422. */
export async function createOrganization(ctx: Ctx, given: NewOrganization): Promise<CreatedOrganization> {
  const id = newId();
  const wanted = given.slug ?? toSlug(given.name);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const created = await insertOrganization(ctx, id, attempt === 1 ? wanted : `${wanted}-${attempt}`, given);
      await createTenantSchema(ctx, id);
      return created;
    } catch (error) {
      if (!violates(error, 'organization_slug_is_unique') || attempt >= 1000) throw error;
      if (given.slug !== undefined)
        throw invalid('That slug is taken', [{ path: 'slug', code: 'taken', message: 'Another organization has this slug' }]);
    }
  }
}
