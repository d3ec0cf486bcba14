// Custom roles of an organization. Callers can add only permissions that they hold, so that they cannot
// escalate their own, neither through a new role nor through the one that they have.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import {
  allPermissions,
  assignablePermissions,
  describePermission,
  isRolePermission,
  type Permission,
} from '../../core/permissions.ts';
import { sqlState, violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { findPage, type NamedPageQuery } from '../../http/page.ts';
import type { AnyRoute } from '../../http/route/route.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { assertCanGrant } from '../grant.ts';
import { assertQuota } from '../quotas.ts';
import { getterOf, listerOf } from '../rows.ts';
import { assertStillAuthorized, permissionsOfRow } from './authority.ts';
import type { NewRole, PermissionEntry, Role, RolePatch } from './roles.schemas.ts';
import * as store from './roles.store.ts';

const view = (row: store.RoleRow): Role => ({
  id: row.id,
  name: row.name,
  description: row.description,
  permissions: [...permissionsOfRow(row)],
  builtIn: row.built_in,
  memberCount: row.member_count,
  createdAt: instant(row.created_at),
});

const getRow = getterOf(store.findRole, 'Role');

/** In the order of `rolePermissions`, independent of the order in the request. */
const sorted = (permissions: readonly Permission[]): Permission[] =>
  assignablePermissions.filter((name) => permissions.includes(name));

const toClientError = (error: unknown): unknown =>
  violatesConstraint(error, 'role_name_is_unique')
    ? invalid('That name is taken', [
        { path: 'name', code: 'taken', message: 'Another role has this name, ignoring case' },
      ])
    : error;

const inUse = (message: string) => invalid('The role is in use', [{ path: '', code: 'in_use', message }]);

function assertCustomRole(row: store.RoleRow): void {
  if (!row.built_in) return;
  throw invalid('Built-in roles cannot be changed', [
    { path: '', code: 'built_in', message: 'Create a custom role instead' },
  ]);
}

export const listRoles = listerOf(store.listRoles, view);

/** Throws 404 for an unknown role. */
export const getRole = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => view(await getRow(tx, ctx, id)));

/** Throws 403 `escalation` when the caller lacks one of the permissions, 422 `taken`, `limit_reached`. */
export const createRole = (ctx: RequestCtx, { name, description, permissions }: NewRole) =>
  inTransaction(ctx, async (tx) => {
    await assertStillAuthorized(tx, ctx);
    assertCanGrant(ctx, permissions, 'permissions');
    const row = { id: createId(), name, description, permissions: sorted(permissions) };
    await assertQuota(tx, ctx, 'roles');
    await store.insertRole(tx, ctx.organizationId, row);
    const { id, ...changes } = row;
    await writeAudit(tx, ctx, 'role.create', ['role', id], changes);
    return view(await getRow(tx, ctx, id));
  }).catch((error: unknown) => {
    throw toClientError(error);
  });

/** Throws 404, 403 `escalation` when the caller lacks an added permission, 422 `built_in` or `taken`. */
export const updateRole = (ctx: RequestCtx, id: string, change: RolePatch) =>
  inTransaction(ctx, async (tx) => {
    await assertStillAuthorized(tx, ctx);
    const row = await getRow(tx, ctx, id);
    assertCustomRole(row);
    const before = row.permissions.filter(isRolePermission);
    assertCanGrant(
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
    await writeAudit(tx, ctx, 'role.update', ['role', id], {
      ...columns,
      ...(columns.permissions !== undefined && { permissions: { from: before, to: columns.permissions } }),
    });
    return view(await getRow(tx, ctx, id));
  }).catch((error: unknown) => {
    throw toClientError(error);
  });

/** Throws 404, 422 `built_in`, or `in_use` while a member or an open invitation has it. */
export const deleteRole = (ctx: RequestCtx, id: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    await assertStillAuthorized(tx, ctx);
    const row = await getRow(tx, ctx, id);
    assertCustomRole(row);
    if (row.member_count > 0)
      throw inUse(`${row.member_count} ${row.member_count === 1 ? 'member has' : 'members have'} this role`);
    if (row.invitation_count > 0)
      throw inUse(
        `${row.invitation_count} open ${row.invitation_count === 1 ? 'invitation grants' : 'invitations grant'} this role. Revoke first.`,
      );
    await store.deleteRole(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, 'role.delete', ['role', id], { name: row.name });
  }).catch((error: unknown) => {
    // The role was assigned concurrently.
    throw sqlState(error) === '23503' ? inUse('The role was just assigned to someone') : error;
  });

/** Every permission, what it allows, and which operations need it. */
export function listPermissions(ctx: RequestCtx, query: NamedPageQuery, routes: readonly AnyRoute[]) {
  const entries = allPermissions.map((name): PermissionEntry => {
    const needsIt = (route: AnyRoute): boolean =>
      route.access !== 'public' &&
      (route.permission === name || (name === 'record:read' && route.readsRecords === true));
    const operations = routes.filter(needsIt).map(({ id }) => id);
    return {
      name,
      description: describePermission(name),
      grantable: isRolePermission(name),
      held: ctx.principal.permissions.has(name),
      operations,
    };
  });
  return findPage(entries, query, ({ name, description }) => [name, description]);
}
