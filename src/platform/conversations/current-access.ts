// What the person or key that asked may read now: during an answer a credential, role or key may change.
import type { RequestCtx } from '../../core/ctx.ts';
import type { Permission } from '../../core/permissions.ts';
import { accessOfPerson, isRestricted, type RecordAccess, unlimitedLayer } from '../../core/record-access.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { keyPermissions } from '../../identity/principal.ts';
import { hasSession } from '../../identity/sessions.store.ts';
import { type ApiKeyRow, findApiKeyRow } from '../api-keys/api-keys.store.ts';
import { permissionsOfRow } from '../roles/authority.ts';
import { findRoleOfMember } from '../roles/roles.store.ts';

type Rights = { readonly permissions: ReadonlySet<Permission>; readonly access: RecordAccess };

/** Of the current secret, or of the one that it replaced and that still works. */
function rightsOfKey(
  key: ApiKeyRow,
  userId: string,
  role: NonNullable<Awaited<ReturnType<typeof findRoleOfMember>>>,
): Rights | undefined {
  const isCurrent = key.user_id === userId;
  const works = isCurrent
    ? key.status === 'active'
    : key.previous_created_by === userId && key.former_secret_until !== null;
  const { scope_versions: versions, scope_resources: resources, scope_permissions: scoped } = key;
  const { scope_rows: rows, scope_fields: fields, scope_unmasked: unmasked } = key;
  if (
    !works ||
    key.revoked_at !== null ||
    key.has_expired ||
    isRestricted({ versions, resources, rows, fields })
  )
    return undefined;
  const ceiling = isCurrent ? key.ceiling : key.previous_ceiling;
  const permissions = keyPermissions({
    role: { ...role, builtIn: role.built_in },
    scopes: { versions, resources, permissions: scoped },
    ceiling,
  });
  return { permissions, access: { layers: [unlimitedLayer], unmasked } };
}

async function findRights(tx: Tx, { organizationId, principal: { user, credential } }: RequestCtx) {
  const role = await findRoleOfMember(tx, organizationId, user.id);
  if (role === undefined) return undefined;
  if (credential.kind === 'api-key') {
    const key = await findApiKeyRow(tx, organizationId, credential.id);
    return key && rightsOfKey(key, user.id, role);
  }
  if (credential.kind === 'session' && !(await hasSession(tx, user.id, credential.id))) return undefined;
  const permissions = new Set(permissionsOfRow(role));
  return { permissions, access: accessOfPerson(permissions) };
}

/**
 * What the asker may read now, masked if it was masked when they asked. Undefined when the credential has
 * ended, or may no longer ask agents or read records. Rejects with database errors.
 */
export const findCurrentAccess = (ctx: RequestCtx): Promise<RecordAccess | undefined> =>
  inTransaction(ctx, async (tx) => {
    const rights = await findRights(tx, ctx);
    if (
      rights === undefined ||
      !rights.permissions.has('record:read') ||
      !rights.permissions.has('conversation:create')
    )
      return undefined;
    return { ...rights.access, unmasked: rights.access.unmasked && ctx.principal.reads.unmasked };
  });
