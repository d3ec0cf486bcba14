// Who may read what. The order of the checks is part of the interface: key, tenant header, tenant, scopes, and only then
// whether anything is there. The header is an assertion that must agree with the key; it never selects data by itself.
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Ctx, Principal } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { isId } from '../core/id.ts';
import type { Permission } from '../core/permissions.ts';
import type { Tally } from '../core/tally.ts';
import { type FoundApiKey, findApiKey, touchApiKey } from '../identity/api-key.store.ts';
import { isApiKey } from '../identity/api-key.ts';
import { fromSession, keyPermissions } from '../identity/principal.ts';
import { type LookUp, strangers } from './admission.ts';
import { openTrusted } from './trusted.ts';

/** Finds the living key of a request, at once where it may be trusted. Throws 401, or rejects with it. */
export type Authenticate = (headers: IncomingHttpHeaders) => FoundApiKey | Promise<FoundApiKey>;

/** The versions and resources that someone is kept to; empty means all. */
export type Reach = { readonly versions: readonly string[]; readonly resources: readonly string[] };

/** Once for all who ask at the same time. */
async function findUsed(ctx: Pick<Ctx, 'db' | 'log'>, secret: string): Promise<FoundApiKey | undefined> {
  const key = await findApiKey(ctx, secret);
  if (key !== undefined) touchApiKey(ctx, key);
  return key;
}

export function openAuthenticate(ctx: Pick<Ctx, 'db' | 'log' | 'clock' | 'settings'>, lookUp: LookUp, tally?: Tally): Authenticate {
  const keys = openTrusted<FoundApiKey | undefined>(ctx.clock, ctx.settings.trustMs, ctx.settings.cacheBytes.trusted, tally);
  const look = async (secret: string, hashed: string): Promise<FoundApiKey> => {
    // Whoever was known a moment ago does not wait behind keys that nobody knows.
    const owner = keys.remembered(hashed)?.organization.id ?? strangers;
    const key = await keys.get(hashed, () => lookUp(owner, () => findUsed(ctx, secret)));
    if (key === undefined) throw unauthorized();
    return key;
  };
  return (headers) => {
    const secret = bearer.exec(headers.authorization ?? '')?.[1];
    if (secret === undefined || !isApiKey(secret)) throw unauthorized();
    const hashed = hash('sha256', secret, 'base64');
    return keys.held(hashed) ?? look(secret, hashed);
  };
}

const bearer = /^Bearer ([0-9A-Za-z_]{1,100})$/i;
const unauthorized = (): AppError => new AppError('UNAUTHORIZED', 'Missing or invalid authentication');

const refuse = (code: 'BAD_REQUEST' | 'FORBIDDEN', path: string, reason: string, message: string): AppError =>
  new AppError(code, message, { details: [{ path, code: reason, message }] });

/** Throws 400 without a well-formed header, 403 when it names another tenant than the credential's. */
export function assertTenant(
  holder: { readonly organization: { readonly id: string } },
  headers: IncomingHttpHeaders,
  credential: 'key' | 'session' = 'key',
): void {
  const tenant = headers['x-tenant-id'];
  if (tenant === undefined || tenant === '')
    throw refuse('BAD_REQUEST', 'x-tenant-id', 'tenant_missing', 'The header x-tenant-id is missing');
  if (typeof tenant !== 'string' || !isId(tenant.toLowerCase())) {
    throw refuse('BAD_REQUEST', 'x-tenant-id', 'tenant_malformed', 'The header x-tenant-id must be one organization id');
  }
  if (tenant.toLowerCase() !== holder.organization.id)
    throw refuse(
      'FORBIDDEN',
      'x-tenant-id',
      'tenant_mismatch',
      `This ${credential} does not belong to the tenant of the header x-tenant-id`,
    );
}

/** Throws 403 for a version or resource outside the key's scopes. Says nothing about whether they exist. */
export function assertScopes({ scopes }: { readonly scopes: Reach }, version: string, resource: string | null): void {
  const { versions, resources } = scopes;
  if (versions.length > 0 && !versions.includes(version))
    throw refuse('FORBIDDEN', 'version', 'version_out_of_scope', 'This key is not valid for this version');
  if (resource !== null && resources.length > 0 && !resources.includes(resource)) {
    throw refuse('FORBIDDEN', 'resource', 'resource_out_of_scope', 'This key is not valid for this resource');
  }
}

/**
 * Who may read descriptions by a session: a member who may read schema versions in the management interface too. The tenant header
 * asserts the session's organization as it does a key's. Throws 401, 400 without an organization, 403.
 */
export async function identifyMember(ctx: Ctx, session: string, headers: IncomingHttpHeaders): Promise<Principal> {
  const { principal, refusal } = await fromSession(ctx, session, undefined);
  if (principal === undefined) throw refusal ?? unauthorized();
  assertTenant(principal, headers, 'session');
  if (!principal.permissions.has('api-schema:read')) throw new AppError('FORBIDDEN', 'Missing required permission: api-schema:read');
  return principal;
}

/** Equal for keys that may read the same. */
export const scopesOf = ({ scopes: { versions, resources, permissions } }: FoundApiKey): string =>
  versions.length + resources.length + permissions.length === 0
    ? ''
    : JSON.stringify([versions, resources, permissions].map((names) => [...new Set(names)].sort()));

/** A draft shows every resource, so a key that is restricted to some sees none. */
export function assertPermission(key: FoundApiKey, permission: Permission): void {
  if (key.scopes.resources.length > 0) {
    throw refuse('FORBIDDEN', 'draft', 'restricted_key', 'A key restricted to resources sees no drafts');
  }
  if (!keyPermissions(key).has(permission)) throw new AppError('FORBIDDEN', `Missing required permission: ${permission}`);
}
