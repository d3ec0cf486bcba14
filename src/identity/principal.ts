// From a credential to the one identity it stands for. Unknown, malformed, expired and revoked credentials are told apart by
// nobody: all are 401. An organization is only asked for once the person is known.
import type { Caller, Ctx, Principal } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import {
  type BuiltInRole,
  builtInRoles,
  isReadPermission,
  isRolePermission,
  type Permission,
  signUpPermission,
} from '../core/permissions.ts';
import type { VerifyToken } from './access-token.ts';
import { type FoundApiKey, findApiKey, touchApiKey } from './api-key.store.ts';
import { findSession, touchSession } from './sessions.store.ts';
import { findUserByToken, type Membership, membershipsOf, noteActivity, workingMembership } from './users.store.ts';

export const unauthorized = (): AppError => new AppError('UNAUTHORIZED', 'Missing or invalid authentication');

/** What a role holds: a built-in role's permissions come with the code, a custom role's with its row. */
export function rolePermissions(role: { name: string; builtIn: boolean; permissions: readonly string[] }): readonly Permission[] {
  if (role.builtIn) return builtInRoles[role.name as BuiltInRole] ?? [];
  return role.permissions.filter(isRolePermission);
}

/** A key's power here: its creator's permissions, bounded by its access level and, once it was handed over, by what it could do then. */
export function keyPermissions({ role, scopes, ceiling }: Pick<FoundApiKey, 'role' | 'scopes' | 'ceiling'>): ReadonlySet<Permission> {
  const held = role === null ? [] : rolePermissions(role);
  const reached = scopes.permissions.includes('write') ? held : held.filter(isReadPermission);
  return new Set(ceiling === null ? reached : reached.filter((permission) => ceiling.includes(permission)));
}

const mismatch = (): AppError =>
  new AppError('BAD_REQUEST', 'The credential belongs to another organization than x-organization-id names', {
    details: [
      { path: 'x-organization-id', code: 'organization_mismatch', message: 'Only a token chooses its organization by this header' },
    ],
  });

async function fromApiKey(ctx: Ctx, secret: string, wantedOrganization: string | undefined): Promise<Caller> {
  const key = await findApiKey(ctx, secret);
  if (key === undefined) throw unauthorized();
  touchApiKey(ctx, key);
  const credential = { kind: 'api-key', id: key.id } as const;
  const identityOnly = key.scopes.versions.length > 0 || key.scopes.resources.length > 0;
  const principal: Principal = {
    user: key.creator,
    organization: key.organization,
    role: key.role === null ? { id: '', name: 'none' } : { id: key.role.id, name: key.role.name },
    permissions: identityOnly ? new Set() : keyPermissions(key),
    credential,
    identityOnly,
    reads: { versions: key.scopes.versions, resources: key.scopes.resources },
    handedOver: key.ceiling !== null,
  };
  const refusal = wantedOrganization === undefined || wantedOrganization === key.organization.id ? undefined : mismatch();
  return { user: key.creator, credential, readOnly: false, principal, refusal };
}

const choose = (message: string, code: string): AppError =>
  new AppError('BAD_REQUEST', message, { details: [{ path: 'x-organization-id', code, message }] });
const severalOrganizations = (): AppError =>
  choose('You belong to several organizations: name one in the header x-organization-id', 'organization_needed');
const noneChosen = (): AppError =>
  new AppError('BAD_REQUEST', 'No organization is chosen', {
    details: [{ path: '', code: 'organization_needed', message: 'Choose one by POST /whoami/active-organization' }],
  });
const notAMember = (): AppError => new AppError('FORBIDDEN', 'You do not belong to that organization');
const noOrganization = (): AppError =>
  new AppError('FORBIDDEN', 'You belong to no organization', {
    details: [{ path: '', code: 'no_organization', message: 'Accept an invitation, or make an organization' }],
  });

type Person = Pick<Caller, 'user' | 'credential' | 'readOnly'>;

/** The one place where a person becomes a principal, whether a token or a session said who it is. */
function asMember(ctx: Ctx, person: Person, membership: Membership): Principal {
  noteActivity(ctx, membership.organization.id, person.user.id);
  const held: Permission[] = [...rolePermissions(membership.role), ...(ctx.settings.allowSignup ? [signUpPermission] : [])];
  return {
    user: person.user,
    organization: membership.organization,
    role: { id: membership.role.id, name: membership.role.name },
    permissions: new Set(person.readOnly ? held.filter(isReadPermission) : held),
    credential: person.credential,
    identityOnly: false,
    reads: { versions: [], resources: [] },
    handedOver: false,
  };
}

async function fromAccessToken(ctx: Ctx, token: string, verify: VerifyToken, wanted: string | undefined): Promise<Caller> {
  const claims = await verify(token);
  const user = claims === undefined ? undefined : await findUserByToken(ctx, claims);
  if (claims === undefined || user === undefined) throw unauthorized();
  const person = { user, credential: { kind: 'oauth', id: user.id }, readOnly: claims.readOnly } as const;
  const memberships = await membershipsOf(ctx, user.id);
  const chosen = wanted === undefined ? memberships[0] : memberships.find(({ organization }) => organization.id === wanted);
  if (wanted === undefined && memberships.length > 1) return { ...person, principal: undefined, refusal: severalOrganizations() };
  if (chosen === undefined) return { ...person, principal: undefined, refusal: memberships.length === 0 ? noOrganization() : notAMember() };
  return { ...person, principal: asMember(ctx, person, chosen), refusal: undefined };
}

/** The person behind a session's cookie, in the organization that the session works in. Throws UNAUTHORIZED. */
export async function fromSession(ctx: Ctx, token: string, wanted: string | undefined): Promise<Caller> {
  const session = await findSession(ctx, token);
  if (session === undefined) throw unauthorized();
  touchSession(ctx, session);
  const person = { user: session.user, credential: { kind: 'session', id: session.id }, readOnly: false } as const;
  const memberships = await membershipsOf(ctx, session.user.id);
  const chosen = workingMembership(memberships, session.organizationId);
  if (chosen === undefined) return { ...person, principal: undefined, refusal: memberships.length === 0 ? noOrganization() : noneChosen() };
  const refusal = wanted === undefined || wanted === chosen.organization.id ? undefined : mismatch();
  return { ...person, principal: asMember(ctx, person, chosen), refusal };
}

/** What may carry a credential or choose an organization. */
export type Credentials = {
  readonly authorization: string | undefined;
  readonly organization: string | undefined;
  /** The value of the session cookie. */
  readonly session: string | undefined;
};

/** Throws UNAUTHORIZED. An `Authorization` header, even a bad one, wins over a cookie. */
export async function identify(ctx: Ctx, given: Credentials, verify: VerifyToken): Promise<Caller> {
  if (given.authorization === undefined && given.session !== undefined) return fromSession(ctx, given.session, given.organization);
  const bearer = /^Bearer ([\x21-\x7e]{1,8192})$/i.exec(given.authorization ?? '')?.[1];
  if (bearer === undefined) throw unauthorized();
  return bearer.startsWith('psk_') ? fromApiKey(ctx, bearer, given.organization) : fromAccessToken(ctx, bearer, verify, given.organization);
}
