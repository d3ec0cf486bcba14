// Roles that an organization makes for itself. What is put into one must be held by whoever puts it there, so that nobody widens
// their own power, by a new role or by the one that they have.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { allPermissions, describePermission, isRolePermission, type Permission, rolePermissions } from '../../core/permissions.ts';
import { sqlState, violates } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import type { AnyRoute } from '../../http/route.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { rolePermissions as heldBy } from '../../identity/principal.ts';
import { checkGrant } from '../grant.ts';
import { holdAuthority } from '../members/authority.ts';
import { makeRoom } from '../room.ts';
import type { PermissionView, RoleChanges, RoleInput, RoleView } from './roles.schemas.ts';
import * as store from './roles.store.ts';

const permissionsOf = (row: store.RoleRow): readonly Permission[] =>
  heldBy({ name: row.name, builtIn: row.built_in, permissions: row.permissions });

const view = (row: store.RoleRow): RoleView => ({
  id: row.id,
  name: row.name,
  description: row.description,
  permissions: [...permissionsOf(row)],
  builtIn: row.built_in,
  memberCount: row.member_count,
  createdAt: instant(row.created_at),
});

async function getRow(tx: Tx, ctx: RequestCtx, id: string): Promise<store.RoleRow> {
  const row = await store.findRole(tx, ctx.organizationId, id);
  if (row === undefined) throw notFound('Role');
  return row;
}

/** In the order of the catalogue, whatever order they were sent in. */
const sorted = (permissions: readonly Permission[]): Permission[] => rolePermissions.filter((name) => permissions.includes(name));

const explain = (error: unknown): unknown =>
  violates(error, 'role_name_is_unique')
    ? invalid('That name is taken', [{ path: 'name', code: 'taken', message: 'Another role has this name, whatever its case' }])
    : error;

const inUse = (message: string) => invalid('The role is in use', [{ path: '', code: 'in_use', message }]);

function checkOwn(row: store.RoleRow): void {
  if (!row.built_in) return;
  throw invalid('Built-in roles stay as they are', [{ path: '', code: 'built_in', message: 'Create a role of your own instead' }]);
}

export const listRoles = (ctx: RequestCtx, page: PageQuery, q: string | undefined) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listRoles(tx, ctx.organizationId, page, q);
    return toPage(rows.map(view), total, page);
  });

export const getRole = (ctx: RequestCtx, id: string) => inTransaction(ctx, async (tx) => view(await getRow(tx, ctx, id)));

export const createRole = (ctx: RequestCtx, { name, description, permissions }: RoleInput) =>
  inTransaction(ctx, async (tx) => {
    await holdAuthority(tx, ctx);
    checkGrant(ctx, permissions, 'permissions');
    const row = { id: newId(), name, description, permissions: sorted(permissions) };
    await makeRoom(tx, ctx, 'roles');
    await store.insertRole(tx, ctx.organizationId, row);
    const { id, ...changes } = row;
    await writeAudit(tx, ctx, { action: 'role.create', target: { type: 'role', id }, changes });
    return view(await getRow(tx, ctx, id));
  }).catch((error: unknown) => {
    throw explain(error);
  });

export const changeRole = (ctx: RequestCtx, id: string, change: RoleChanges) =>
  inTransaction(ctx, async (tx) => {
    await holdAuthority(tx, ctx);
    const row = await getRow(tx, ctx, id);
    checkOwn(row);
    const before = row.permissions.filter(isRolePermission);
    checkGrant(
      ctx,
      (change.permissions ?? []).filter((permission) => !before.includes(permission)),
      'permissions',
    );
    const columns = {
      ...(change.name !== undefined && { name: change.name }),
      ...(change.description !== undefined && { description: change.description ?? '' }),
      ...(change.permissions !== undefined && { permissions: sorted(change.permissions) }),
    };
    if (Object.keys(columns).length > 0) await store.updateRole(tx, ctx.organizationId, id, columns);
    await writeAudit(tx, ctx, {
      action: 'role.update',
      target: { type: 'role', id },
      changes: { ...columns, ...(columns.permissions !== undefined && { permissions: { from: before, to: columns.permissions } }) },
    });
    return view(await getRow(tx, ctx, id));
  }).catch((error: unknown) => {
    throw explain(error);
  });

export const deleteRole = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    await holdAuthority(tx, ctx);
    const row = await getRow(tx, ctx, id);
    checkOwn(row);
    if (row.member_count > 0) throw inUse(`${row.member_count} ${row.member_count === 1 ? 'member has' : 'members have'} this role`);
    if (row.invitation_count > 0)
      throw inUse(
        `${row.invitation_count} open ${row.invitation_count === 1 ? 'invitation gives' : 'invitations give'} this role: revoke first`,
      );
    await store.deleteRole(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, { action: 'role.delete', target: { type: 'role', id }, changes: { name: row.name } });
  }).catch((error: unknown) => {
    // Someone was given the role in this moment.
    throw sqlState(error) === '23503' ? inUse('Someone was just given this role') : error;
  });

/** Every permission, what it allows, and which operations need it. */
export function listPermissions(ctx: RequestCtx, page: PageQuery, routes: readonly AnyRoute[]) {
  const entries = allPermissions.map((name): PermissionView => {
    const operations = routes.filter((route) => route.access !== 'public' && route.permission === name).map(({ id }) => id);
    return {
      name,
      description: describePermission(name),
      grantable: isRolePermission(name),
      held: ctx.principal.permissions.has(name),
      operations,
    };
  });
  const start = (page.page - 1) * page.pageSize;
  return toPage(entries.slice(start, start + page.pageSize), entries.length, page);
}
