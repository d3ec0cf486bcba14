// Resolves credentials to callers. Unknown, malformed, expired and revoked credentials get the same 401, so
// that clients can't tell them apart. A key belongs to one organization; a token or session identifies a
// person, whose memberships then decide the organization.
import type { Caller, Credential, Ctx, Principal } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import {
  type BuiltInRole,
  builtInRoles,
  isReadPermission,
  isRolePermission,
  type Permission,
  signUpPermission,
} from '../core/permissions.ts';
import { accessOfPerson, isRestricted } from '../core/record-access.ts';
import type { VerifyToken } from './access-token.ts';
import { type FoundApiKey, findApiKey, recordApiKeyUse } from './api-key.store.ts';
import { hashApiKey, secretMark } from './api-key.ts';
import { findKeyOfToken, proveToken } from './record-token.store.ts';
import { hasTokenPrefix } from './record-token.ts';
import { findSession, recordSessionUse } from './sessions.store.ts';
import {
  activeMembership,
  findMemberships,
  findUserByToken,
  type Membership,
  recordActivity,
} from './users.store.ts';

export const unauthorized = (): AppError => new AppError('UNAUTHORIZED', 'Missing or invalid authentication');

/** The permissions of a role: those of a built-in role are in the code, those of a custom role in its row. */
export function permissionsOfRole(role: { name: string; builtIn: boolean; permissions: readonly string[] }) {
  if (role.builtIn) return builtInRoles[role.name as BuiltInRole] ?? [];
  return role.permissions.filter(isRolePermission);
}

/** Whether a key with these scopes was given no access to the management interface. */
const isPublicOnly = ({ permissions }: Pick<FoundApiKey['scopes'], 'permissions'>): boolean =>
  permissions.includes('none');

/** Its creator's, limited by the key's access level and, if it was reassigned, by what it could do then. */
export function keyPermissions({
  role,
  scopes,
  ceiling,
}: Pick<FoundApiKey, 'role' | 'scopes' | 'ceiling'>): ReadonlySet<Permission> {
  const ofRole = role === null || isPublicOnly(scopes) ? [] : permissionsOfRole(role);
  const inScope = scopes.permissions.includes('write') ? ofRole : ofRole.filter(isReadPermission);
  return new Set(ceiling === null ? inScope : inScope.filter((permission) => ceiling.includes(permission)));
}

const mismatch = (): AppError =>
  new AppError(
    'BAD_REQUEST',
    'The credential belongs to a different organization than the one named by the header x-organization-id',
    {
      details: [
        {
          path: 'x-organization-id',
          code: 'organization_mismatch',
          message:
            'An API key belongs to one organization. Only access tokens and sessions select theirs with this header.',
        },
      ],
    },
  );

async function findKeyByToken(ctx: Ctx, token: string): Promise<FoundApiKey | undefined> {
  const proven = await proveToken(ctx, token);
  return proven && findKeyOfToken(ctx, proven.claims);
}

/** By the secret of an API key, or by a token that it minted. */
async function fromApiKey(ctx: Ctx, given: string, requestedId: string | undefined): Promise<Caller> {
  const isToken = hasTokenPrefix(given);
  const key = await (isToken ? findKeyByToken(ctx, given) : findApiKey(ctx, given));
  if (key === undefined) throw unauthorized();
  recordApiKeyUse(ctx, key);
  const which = isToken
    ? { tokenSubject: key.tokenSubject ?? '' }
    : { secretMark: secretMark(hashApiKey(given)).toString('base64url') };
  const credential: Credential = { kind: 'api-key', id: key.id, ...which };
  const isRestrictedKey = isToken || isPublicOnly(key.scopes) || key.access.layers.some(isRestricted);
  const principal: Principal = {
    user: key.creator,
    organization: key.organization,
    role: key.role === null ? { id: '', name: 'none' } : { id: key.role.id, name: key.role.name },
    permissions: isRestrictedKey ? new Set() : keyPermissions(key),
    credential,
    isRestrictedKey,
    reads: key.access,
    isTransferredKey: key.ceiling !== null,
    expiresAt: key.expiresAt,
  };
  const refusal = requestedId === undefined || requestedId === key.organization.id ? undefined : mismatch();
  const readOnly = !key.scopes.permissions.includes('write');
  return { user: key.creator, credential, readOnly, principal, refusal, writeRefusal: undefined };
}

const selectionNeeded = (message: string, code: string): AppError =>
  new AppError('BAD_REQUEST', message, { details: [{ path: 'x-organization-id', code, message }] });
const severalOrganizations = (): AppError =>
  selectionNeeded(
    'You belong to several organizations. Name one in the header x-organization-id.',
    'organization_needed',
  );
const choose =
  'Select one with POST /whoami/active-organization, or name one in the header x-organization-id.';
const noneSelected = (message = 'No organization is selected', advice = choose): AppError =>
  new AppError('BAD_REQUEST', message, {
    details: [{ path: '', code: 'organization_needed', message: advice }],
  });
const activeIsGone = (): AppError =>
  noneSelected(
    'The active organization of the session is gone',
    `${choose} GET /whoami selects the only one that is left.`,
  );
const notAMember = (): AppError =>
  new AppError('FORBIDDEN', 'You do not belong to that organization', {
    details: [
      {
        path: 'x-organization-id',
        code: 'not_a_member',
        message: 'GET /whoami/organizations lists your organizations.',
      },
    ],
  });
const noOrganization = ({ settings }: Pick<Ctx, 'settings'>): AppError =>
  new AppError('FORBIDDEN', 'You belong to no organization', {
    details: [
      {
        path: '',
        code: 'no_organization',
        message: settings.allowSignup
          ? 'Accept an invitation, or create an organization with POST /organizations.'
          : 'Ask an administrator of an organization for an invitation, and accept it.',
      },
    ],
  });

type Person = Pick<Caller, 'user' | 'credential' | 'readOnly'>;

/** A person as a principal, for tokens and sessions alike. Also records them as active in this month. */
function asMember(ctx: Ctx, person: Person, membership: Membership): Principal {
  recordActivity(ctx, membership.organization.id, person.user.id);
  const permissions: Permission[] = [
    ...permissionsOfRole(membership.role),
    ...(ctx.settings.allowSignup ? [signUpPermission] : []),
  ];
  const held = new Set(person.readOnly ? permissions.filter(isReadPermission) : permissions);
  return {
    user: person.user,
    organization: membership.organization,
    role: { id: membership.role.id, name: membership.role.name },
    permissions: held,
    credential: person.credential,
    isRestrictedKey: false,
    reads: accessOfPerson(held),
    isTransferredKey: false,
    expiresAt: null,
  };
}

type Choice = { readonly requestedId: string | undefined; readonly activeId: string | null };

/** A person's organization: the one that the header names, else the session's active one, else the only. */
async function inOrganization(ctx: Ctx, person: Person, { requestedId, activeId }: Choice): Promise<Caller> {
  const memberships = await findMemberships(ctx, person.user.id);
  const chosen =
    requestedId === undefined
      ? activeMembership(memberships, activeId)
      : memberships.find(({ organization }) => organization.id === requestedId);
  if (chosen !== undefined) {
    const isLeftOver = requestedId === undefined && activeId !== null && activeId !== chosen.organization.id;
    return {
      ...person,
      principal: asMember(ctx, person, chosen),
      refusal: undefined,
      writeRefusal: isLeftOver ? activeIsGone() : undefined,
    };
  }
  const unselected = person.credential.kind === 'session' ? noneSelected() : severalOrganizations();
  const refusal =
    memberships.length === 0 ? noOrganization(ctx) : requestedId === undefined ? unselected : notAMember();
  return { ...person, principal: undefined, refusal, writeRefusal: undefined };
}

async function fromAccessToken(
  ctx: Ctx,
  token: string,
  verify: VerifyToken,
  requestedId: string | undefined,
): Promise<Caller> {
  const claims = await verify(token);
  const user = claims === undefined ? undefined : await findUserByToken(ctx, claims);
  if (claims === undefined || user === undefined) throw unauthorized();
  const person = { user, credential: { kind: 'oauth', id: user.id }, readOnly: claims.readOnly } as const;
  return inOrganization(ctx, person, { requestedId, activeId: null });
}

/**
 * The person of the session cookies, in the requested organization or the session's active one. Rejects with
 * 401 unless exactly one of them is of a session that is known and hasn't expired.
 */
export async function callerFromSession(
  ctx: Ctx,
  tokens: readonly string[],
  requestedId: string | undefined,
): Promise<Caller> {
  const session = await findSession(ctx, tokens);
  if (session === undefined) throw unauthorized();
  recordSessionUse(ctx, session);
  const person = {
    user: session.user,
    credential: { kind: 'session', id: session.id },
    readOnly: false,
  } as const;
  return inOrganization(ctx, person, { requestedId, activeId: session.organizationId });
}

/** The parts of a request that may carry a credential or select an organization. */
export type Credentials = {
  readonly authorization: string | undefined;
  readonly organization: string | undefined;
  /** The values of the session cookie. */
  readonly sessions: readonly string[];
  /** Whether tokens of API keys are accepted, which read records and nothing else. */
  readonly acceptsTokens?: boolean;
};

/**
 * Resolves the credential of a request. An `Authorization` header, even an invalid one, precedes a cookie.
 * Rejects with 401 for a missing or invalid credential, 503 while the provider's keys are unavailable.
 */
export async function identify(ctx: Ctx, given: Credentials, verify: VerifyToken): Promise<Caller> {
  if (given.authorization === undefined && given.sessions.length > 0)
    return callerFromSession(ctx, given.sessions, given.organization);
  const bearer = /^Bearer +([\x21-\x7e]{1,8192})$/i.exec(given.authorization ?? '')?.[1];
  if (bearer === undefined) throw unauthorized();
  if (hasTokenPrefix(bearer) && given.acceptsTokens !== true) throw unauthorized();
  return hasTokenPrefix(bearer) || bearer.startsWith('psk_')
    ? fromApiKey(ctx, bearer, given.organization)
    : fromAccessToken(ctx, bearer, verify, given.organization);
}
