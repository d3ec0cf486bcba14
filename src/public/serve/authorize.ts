// Decides who calls, and for which organization. The order of the checks is part of the interface: key, tenant header, tenant, scopes
// (scopes.ts), and only then whether the target exists. The tenant header is an assertion that must agree with the key; it never selects data by itself.
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { createCache } from '../../core/cache.ts';
import type { Ctx, Principal } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import type { HitCounter } from '../../core/hit-counter.ts';
import { isId } from '../../core/id.ts';
import type { Permission } from '../../core/permissions.ts';
import { type FoundApiKey, findApiKey, recordApiKeyUse } from '../../identity/api-key.store.ts';
import { hasApiKeyFormat } from '../../identity/api-key.ts';
import { callerFromSession, keyPermissions, unauthorized } from '../../identity/principal.ts';
import { type RunLookup, unauthenticated } from '../load/admission.ts';
import type { OutageTrust } from '../version/outage-trust.ts';
import { accessError } from '../version/scopes.ts';

/** Finds the valid API key of a request, synchronously on a fresh cache hit. Throws 401, or rejects with it. */
export type Authenticate = (headers: IncomingHttpHeaders) => FoundApiKey | Promise<FoundApiKey>;

/** Called once per cache load, however many requests wait for it. */
async function findAndRecordUse(ctx: Pick<Ctx, 'db' | 'log'>, secret: string): Promise<FoundApiKey | undefined> {
  const key = await findApiKey(ctx, secret);
  if (key !== undefined) recordApiKeyUse(ctx, key);
  return key;
}

/**
 * The returned function throws 401, or rejects with it, for a missing, malformed, unknown, expired or revoked key, and rejects with 503
 * when too many lookups wait.
 */
export function createAuthenticator(
  ctx: Pick<Ctx, 'db' | 'log' | 'clock' | 'settings'>,
  runLookup: RunLookup,
  outageTrust: OutageTrust,
  counter?: HitCounter,
): Authenticate {
  const { lookups: maxBytes } = ctx.settings.cacheBytes;
  const keys = createCache<FoundApiKey | undefined>({ maxBytes, ttl: { clock: ctx.clock, ms: outageTrust.freshMs }, counter });
  const loadKey = async (secret: string, hashed: string): Promise<FoundApiKey> => {
    // Recently known callers must not queue behind lookups of unknown keys.
    const owner = keys.findAny(hashed)?.organization.id ?? unauthenticated;
    const lookup = async (): Promise<FoundApiKey> => {
      const key = await keys.load(hashed, () => runLookup(owner, () => findAndRecordUse(ctx, secret)));
      if (key === undefined) throw unauthorized();
      return key;
    };
    const key = await outageTrust.lookUp(lookup, () => keys.findFresh(hashed));
    outageTrust.assertNotExpired(key);
    return key;
  };
  return (headers) => {
    const secret = bearer.exec(headers.authorization ?? '')?.[1];
    if (secret === undefined || !hasApiKeyFormat(secret)) throw unauthorized();
    const hashed = hash('sha256', secret, 'base64');
    const known = keys.findFresh(hashed);
    if (known === undefined) return loadKey(secret, hashed);
    outageTrust.assertNotExpired(known);
    return known;
  };
}

const readDrafts: Permission = 'api-schema:read';
const bearer = /^Bearer ([0-9A-Za-z_]{1,100})$/i;

/** Throws 400 when `x-tenant-id` is missing or malformed, and 403 when it names another organization than the credential's. */
export function assertTenant(
  holder: { readonly organization: { readonly id: string } },
  headers: IncomingHttpHeaders,
  credential: 'key' | 'session' = 'key',
): void {
  const tenant = headers['x-tenant-id'];
  if (tenant === undefined || tenant === '')
    throw accessError('BAD_REQUEST', 'x-tenant-id', 'tenant_missing', 'The x-tenant-id header is missing');
  if (typeof tenant !== 'string' || !isId(tenant.toLowerCase())) {
    throw accessError('BAD_REQUEST', 'x-tenant-id', 'tenant_malformed', 'The x-tenant-id header must be one organization id');
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
 * Authenticates a session that may read descriptions: a member who may also read schema versions in the management interface. As with a
 * key, the tenant header asserts the organization of the session. Throws 401 for an invalid session, 400 without a well-formed tenant
 * header, and 403 for another tenant or without `api-schema:read`.
 */
export async function authenticateMember(ctx: Ctx, sessions: readonly string[], headers: IncomingHttpHeaders): Promise<Principal> {
  const { principal, refusal } = await callerFromSession(ctx, sessions, undefined);
  if (principal === undefined) throw refusal ?? unauthorized();
  assertTenant(principal, headers, 'session');
  if (!principal.permissions.has(readDrafts)) throw new AppError('FORBIDDEN', `Missing required permission: ${readDrafts}`);
  return principal;
}

/** Equal for keys that may read the same; part of entity tags. */
export const scopeKeyOf = ({ scopes: { versions, resources, permissions } }: FoundApiKey): string =>
  versions.length + resources.length + permissions.length === 0
    ? ''
    : JSON.stringify([versions, resources, permissions].map((names) => [...new Set(names)].sort()));

/**
 * A draft contains every resource, so a key restricted to some resources may not read it. Throws 403 for such a key, and for one without
 * `api-schema:read`.
 */
export function assertMayReadDraft(key: FoundApiKey): void {
  if (key.scopes.resources.length > 0) {
    throw accessError('FORBIDDEN', 'draft', 'restricted_key', 'A key restricted to certain resources cannot read drafts');
  }
  if (!keyPermissions(key).has(readDrafts)) throw new AppError('FORBIDDEN', `Missing required permission: ${readDrafts}`);
}
