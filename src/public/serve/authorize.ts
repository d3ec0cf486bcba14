// Decides who calls, and for which organization. The order of the checks is part of the interface: key,
// tenant header, tenant, scopes (scopes.ts), and only then whether the target exists. The tenant header is an
// assertion that must agree with the key; it never selects data by itself.
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Ctx, Principal } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import { isId } from '../../core/id.ts';
import type { Permission } from '../../core/permissions.ts';
import { isRestricted } from '../../core/record-access.ts';
import { createCache } from '../../core/work/cache.ts';
import type { HitCounter } from '../../core/work/hit-counter.ts';
import { type FoundApiKey, findApiKey, recordApiKeyUse } from '../../identity/api-key.store.ts';
import { hasApiKeyFormat } from '../../identity/api-key.ts';
import { callerFromSession, keyPermissions, unauthorized } from '../../identity/principal.ts';
import { hasTokenPrefix } from '../../identity/record-token.ts';
import { type RunLookup, unauthenticated } from '../load/admission.ts';
import type { OutageTrust } from '../version/outage-trust.ts';
import { accessError } from '../version/scopes.ts';
import { createTokenLookup, type KeyLookup, type LookupCtx } from './token-lookup.ts';

/**
 * Finds the valid API key of a request, or that of its token, synchronously on a fresh cache hit. Throws 401,
 * or rejects with it.
 */
export type Authenticate = (headers: IncomingHttpHeaders) => FoundApiKey | Promise<FoundApiKey>;

/** Keys, by their secret. */
function createSecretLookup(
  ctx: LookupCtx,
  runLookup: RunLookup,
  ms: () => number,
  counter?: HitCounter,
): KeyLookup {
  const keys = createCache<FoundApiKey | undefined>({
    maxBytes: ctx.settings.cacheBytes.lookups,
    ttl: { clock: ctx.clock, ms },
    counter,
  });
  /** Called once per cache load, however many requests wait for it. */
  const findAndRecordUse = async (secret: string): Promise<FoundApiKey | undefined> => {
    const key = await findApiKey(ctx, secret);
    if (key !== undefined) recordApiKeyUse(ctx, key);
    return key;
  };
  return {
    find: (_secret, hashed) => keys.findFresh(hashed),
    async load(secret, hashed) {
      // Recently known callers must not queue behind lookups of unknown keys.
      const owner = keys.findAny(hashed)?.organization.id ?? unauthenticated;
      const key = await keys.load(hashed, () => runLookup(owner, () => findAndRecordUse(secret)));
      if (key === undefined) throw unauthorized();
      return key;
    },
  };
}

/**
 * The returned function throws 401, or rejects with it, for a missing, malformed, unknown, expired or revoked
 * key or token, and rejects with 503 when too many lookups wait.
 */
export function createAuthenticator(
  ctx: LookupCtx,
  runLookup: RunLookup,
  outageTrust: OutageTrust,
  counter?: HitCounter,
): Authenticate {
  const secrets = createSecretLookup(ctx, runLookup, outageTrust.freshMs, counter);
  const tokens = createTokenLookup(ctx, runLookup, outageTrust.freshMs);
  const assertNotExpired = (key: FoundApiKey): void => {
    // The database doesn't know when a token expires.
    if (key.tokenSubject !== undefined && key.expiresAt !== null && key.expiresAt <= ctx.clock.now())
      throw unauthorized();
    outageTrust.assertNotExpired(key);
  };
  const load = async (lookup: KeyLookup, credential: string, hashed: string): Promise<FoundApiKey> => {
    const key = await outageTrust.lookUp(
      () => lookup.load(credential, hashed),
      () => lookup.find(credential, hashed),
    );
    assertNotExpired(key);
    return key;
  };
  return (headers) => {
    const credential = bearer.exec(headers.authorization ?? '')?.[1];
    if (credential === undefined || !(hasApiKeyFormat(credential) || hasTokenPrefix(credential)))
      throw unauthorized();
    const lookup = hasTokenPrefix(credential) ? tokens : secrets;
    const hashed = hash('sha256', credential, 'base64');
    const known = lookup.find(credential, hashed);
    if (known === undefined) return load(lookup, credential, hashed);
    assertNotExpired(known);
    return known;
  };
}

const readDrafts: Permission = 'api-schema:read';
const bearer = /^Bearer +([\w.-]{1,10000})$/i;

/** Throws 400 for a missing or malformed `x-tenant-id`, 403 for another one than the credential's. */
export function assertTenant(
  holder: { readonly organization: { readonly id: string } },
  headers: IncomingHttpHeaders,
  credential: 'key' | 'token' | 'session' = 'key',
): void {
  const tenant = headers['x-tenant-id'];
  const own = `It is the id of the organization that this ${credential} belongs to: ${holder.organization.id}`;
  if (tenant === undefined || tenant === '')
    throw accessError(
      'BAD_REQUEST',
      'x-tenant-id',
      'tenant_missing',
      `The x-tenant-id header is missing. ${own}`,
    );
  if (typeof tenant !== 'string' || !isId(tenant.toLowerCase())) {
    throw accessError(
      'BAD_REQUEST',
      'x-tenant-id',
      'tenant_malformed',
      `The x-tenant-id header must be one organization id. ${own}`,
    );
  }
  if (tenant.toLowerCase() !== holder.organization.id)
    throw accessError(
      'FORBIDDEN',
      'x-tenant-id',
      'tenant_mismatch',
      `This ${credential} does not belong to the tenant named in the x-tenant-id header`,
    );
}

/**
 * Authenticates a session that may read descriptions: a member who may also read schema versions in the
 * management interface. As with a key, the tenant header asserts the organization of the session. Throws 401
 * for an invalid session, 400 without a well-formed tenant header, and 403 for another tenant or without
 * `api-schema:read`.
 */
export async function authenticateMember(
  ctx: Ctx,
  sessions: readonly string[],
  headers: IncomingHttpHeaders,
): Promise<Principal> {
  const { principal, refusal } = await callerFromSession(ctx, sessions, undefined);
  if (principal === undefined) throw refusal ?? unauthorized();
  assertTenant(principal, headers, 'session');
  if (!principal.permissions.has(readDrafts))
    throw new AppError('FORBIDDEN', `Missing required permission: ${readDrafts}`);
  return principal;
}

/** Equal for credentials that may read the same; part of entity tags. */
export function toScopeKey({ scopes: { permissions }, access: { layers, unmasked } }: FoundApiKey): string {
  const lists = [...layers.flatMap(({ versions, resources }) => [versions, resources]), permissions];
  const names = lists.every(({ length }) => length === 0)
    ? ''
    : JSON.stringify(lists.map((list) => [...new Set(list)].sort()));
  if (!unmasked && layers.every(({ rows, fields }) => rows === null && fields === null)) return names;
  return hash(
    'sha256',
    JSON.stringify([names, layers.map(({ rows, fields }) => [rows, fields]), unmasked]),
    'base64url',
  );
}

/**
 * A draft contains every resource and field, and what changed since another version. Throws 403 for a
 * restricted key, and for one without `api-schema:read`.
 */
export function assertMayReadDraft(key: FoundApiKey): void {
  if (key.access.layers.some(isRestricted))
    throw accessError('FORBIDDEN', 'draft', 'restricted_key', 'A restricted key cannot read drafts');
  if (!keyPermissions(key).has(readDrafts))
    throw new AppError('FORBIDDEN', `Missing required permission: ${readDrafts}`);
}
