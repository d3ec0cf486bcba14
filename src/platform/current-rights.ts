// What a person or an API key may do now: between two uses a credential, role or key may change.
import type { Credential } from '../core/ctx.ts';
import type { Permission } from '../core/permissions.ts';
import { accessOfPerson, isRestricted, type RecordAccess, unlimitedLayer } from '../core/record-access.ts';
import type { Tx } from '../db/transaction.ts';
import { keyPermissions } from '../identity/principal.ts';
import { hasSession } from '../identity/sessions.store.ts';
import { type ApiKeyRow, findApiKeyRow } from './api-keys/api-keys.store.ts';
import { permissionsOfRow } from './roles/authority.ts';
import { findRoleOfMember } from './roles/roles.store.ts';

export type Rights = { readonly permissions: ReadonlySet<Permission>; readonly access: RecordAccess };

/** Of the current secret, or of the one that it replaced and that still works. */
function rightsOfKey(
  key: ApiKeyRow,
  userId: string,
  role: NonNullable<Awaited<ReturnType<typeof findRoleOfMember>>>,
): Rights | undefined {
  const isCurrent = key.user_id === userId;
  const works = isCurrent
    ? key.status === 'active'
    : key.previous_created_by === userId && key.grace_ends_at !== null;
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

/**
 * Of a member with their credential. Undefined when they are no member any more, or the key or session has
 * ended.
 */
export async function findRights(
  tx: Tx,
  organizationId: string,
  userId: string,
  credential: Pick<Credential, 'kind' | 'id'>,
): Promise<Rights | undefined> {
  const role = await findRoleOfMember(tx, organizationId, userId);
  if (role === undefined) return undefined;
  if (credential.kind === 'api-key') {
    const key = await findApiKeyRow(tx, organizationId, credential.id);
    return key && rightsOfKey(key, userId, role);
  }
  if (credential.kind === 'session' && !(await hasSession(tx, userId, credential.id))) return undefined;
  const permissions = new Set(permissionsOfRow(role));
  return { permissions, access: accessOfPerson(permissions) };
}
