// Organizations: making one with its built-in roles, its first owner and its room in the warehouse; and what it is called.
import type { CallerCtx, Ctx, RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { builtInRoles } from '../../core/permissions.ts';
import { violates } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { membershipsOf } from '../../identity/users.store.ts';
import { createTenantSchema } from '../../warehouse/tenant-schema.ts';
import type { OrganizationChanges, OrganizationInput, OrganizationView } from './organizations.schemas.ts';
import * as store from './organizations.store.ts';

type Owner = { readonly ownerEmail: string; readonly ownerName?: string } | { readonly ownerId: string };
type NewOrganization = { readonly name: string; readonly slug?: string } & Owner;
type CreatedOrganization = { readonly id: string; readonly slug: string; readonly name: string; readonly ownerId: string };
/** What else belongs into the transaction that makes the organization. */
type Along = (tx: Tx, created: CreatedOrganization) => Promise<void>;

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

async function findOwner(tx: Tx, given: Owner): Promise<string> {
  if ('ownerId' in given) return given.ownerId;
  const { rows } = await tx.raw<{ rows: { id: string }[] }>('select ensure_user(?, ?, ?) as id', [
    newId(),
    given.ownerEmail,
    given.ownerName ?? given.ownerEmail,
  ]);
  return rows[0]?.id ?? '';
}

async function insertOrganization(ctx: Pick<Ctx, 'db'>, id: string, slug: string, given: NewOrganization, along: Along) {
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
    const ownerId = await findOwner(tx, given);
    const role = roles.find(({ name }) => name === 'owner');
    await tx('memberships').insert({ organization_id: id, user_id: ownerId, role_id: role?.id });
    const created = { id, slug, name: given.name, ownerId };
    await along(tx, created);
    return created;
  });
}

const slugTaken = () => invalid('That slug is taken', [{ path: 'slug', code: 'taken', message: 'Another organization has this slug' }]);

/** A taken one gets a number; where all of these are taken too, something random, as a name may be that of thousands. */
const derivedSlug = (wanted: string, attempt: number): string =>
  attempt === 1 ? wanted : `${wanted}-${attempt < 10 ? attempt : newId().slice(-8)}`;

/** Without a slug one is derived from the name. A given slug that is taken is 422. */
export async function createOrganization(
  ctx: Pick<Ctx, 'db'>,
  given: NewOrganization,
  along: Along = () => Promise.resolve(),
): Promise<CreatedOrganization> {
  const id = newId();
  const wanted = given.slug ?? toSlug(given.name);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const created = await insertOrganization(ctx, id, derivedSlug(wanted, attempt), given, along);
      await createTenantSchema(ctx, id);
      return created;
    } catch (error) {
      if (!violates(error, 'organization_slug_is_unique') || attempt >= 15) throw error;
      if (given.slug !== undefined) throw slugTaken();
    }
  }
}

const view = (row: store.OrganizationRow): OrganizationView => ({
  id: row.id,
  slug: row.slug,
  name: row.name,
  createdAt: instant(row.created_at),
});

async function getRow(tx: Tx, id: string): Promise<store.OrganizationRow> {
  const row = await store.findOrganization(tx, id);
  if (row === undefined) throw notFound('Organization');
  return row;
}

/** The creator becomes its owner. A session that works in no organization yet works in this one from now on. */
export async function foundOrganization(ctx: CallerCtx, input: OrganizationInput): Promise<OrganizationView> {
  const { user, credential, principal } = ctx.caller;
  const most = ctx.settings.mostOrganizationsPerPerson;
  // Two requests at once may both pass: this is against thousands.
  if ((await membershipsOf(ctx, user.id)).length >= most)
    throw invalid('You belong to as many organizations as one may make', [
      { path: '', code: 'limit_reached', message: `At most ${most}: leave or delete one first` },
    ]);
  const created = await createOrganization(
    ctx,
    { name: input.name, ...(input.slug !== undefined && { slug: input.slug }), ownerId: user.id },
    async (tx, { id, slug, name }) => {
      const author = { organizationId: id, principal: { user, credential }, ip: ctx.ip, requestId: ctx.requestId, claim: ctx.claim };
      await writeAudit(tx, author, { action: 'organization.create', target: { type: 'organization', id }, changes: { name, slug } });
      if (credential.kind === 'session')
        await store.activate(tx, { sessionId: credential.id, userId: user.id }, id, principal?.organization.id);
    },
  );
  return inTransaction({ db: ctx.db, organizationId: created.id }, async (tx) => view(await getRow(tx, created.id)));
}

/** A person sees every organization they belong to; a key sees its own. */
export async function listOrganizations(ctx: RequestCtx, page: PageQuery, q: string | undefined) {
  const only = ctx.principal.credential.kind === 'api-key' ? ctx.organizationId : undefined;
  const { rows, total } = await inTransaction(ctx, (tx) => store.listOrganizations(tx, ctx.principal.user.id, only, page, q));
  return toPage(rows.map(view), total, page);
}

export const getOrganization = (ctx: RequestCtx) => inTransaction(ctx, async (tx) => view(await getRow(tx, ctx.organizationId)));

export const changeOrganization = (ctx: RequestCtx, change: OrganizationChanges) =>
  inTransaction(ctx, async (tx) => {
    await getRow(tx, ctx.organizationId);
    const columns = { ...(change.name !== undefined && { name: change.name }), ...(change.slug !== undefined && { slug: change.slug }) };
    if (Object.keys(columns).length > 0) await store.updateOrganization(tx, ctx.organizationId, columns);
    await writeAudit(tx, ctx, {
      action: 'organization.update',
      target: { type: 'organization', id: ctx.organizationId },
      changes: change,
    });
    return view(await getRow(tx, ctx.organizationId));
  }).catch((error: unknown) => {
    throw violates(error, 'organization_slug_is_unique') ? slugTaken() : error;
  });
