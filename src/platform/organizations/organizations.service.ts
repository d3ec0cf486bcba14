// Creates organizations with built-in roles, first owner and warehouse schema; lists, reads and renames them.
import type { CallerCtx, Ctx, RequestCtx } from '../../core/ctx.ts';
import { invalid, orNotFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { builtInRoles } from '../../core/permissions.ts';
import { violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, viewPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { inUserTransaction } from '../../identity/sessions.store.ts';
import { findMemberships } from '../../identity/users.store.ts';
import { TablesPending } from '../../warehouse/tables-pending.ts';
import { createTenantSchema } from '../../warehouse/tenant-schema.ts';
import type { NewOrganization, Organization, OrganizationPatch } from './organizations.schemas.ts';
import * as store from './organizations.store.ts';

type Owner = { readonly ownerEmail: string; readonly ownerName?: string } | { readonly ownerId: string };
type ProvisionInput = { readonly name: string; readonly slug?: string } & Owner;
type ProvisionedOrganization = {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly ownerId: string;
};
type Provisioned = ProvisionedOrganization & {
  /** Why the tables could not be created yet: the first sync does it. */
  readonly pending: TablesPending | null;
};
/** Further writes in the transaction that inserts the organization. */
type InSameTransaction = (tx: Tx, created: ProvisionedOrganization) => Promise<void>;

const toSlug = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 48)
    .replace(/-+$/, '') || 'organization';

const builtInDescriptions = {
  owner: 'Everything, including the organization itself',
  admin: 'Everything but deleting the organization',
  editor: 'Reads everything; writes syncs, views, subscriptions, agents, the portal and schema drafts',
  viewer: 'Reads everything',
} as const;

async function ensureOwner(tx: Tx, given: Owner): Promise<string> {
  if ('ownerId' in given) return given.ownerId;
  const { rows } = await tx.raw<{ rows: { id: string }[] }>('select ensure_user(?, ?, ?) as id', [
    createId(),
    given.ownerEmail,
    given.ownerName ?? given.ownerEmail,
  ]);
  return rows[0]?.id ?? '';
}

async function insertOrganization(
  ctx: Pick<Ctx, 'db'>,
  id: string,
  slug: string,
  given: ProvisionInput,
  andThen: InSameTransaction,
) {
  return inTransaction({ db: ctx.db, organizationId: id }, async (tx) => {
    await tx('organizations').insert({ id, slug, name: given.name });
    const roles = Object.keys(builtInRoles).map((name) => ({
      id: createId(),
      organization_id: id,
      name,
      built_in: true,
      description: builtInDescriptions[name as keyof typeof builtInDescriptions],
    }));
    await tx('roles').insert(roles);
    const ownerId = await ensureOwner(tx, given);
    const role = roles.find(({ name }) => name === 'owner');
    await tx('memberships').insert({ organization_id: id, user_id: ownerId, role_id: role?.id });
    const created = { id, slug, name: given.name, ownerId };
    await andThen(tx, created);
    return created;
  });
}

const slugTaken = () =>
  invalid('That slug is taken', [
    { path: 'slug', code: 'taken', message: 'Another organization has this slug' },
  ]);

/** A taken slug gets a number, from attempt 10 on a random suffix: thousands may share a name. */
const derivedSlug = (wanted: string, attempt: number): string =>
  attempt === 1 ? wanted : `${wanted}-${attempt < 10 ? attempt : createId().slice(-8)}`;

/** Resolves with the TablesPending of `creating`, or null. Rejects with every other error of it. */
const findPending = (creating: Promise<void>): Promise<TablesPending | null> =>
  creating.then(
    () => null,
    (error: unknown) => {
      if (error instanceof TablesPending) return error;
      throw error;
    },
  );

export const pendingNote =
  'Its tables are pending, because one of the servers of the warehouse does not respond: its first sync creates them, and waits until the server responds again.';

/** Derives the slug from the name when none is given. Throws 422 `taken` when a given slug is taken. */
export async function provisionOrganization(
  ctx: Pick<Ctx, 'db'>,
  given: ProvisionInput,
  andThen: InSameTransaction = () => Promise.resolve(),
): Promise<Provisioned> {
  const id = createId();
  const wanted = given.slug ?? toSlug(given.name);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const created = await insertOrganization(ctx, id, derivedSlug(wanted, attempt), given, andThen);
      return { ...created, pending: await findPending(createTenantSchema(ctx, id)) };
    } catch (error) {
      if (!violatesConstraint(error, 'organization_slug_is_unique') || attempt >= 15) throw error;
      if (given.slug !== undefined) throw slugTaken();
    }
  }
}

const view = (row: store.OrganizationRow): Organization => ({
  id: row.id,
  slug: row.slug,
  name: row.name,
  createdAt: instant(row.created_at),
});

async function getRow(tx: Tx, id: string): Promise<store.OrganizationRow> {
  return orNotFound(await store.findOrganization(tx, id), 'Organization');
}

function describeNextStep(credential: string, active: boolean, isPending: boolean): string | null {
  const choose =
    credential === 'session' ? 'Choose it with POST /whoami/active-organization, or name' : 'Name';
  const steps = [
    ...(active ? [] : [`${choose} it in the header x-organization-id of each request.`]),
    ...(isPending ? [pendingNote] : []),
  ];
  return steps.length === 0 ? null : steps.join(' ');
}

/**
 * The creator becomes the owner. A session without an active organization switches to the new one. Throws 422
 * `limit_reached` when the person belongs to the maximum number of organizations, `taken` for the slug.
 */
export async function createOwnOrganization(ctx: CallerCtx, input: NewOrganization) {
  const { user, credential } = ctx.caller;
  const max = ctx.settings.maxOrganizationsPerPerson;
  const memberships = await findMemberships(ctx, user.id);
  // Not exact: two concurrent requests may both pass. The limit only has to prevent thousands.
  if (memberships.length >= max) {
    const message = `You may belong to at most ${max} organizations. Leave or delete one first.`;
    throw invalid('Too many organizations', [{ path: '', code: 'limit_reached', message }]);
  }
  let active = memberships.length === 0;
  const created = await provisionOrganization(
    ctx,
    { name: input.name, ...(input.slug !== undefined && { slug: input.slug }), ownerId: user.id },
    async (tx, { id, slug, name }) => {
      const author = {
        organizationId: id,
        principal: { user, credential },
        ip: ctx.ip,
        requestId: ctx.requestId,
        claim: ctx.claim,
      };
      await writeAudit(tx, author, 'organization.create', ['organization', id], { name, slug });
      const own = memberships.map(({ organization }) => organization.id);
      if (credential.kind === 'session')
        active = await store.switchSessionTo(tx, { sessionId: credential.id, userId: user.id }, id, own);
    },
  );
  const row = await inTransaction({ db: ctx.db, organizationId: created.id }, (tx) => getRow(tx, created.id));
  if (created.pending !== null)
    ctx.log.warn({ err: created.pending }, 'the tables of a new organization are pending');
  return {
    ...view(row),
    active,
    nextStep: describeNextStep(credential.kind, active, created.pending !== null),
  };
}

/** A person sees every organization they belong to; an API key sees its own. */
export async function listOrganizations(ctx: CallerCtx, page: PageQuery, q: string | undefined) {
  const { user, credential, principal } = ctx.caller;
  const only = credential.kind === 'api-key' ? principal?.organization.id : undefined;
  const list = (tx: Tx) => store.listOrganizations(tx, user.id, only, page, q);
  return viewPage(
    await (only === undefined
      ? inUserTransaction(ctx, user.id, list)
      : inTransaction({ db: ctx.db, organizationId: only }, list)),
    page,
    view,
  );
}

/** Throws 404 when the organization was deleted. */
export const getOrganization = (ctx: RequestCtx) =>
  inTransaction(ctx, async (tx) => view(await getRow(tx, ctx.organizationId)));

/** Throws 404 when the organization was deleted, 422 `taken` when the slug is taken. */
export const updateOrganization = (ctx: RequestCtx, change: OrganizationPatch) =>
  inTransaction(ctx, async (tx) => {
    await getRow(tx, ctx.organizationId);
    const columns = {
      ...(change.name !== undefined && { name: change.name }),
      ...(change.slug !== undefined && { slug: change.slug }),
    };
    if (Object.keys(columns).length > 0) await store.updateOrganization(tx, ctx.organizationId, columns);
    await writeAudit(tx, ctx, 'organization.update', ['organization', ctx.organizationId], change);
    return view(await getRow(tx, ctx.organizationId));
  }).catch((error: unknown) => {
    throw violatesConstraint(error, 'organization_slug_is_unique') ? slugTaken() : error;
  });
