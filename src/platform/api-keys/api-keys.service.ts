// Rules of API keys: the secret leaves once, nobody grants an access level above their own, a revoked key stays revoked.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, invalid, notFound } from '../../core/errors.ts';
import { newId } from '../../core/id.ts';
import { isReadPermission, type Permission } from '../../core/permissions.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { makeApiKey } from '../../identity/api-key.ts';
import { type AuditEntry, writeAudit } from '../../identity/audit.store.ts';
import { keyPermissions } from '../../identity/principal.ts';
import { refuseHandedOver } from '../grant.ts';
import { makeRoom } from '../room.ts';
import type { ApiKeyChanges, ApiKeyInput, ApiKeyView } from './api-keys.schemas.ts';
import {
  type ApiKeyFilter,
  type ApiKeyRow,
  findApiKeyRow,
  holdApiKey,
  holdMember,
  insertApiKey,
  listApiKeys,
  replaceSecret,
  revokeApiKey,
  unknownVersions,
  updateApiKey,
} from './api-keys.store.ts';

const view = (row: ApiKeyRow): ApiKeyView => ({
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

type Power = Pick<ApiKeyRow, 'scope_versions' | 'scope_resources' | 'scope_permissions'>;

const escalation = (): AppError =>
  new AppError('FORBIDDEN', 'You cannot grant what you do not hold', {
    details: [{ path: 'scopes', code: 'escalation', message: 'The key would be able to do more than you may' }],
  });

/** A caller who only reads can't make a key that writes. */
function checkGrant(ctx: RequestCtx, permissions: readonly string[]): void {
  if (permissions.includes('write') && [...ctx.principal.permissions].every(isReadPermission)) throw escalation();
}

/** Throws when the caller was removed from the organization meanwhile. */
async function holdCaller(tx: Tx, ctx: RequestCtx): Promise<void> {
  if (await holdMember(tx, ctx.organizationId, ctx.principal.user.id)) return;
  throw new AppError('FORBIDDEN', 'You no longer belong to the organization');
}

const restricted = (scopes: Power): boolean => scopes.scope_versions.length > 0 || scopes.scope_resources.length > 0;

/** What a key of this creator could do on the management interface with such scopes. */
export function powerOf(row: ApiKeyRow, scopes: Power, ceiling = row.ceiling): ReadonlySet<Permission> {
  if (row.role_name === null || restricted(scopes)) return new Set();
  const role = { id: '', name: row.role_name, builtIn: row.role_built_in ?? false, permissions: row.role_permissions ?? [] };
  return keyPermissions({ role, scopes: { versions: [], resources: [], permissions: scopes.scope_permissions }, ceiling });
}

const isWider = (after: Power, before: Power): boolean =>
  (after.scope_permissions.includes('write') && !before.scope_permissions.includes('write')) || (restricted(before) && !restricted(after));

/**
 * Somebody else's key may become weaker, but never able to do what neither it nor the caller could; nor may it live longer. Scopes
 * count for every secret of the key, so they can't be widened while an old secret acts for whoever had the key before.
 */
function checkWidening(ctx: RequestCtx, row: ApiKeyRow, after: Power & Pick<ApiKeyRow, 'expires_at'>): void {
  if (row.grace_until !== null && isWider(after, row))
    throw invalid('An old secret of the key still works', [
      {
        path: 'scopes',
        code: 'grace_running',
        message: `Widen it after ${instant(row.grace_until)}, or end the grace by another rotation`,
      },
    ]);
  const livesLonger = row.expires_at !== null && (after.expires_at === null || after.expires_at > row.expires_at);
  const before = row.status === 'active' && !livesLonger ? powerOf(row, row) : new Set();
  const gained = [...powerOf(row, after)].filter((permission) => !before.has(permission));
  if (gained.some((permission) => !ctx.principal.permissions.has(permission))) throw escalation();
}

function checkExpiry(ctx: Pick<RequestCtx, 'clock'>, expiresAt: string | null | undefined): void {
  if (typeof expiresAt === 'string' && new Date(expiresAt) <= ctx.clock.now()) {
    throw invalid('The key would already be expired', [{ path: 'expiresAt', code: 'in_the_past', message: 'must be in the future' }]);
  }
}

/** A key for a version that isn't there would read nothing, and later whatever gets that label. Drafts have theirs already. */
async function checkVersions(tx: Tx, ctx: Pick<RequestCtx, 'organizationId'>, labels: readonly string[]): Promise<void> {
  const unknown = await unknownVersions(tx, ctx.organizationId, labels);
  if (unknown.length === 0) return;
  const problems = unknown.map((label) => ({
    path: 'scopes.versions',
    code: 'unknown_version',
    message: `There is no version ${label}; GET /api-schema lists all`,
  }));
  throw invalid('The key names versions that do not exist', problems);
}

function checkAlive(row: ApiKeyRow): void {
  if (row.status === 'revoked')
    throw invalid('A revoked key stays revoked', [{ path: '', code: 'revoked', message: 'Create a new key instead' }]);
}

export const listKeys = (ctx: RequestCtx, page: PageQuery, filter: ApiKeyFilter) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await listApiKeys(tx, ctx.organizationId, page, filter);
    return toPage(rows.map(view), total, page);
  });

export const getKey = (ctx: RequestCtx, id: string) => inTransaction(ctx, async (tx) => view(await getRow(tx, ctx, id)));

type Issuer = Pick<RequestCtx, 'organizationId' | 'clock'> & { readonly userId: string };

/** Makes a key that acts for this member, whom the transaction must hold. `audit` writes the row of it. The secret leaves here once. */
export async function issueApiKey(
  tx: Tx,
  by: Issuer,
  input: ApiKeyInput,
  audit: (entry: AuditEntry) => Promise<void>,
): Promise<{ id: string; prefix: string; secret: string }> {
  checkExpiry(by, input.expiresAt);
  await checkVersions(tx, by, input.scopes.versions);
  const key = makeApiKey();
  const id = newId();
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

export async function createKey(ctx: RequestCtx, input: ApiKeyInput) {
  refuseHandedOver(ctx);
  checkGrant(ctx, input.scopes.permissions);
  return inTransaction(ctx, async (tx) => {
    await holdCaller(tx, ctx);
    await makeRoom(tx, ctx, 'apiKeys');
    const by = { organizationId: ctx.organizationId, clock: ctx.clock, userId: ctx.principal.user.id };
    const { id, secret } = await issueApiKey(tx, by, input, (entry) => writeAudit(tx, ctx, entry));
    return { ...view(await getRow(tx, ctx, id)), secret };
  });
}

export async function changeKey(ctx: RequestCtx, id: string, change: ApiKeyChanges) {
  if (change.scopes !== undefined || change.expiresAt !== undefined) refuseHandedOver(ctx);
  checkGrant(ctx, change.scopes?.permissions ?? []);
  checkExpiry(ctx, change.expiresAt);
  return inTransaction(ctx, async (tx) => {
    await holdApiKey(tx, ctx.organizationId, id);
    const row = await getRow(tx, ctx, id);
    checkAlive(row);
    const added = (change.scopes?.versions ?? []).filter((label) => !row.scope_versions.includes(label));
    await checkVersions(tx, ctx, added);
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
    checkWidening(ctx, row, { ...row, ...columns, expires_at: change.expiresAt === undefined ? row.expires_at : expiresAt });
    if (Object.keys(columns).length > 0) await updateApiKey(tx, ctx.organizationId, id, columns);
    await writeAudit(tx, ctx, { action: 'api-key.update', target: { type: 'api-key', id }, changes: change });
    return view(await getRow(tx, ctx, id));
  });
}

/** The row stays, so that its history can be read; the secret is dead everywhere within a second. */
export const revokeKey = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = await getRow(tx, ctx, id);
    if (row.status === 'revoked') return;
    await revokeApiKey(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, {
      action: 'api-key.revoke',
      target: { type: 'api-key', id },
      changes: { name: row.name, prefix: row.prefix },
    });
  });

/** Whoever rotates holds the new secret, so the key acts for that person from now on. */
export const rotateKey = (ctx: RequestCtx, id: string, gracePeriodSeconds: number) =>
  inTransaction(ctx, async (tx) => {
    refuseHandedOver(ctx);
    await holdCaller(tx, ctx);
    await holdApiKey(tx, ctx.organizationId, id);
    const row = await getRow(tx, ctx, id);
    checkAlive(row);
    if (row.status === 'expired')
      throw invalid('The key has expired', [{ path: '', code: 'expired', message: 'Give it a later expiresAt first' }]);
    checkGrant(ctx, row.scope_permissions);
    const key = makeApiKey();
    await replaceSecret(tx, ctx.organizationId, id, { ...key, createdBy: ctx.principal.user.id }, gracePeriodSeconds);
    await writeAudit(tx, ctx, {
      action: 'api-key.rotate',
      target: { type: 'api-key', id },
      changes: { prefix: { from: row.prefix, to: key.prefix }, gracePeriodSeconds },
    });
    return { ...view(await getRow(tx, ctx, id)), secret: key.secret };
  });
