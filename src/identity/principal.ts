// From a credential to the one identity it stands for. Unknown, malformed, expired and revoked credentials are told apart by
// nobody: all are 401. An organization is only asked for once the person is known.
import type { Ctx, Principal } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { type BuiltInRole, builtInRoles, isPermission, isReadPermission, type Permission } from '../core/permissions.ts';
import type { VerifyToken } from './access-token.ts';
import { type FoundApiKey, findApiKey, touchApiKey } from './api-key.store.ts';
import { findUserByToken, membershipsOf, noteActivity } from './users.store.ts';

export const unauthorized = (): AppError => new AppError('UNAUTHORIZED', 'Missing or invalid authentication');

/** What a role holds: a built-in role's permissions come with the code, a custom role's with its row. */
export function rolePermissions(role: { name: string; builtIn: boolean; permissions: readonly string[] }): readonly Permission[] {
  if (role.builtIn) return builtInRoles[role.name as BuiltInRole] ?? [];
  return role.permissions.filter(isPermission);
}

/** A key's power here: its creator's permissions, bounded by its access level. */
export function keyPermissions(key: Pick<FoundApiKey, 'role' | 'scopes'>): ReadonlySet<Permission> {
  const held = key.role === null ? [] : rolePermissions(key.role);
  return new Set(key.scopes.permissions.includes('write') ? held : held.filter(isReadPermission));
}

async function fromApiKey(ctx: Ctx, secret: string): Promise<Principal> {
  const key = await findApiKey(ctx, secret);
  if (key === undefined) throw unauthorized();
  touchApiKey(ctx, key);
  return {
    user: key.creator,
    organization: key.organization,
    role: key.role === null ? { id: '', name: 'none' } : { id: key.role.id, name: key.role.name },
    permissions: keyPermissions(key),
    credential: { kind: 'api-key', id: key.id },
    identityOnly: key.scopes.versions.length > 0 || key.scopes.resources.length > 0,
  };
}

const choose = (message: string): AppError =>
  new AppError('BAD_REQUEST', message, { details: [{ path: 'x-organization-id', code: 'organization_needed', message }] });

async function fromAccessToken(ctx: Ctx, token: string, verify: VerifyToken, wantedOrganization: string | undefined): Promise<Principal> {
  const claims = await verify(token);
  const user = claims === undefined ? undefined : await findUserByToken(ctx, claims);
  if (claims === undefined || user === undefined) throw unauthorized();
  const memberships = await membershipsOf(ctx, user.id);
  if (wantedOrganization === undefined && memberships.length > 1)
    throw choose('You belong to several organizations: name one in the header x-organization-id');
  const membership =
    wantedOrganization === undefined ? memberships[0] : memberships.find(({ organization }) => organization.id === wantedOrganization);
  if (membership === undefined) throw new AppError('FORBIDDEN', 'You do not belong to that organization');
  noteActivity(ctx, membership.organization.id, user.id);
  const held = rolePermissions(membership.role);
  return {
    user,
    organization: membership.organization,
    role: { id: membership.role.id, name: membership.role.name },
    permissions: new Set(claims.readOnly ? held.filter(isReadPermission) : held),
    credential: { kind: 'oauth', id: user.id },
    identityOnly: false,
  };
}

/** The headers that may carry a credential or choose an organization. */
export type CredentialHeaders = { readonly authorization: string | undefined; readonly organization: string | undefined };

/** Throws UNAUTHORIZED, or BAD_REQUEST / FORBIDDEN where the person is known but the organization isn't clear. */
export async function identify(ctx: Ctx, headers: CredentialHeaders, verify: VerifyToken): Promise<Principal> {
  const bearer = /^Bearer ([\x21-\x7e]{1,8192})$/i.exec(headers.authorization ?? '')?.[1];
  if (bearer === undefined) throw unauthorized();
  return bearer.startsWith('psk_') ? fromApiKey(ctx, bearer) : fromAccessToken(ctx, bearer, verify, headers.organization);
}
