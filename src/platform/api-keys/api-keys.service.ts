// API keys: the secret is returned once, callers cannot create keys with more access than they have, a revoked key stays revoked.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, invalid, notFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import { isReadPermission, type Permission } from '../../core/permissions.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { generateApiKey } from '../../identity/api-key.ts';
import { type AuditEntry, writeAudit } from '../../identity/audit.store.ts';
import { keyPermissions } from '../../identity/principal.ts';
import { assertNotTransferredKey } from '../grant.ts';
import { assertQuota } from '../quotas.ts';
import type { ApiKey, ApiKeyPatch, NewApiKey } from './api-keys.schemas.ts';
import {
  type ApiKeyFilter,
  type ApiKeyRow,
  findApiKeyRow,
  findUnknownVersions,
  insertApiKey,
  keepMembership,
  listApiKeyRows,
  lockApiKey,
  markApiKeyRevoked,
  replaceSecret,
  updateApiKeyRow,
} from './api-keys.store.ts';

const view = (row: ApiKeyRow): ApiKey => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  status: row.status,
  scopes: { versions: row.scope_versions, resources: row.scope_resources, permissions: row.scope_permissions },
  expiresAt: instantOrNull(row.expires_at),
  lastUsedAt: instantOrNull(row.last_used_at),
  createdAt: instant(row.created_at),
  revokedAt: instantOrNull(row.revoked_at),
  createdBy: { id: row.user_id, email: row.user_email, name: row.user_name },
});

async function getRow(tx: Tx, ctx: RequestCtx, id: string): Promise<ApiKeyRow> {
  const row = await findApiKeyRow(tx, ctx.organizationId, id);
  if (row === undefined) throw notFound('API key');
  return row;
}

type ScopeColumns = Pick<ApiKeyRow, 'scope_versions' | 'scope_resources' | 'scope_permissions'>;

const escalation = (): AppError =>
  new AppError('FORBIDDEN', 'You cannot grant what you do not hold', {
    details: [{ path: 'scopes', code: 'escalation', message: 'The key would have permissions that you do not have' }],
  });

/** Throws 403 `escalation` when a caller without any write permission creates a key that writes. */
function assertCanGrantScopes(ctx: RequestCtx, permissions: readonly string[]): void {
  if (permissions.includes('write') && [...ctx.principal.permissions].every(isReadPermission)) throw escalation();
}

/** Locks the caller's membership. Throws 403 when they were removed from the organization meanwhile. */
async function assertCallerIsMember(tx: Tx, ctx: RequestCtx): Promise<void> {
  if (await keepMembership(tx, ctx.organizationId, ctx.principal.user.id)) return;
  throw new AppError('FORBIDDEN', 'You no longer belong to the organization');
}

const isRestricted = (scopes: ScopeColumns): boolean => scopes.scope_versions.length > 0 || scopes.scope_resources.length > 0;

/** Permissions on the management interface of this creator's key with these scopes. Keys restricted to versions or resources have none. */
export function managementPermissionsOf(row: ApiKeyRow, scopes: ScopeColumns, ceiling = row.ceiling): ReadonlySet<Permission> {
  if (row.role_name === null || isRestricted(scopes)) return new Set();
  const role = { id: '', name: row.role_name, builtIn: row.role_built_in ?? false, permissions: row.role_permissions ?? [] };
  return keyPermissions({ role, scopes: { versions: [], resources: [], permissions: scopes.scope_permissions }, ceiling });
}

const isWider = (after: ScopeColumns, before: ScopeColumns): boolean =>
  (after.scope_permissions.includes('write') && !before.scope_permissions.includes('write')) ||
  (isRestricted(before) && !isRestricted(after));

/**
 * An update of another member's key may reduce its permissions, but must not add any that the caller lacks; extending its lifetime
 * counts as granting all of them again. Scopes apply to every secret of the key, so they cannot be widened while an old secret still
 * acts for the former holder. Throws 422 `grace_running`, 403 `escalation`.
 */
function assertNoEscalation(ctx: RequestCtx, row: ApiKeyRow, after: ScopeColumns & Pick<ApiKeyRow, 'expires_at'>): void {
  if (row.grace_until !== null && isWider(after, row))
    throw invalid('An old secret of the key is still valid', [
      {
        path: 'scopes',
        code: 'grace_running',
        message: `Widen the scopes after ${instant(row.grace_until)}, or end the grace period by rotating the key again`,
      },
    ]);
  const livesLonger = row.expires_at !== null && (after.expires_at === null || after.expires_at > row.expires_at);
  const before = row.status === 'active' && !livesLonger ? managementPermissionsOf(row, row) : new Set();
  const gained = [...managementPermissionsOf(row, after)].filter((permission) => !before.has(permission));
  if (gained.some((permission) => !ctx.principal.permissions.has(permission))) throw escalation();
}

function assertFutureExpiry(ctx: Pick<RequestCtx, 'clock'>, expiresAt: string | null | undefined): void {
  if (typeof expiresAt === 'string' && new Date(expiresAt) <= ctx.clock.now()) {
    throw invalid('The key would already be expired', [{ path: 'expiresAt', code: 'in_the_past', message: 'must be in the future' }]);
  }
}

/** Throws 422 for labels without a version: such a key would later read whichever version gets that label. Drafts already have labels. */
async function assertVersionsExist(tx: Tx, ctx: Pick<RequestCtx, 'organizationId'>, labels: readonly string[]): Promise<void> {
  const unknown = await findUnknownVersions(tx, ctx.organizationId, labels);
  if (unknown.length === 0) return;
  const problems = unknown.map((label) => ({
    path: 'scopes.versions',
    code: 'unknown_version',
    message: `There is no version ${label}. GET /api-schema lists all versions.`,
  }));
  throw invalid('The key names versions that do not exist', problems);
}

function assertNotRevoked(row: ApiKeyRow): void {
  if (row.status === 'revoked') throw invalid('The key is revoked', [{ path: '', code: 'revoked', message: 'Create a new key instead' }]);
}

export const listApiKeys = (ctx: RequestCtx, page: PageQuery, filter: ApiKeyFilter) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await listApiKeyRows(tx, ctx.organizationId, page, filter);
    return toPage(rows.map(view), total, page);
  });

/** Throws 404 for an unknown key. */
export const getApiKey = (ctx: RequestCtx, id: string) => inTransaction(ctx, async (tx) => view(await getRow(tx, ctx, id)));

type Issuer = Pick<RequestCtx, 'organizationId' | 'clock'> & { readonly userId: string };

/**
 * Creates a key that acts for this member; the caller must have locked the membership in `tx`. `audit` writes the audit entry. The
 * returned secret is not stored. Throws 422 for a past expiry or unknown versions.
 */
export async function issueApiKey(
  tx: Tx,
  by: Issuer,
  input: NewApiKey,
  audit: (entry: AuditEntry) => Promise<void>,
): Promise<{ id: string; prefix: string; secret: string }> {
  assertFutureExpiry(by, input.expiresAt);
  await assertVersionsExist(tx, by, input.scopes.versions);
  const key = generateApiKey();
  const id = createId();
  await insertApiKey(tx, by.organizationId, {
    id,
    name: input.name,
    prefix: key.prefix,
    secret_hash: key.hash,
    scope_versions: input.scopes.versions,
    scope_resources: input.scopes.resources,
    scope_permissions: input.scopes.permissions,
    expires_at: input.expiresAt ?? null,
    created_by: by.userId,
  });
  await audit({
    action: 'api-key.create',
    target: { type: 'api-key', id },
    changes: { name: input.name, prefix: key.prefix, scopes: input.scopes, expiresAt: input.expiresAt ?? null },
  });
  return { id, prefix: key.prefix, secret: key.secret };
}

/** Throws 403 `escalation` or `handed_over`, 422 for a past expiry, unknown versions, or at the quota. */
export async function createApiKey(ctx: RequestCtx, input: NewApiKey) {
  assertNotTransferredKey(ctx);
  assertCanGrantScopes(ctx, input.scopes.permissions);
  return inTransaction(ctx, async (tx) => {
    await assertCallerIsMember(tx, ctx);
    await assertQuota(tx, ctx, 'apiKeys');
    const by = { organizationId: ctx.organizationId, clock: ctx.clock, userId: ctx.principal.user.id };
    const { id, secret } = await issueApiKey(tx, by, input, (entry) => writeAudit(tx, ctx, entry));
    return { ...view(await getRow(tx, ctx, id)), secret };
  });
}

/** Throws 404, 403 `escalation` or `handed_over`, 422 for a revoked key, a past expiry, unknown versions, or a running grace period. */
export async function updateApiKey(ctx: RequestCtx, id: string, change: ApiKeyPatch) {
  if (change.scopes !== undefined || change.expiresAt !== undefined) assertNotTransferredKey(ctx);
  assertCanGrantScopes(ctx, change.scopes?.permissions ?? []);
  assertFutureExpiry(ctx, change.expiresAt);
  return inTransaction(ctx, async (tx) => {
    await lockApiKey(tx, ctx.organizationId, id);
    const row = await getRow(tx, ctx, id);
    assertNotRevoked(row);
    const added = (change.scopes?.versions ?? []).filter((label) => !row.scope_versions.includes(label));
    await assertVersionsExist(tx, ctx, added);
    const columns = {
      ...(change.name !== undefined && { name: change.name }),
      ...(change.expiresAt !== undefined && { expires_at: change.expiresAt }),
      ...(change.scopes !== undefined && {
        scope_versions: change.scopes.versions,
        scope_resources: change.scopes.resources,
        scope_permissions: change.scopes.permissions,
      }),
    };
    const expiresAt = typeof change.expiresAt === 'string' ? new Date(change.expiresAt) : null;
    assertNoEscalation(ctx, row, { ...row, ...columns, expires_at: change.expiresAt === undefined ? row.expires_at : expiresAt });
    if (Object.keys(columns).length > 0) await updateApiKeyRow(tx, ctx.organizationId, id, columns);
    await writeAudit(tx, ctx, { action: 'api-key.update', target: { type: 'api-key', id }, changes: change });
    return view(await getRow(tx, ctx, id));
  });
}

/** The row stays for the history. The secret stops working everywhere within a second. Throws 404 for an unknown key. */
export const revokeApiKey = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = await getRow(tx, ctx, id);
    if (row.status === 'revoked') return;
    await markApiKeyRevoked(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, {
      action: 'api-key.revoke',
      target: { type: 'api-key', id },
      changes: { name: row.name, prefix: row.prefix },
    });
  });

/**
 * The caller gets the new secret, so the key acts for them from then on. Throws 404, 403 `escalation` or `handed_over`, 422 for a
 * revoked or expired key.
 */
export const rotateApiKey = (ctx: RequestCtx, id: string, gracePeriodSeconds: number) =>
  inTransaction(ctx, async (tx) => {
    assertNotTransferredKey(ctx);
    await assertCallerIsMember(tx, ctx);
    await lockApiKey(tx, ctx.organizationId, id);
    const row = await getRow(tx, ctx, id);
    assertNotRevoked(row);
    if (row.status === 'expired')
      throw invalid('The key has expired', [{ path: '', code: 'expired', message: 'Set a later expiresAt first' }]);
    assertCanGrantScopes(ctx, row.scope_permissions);
    const key = generateApiKey();
    await replaceSecret(tx, ctx.organizationId, id, { ...key, createdBy: ctx.principal.user.id }, gracePeriodSeconds);
    await writeAudit(tx, ctx, {
      action: 'api-key.rotate',
      target: { type: 'api-key', id },
      changes: { prefix: { from: row.prefix, to: key.prefix }, gracePeriodSeconds },
    });
    return { ...view(await getRow(tx, ctx, id)), secret: key.secret };
  });
