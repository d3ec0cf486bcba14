// API keys: the secret is returned once, no key can do more than the caller who makes or widens it
// (ceiling.ts), a revoked key stays revoked.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, invalid } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import type { Permission } from '../../core/permissions.ts';
import { type AccessLayer, isRestricted } from '../../core/record-access.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant, instantOrNull } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import { generateApiKey } from '../../identity/api-key.ts';
import { type AuditEntry, writeAudit } from '../../identity/audit.store.ts';
import { keyPermissions } from '../../identity/principal.ts';
import { assertNotTransferredKey } from '../grant.ts';
import { assertQuota } from '../quotas.ts';
import { getterOf } from '../rows.ts';
import type { ApiKey, ApiKeyPatch, NewApiKey } from './api-keys.schemas.ts';
import * as store from './api-keys.store.ts';
import { assertWithinCeiling, coversReads, type KeyPower } from './ceiling.ts';
import { assertResolved, resolveScopes, scopesView } from './resolve-scopes.ts';
import { countRecentRequests } from './usage.ts';

/** What the key reads on the public interface. */
export const toLayer = (row: store.ApiKeyRow): AccessLayer => ({
  versions: row.scope_versions,
  resources: row.scope_resources,
  rows: row.scope_rows,
  fields: row.scope_fields,
});

const toApiKey = (row: store.ApiKeyRow, requestsLast7Days: number): ApiKey => ({
  id: row.id,
  name: row.name,
  prefix: row.prefix,
  status: row.status,
  scopes: { ...scopesView(toLayer(row)), permissions: row.scope_permissions, unmasked: row.scope_unmasked },
  expiresAt: instantOrNull(row.expires_at),
  graceEndsAt: row.status === 'revoked' ? null : instantOrNull(row.grace_ends_at),
  lastUsedAt: instantOrNull(row.last_used_at),
  requestsLast7Days,
  createdAt: instant(row.created_at),
  revokedAt: instantOrNull(row.revoked_at),
  secretEndsAt: instantOrNull(row.secret_ends_at),
  transferredFrom: row.transferred_from,
  createdBy: { id: row.user_id, email: row.user_email, name: row.user_name },
});

async function viewAll(tx: Tx, ctx: RequestCtx, rows: readonly store.ApiKeyRow[]): Promise<ApiKey[]> {
  const requests = await countRecentRequests(
    tx,
    ctx.organizationId,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => toApiKey(row, requests.get(row.id) ?? 0));
}

async function view(tx: Tx, ctx: RequestCtx, row: store.ApiKeyRow): Promise<ApiKey> {
  const requests = await countRecentRequests(tx, ctx.organizationId, [row.id]);
  return toApiKey(row, requests.get(row.id) ?? 0);
}

const getRow = getterOf(store.findApiKeyRow, 'API key');

/** Locks the caller's membership. Throws 403 when they were removed from the organization meanwhile. */
async function assertCallerIsMember(tx: Tx, ctx: RequestCtx): Promise<void> {
  if (await store.keepMembership(tx, ctx.organizationId, ctx.principal.user.id)) return;
  throw new AppError('FORBIDDEN', 'You no longer belong to the organization');
}

/**
 * Permissions on the management interface of this creator's key. Keys restricted in what they read have none,
 * and neither have those with the scope `none`.
 */
export function computeManagementPermissions(
  row: store.ApiKeyRow,
  ceiling = row.ceiling,
): ReadonlySet<Permission> {
  if (row.role_name === null || isRestricted(toLayer(row))) return new Set();
  const role = {
    id: '',
    name: row.role_name,
    builtIn: row.role_built_in ?? false,
    permissions: row.role_permissions ?? [],
  };
  return keyPermissions({
    role,
    scopes: { versions: [], resources: [], permissions: row.scope_permissions },
    ceiling,
  });
}

const toPower = (row: store.ApiKeyRow): KeyPower => ({
  reads: toLayer(row),
  unmasked: row.scope_unmasked,
  manages: computeManagementPermissions(row),
  expiresAt: row.expires_at,
});

/** How much the scopes allow on the management interface: 0 nothing, 1 reading, 2 also writing. */
function accessLevel({ scope_permissions: permissions }: store.ApiKeyRow): number {
  if (permissions.includes('none')) return 0;
  return permissions.includes('write') ? 2 : 1;
}

/**
 * Scopes apply to every secret of the key: they cannot be widened while a former holder's works, in its grace
 * period, or after a transfer until it ends, is replaced or kept. Throws 422 `grace_running`.
 */
function assertNotWidened(after: store.ApiKeyRow, before: store.ApiKeyRow): void {
  const { former_secret_until: until } = before;
  const gainsAccess = accessLevel(after) > accessLevel(before);
  const gainsUnmasked = after.scope_unmasked && !before.scope_unmasked;
  if (until === null || (!gainsAccess && !gainsUnmasked && coversReads(toLayer(before), toLayer(after))))
    return;
  const message = `Widen the scopes after ${instant(until)}, or rotate the key without a grace period first`;
  throw invalid('An old secret of the key is still valid', [
    { path: 'scopes', code: 'grace_running', message },
  ]);
}

function assertFutureExpiry(ctx: Pick<RequestCtx, 'clock'>, expiresAt: string | null | undefined): void {
  if (typeof expiresAt === 'string' && new Date(expiresAt) <= ctx.clock.now()) {
    throw invalid('The key would already be expired', [
      { path: 'expiresAt', code: 'in_the_past', message: 'must be in the future' },
    ]);
  }
}

/** The columns of scopes that a caller gives, and what is wrong with them. */
async function resolveKeyScopes(
  tx: Tx,
  organizationId: string,
  scopes: NewApiKey['scopes'],
  before?: AccessLayer,
) {
  const [resolved] = await resolveScopes(tx, organizationId, [{ scopes, path: 'scopes', before }]);
  if (resolved === undefined) throw new Error('the scopes were not resolved');
  const { layer, problems } = resolved;
  const columns = {
    scope_versions: layer.versions,
    scope_resources: layer.resources,
    scope_permissions: scopes.permissions,
    scope_rows: layer.rows,
    scope_fields: layer.fields,
    scope_unmasked: scopes.unmasked,
  };
  return { columns, problems };
}

function assertNotRevoked(row: store.ApiKeyRow): void {
  if (row.status === 'revoked')
    throw invalid('The key is revoked', [{ path: '', code: 'revoked', message: 'Create a new key instead' }]);
}

export const listApiKeys = (ctx: RequestCtx, page: PageQuery, filter: store.ApiKeyFilter) =>
  inTransaction(ctx, async (tx) => {
    const { rows, total } = await store.listApiKeyRows(tx, ctx.organizationId, page, filter);
    return toPage(await viewAll(tx, ctx, rows), total, page);
  });

/** Throws 404 for an unknown key. */
export const getApiKey = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => view(tx, ctx, await getRow(tx, ctx, id)));

type Issuer = Pick<RequestCtx, 'organizationId' | 'clock'> & { readonly userId: string };

/**
 * Creates a key that acts for this member; the caller must have locked the membership in `tx`. `admit`
 * refuses the new key or writes the audit entry, before a refusal says which versions and resources exist.
 * The secret is not stored. Throws 422 for a past expiry, and scopes that do not exist or are not scopable.
 */
export async function issueApiKey(
  tx: Tx,
  by: Issuer,
  input: NewApiKey,
  admit: (entry: AuditEntry, id: string) => Promise<void>,
): Promise<{ id: string; prefix: string; secret: string }> {
  assertFutureExpiry(by, input.expiresAt);
  const key = generateApiKey();
  const id = createId();
  const { columns, problems } = await resolveKeyScopes(tx, by.organizationId, input.scopes);
  await store.insertApiKey(tx, by.organizationId, {
    id,
    name: input.name,
    prefix: key.prefix,
    secret_hash: key.hash,
    ...columns,
    expires_at: input.expiresAt ?? null,
    created_by: by.userId,
  });
  const changes = {
    name: input.name,
    prefix: key.prefix,
    scopes: input.scopes,
    expiresAt: input.expiresAt ?? null,
  };
  await admit(['api-key.create', ['api-key', id], changes], id);
  assertResolved(problems);
  return { id, prefix: key.prefix, secret: key.secret };
}

/** Throws 403 `escalation` or `handed_over`, 422 for a past expiry, unfit scopes, or at the quota. */
export async function createApiKey(ctx: RequestCtx, input: NewApiKey) {
  assertNotTransferredKey(ctx);
  return inTransaction(ctx, async (tx) => {
    await assertCallerIsMember(tx, ctx);
    await assertQuota(tx, ctx, 'apiKeys');
    const by = { organizationId: ctx.organizationId, clock: ctx.clock, userId: ctx.principal.user.id };
    const { id, secret } = await issueApiKey(tx, by, input, async (entry, made) => {
      assertWithinCeiling(ctx, toPower(await getRow(tx, ctx, made)), undefined);
      await writeAudit(tx, ctx, ...entry);
    });
    return { ...(await view(tx, ctx, await getRow(tx, ctx, id))), secret };
  });
}

/** The scopes after a change, of which absent rows, fields and `unmasked` stay as they are. */
function withKept(given: NonNullable<ApiKeyPatch['scopes']>, row: store.ApiKeyRow): NewApiKey['scopes'] {
  const { rows, fields } = scopesView(toLayer(row));
  return {
    ...given,
    rows: given.rows === undefined ? rows : given.rows,
    fields: given.fields === undefined ? fields : given.fields,
    unmasked: given.unmasked ?? row.scope_unmasked,
  };
}

/** Throws 404, 403 `escalation`, `handed_over`, 422 `revoked`, `in_the_past`, `grace_running`, for scopes. */
export async function updateApiKey(ctx: RequestCtx, id: string, change: ApiKeyPatch) {
  if (change.scopes !== undefined || change.expiresAt !== undefined) assertNotTransferredKey(ctx);
  assertFutureExpiry(ctx, change.expiresAt);
  return inTransaction(ctx, async (tx) => {
    await store.lockApiKey(tx, ctx.organizationId, id);
    const row = await getRow(tx, ctx, id);
    assertNotRevoked(row);
    const scopes =
      change.scopes &&
      (await resolveKeyScopes(tx, ctx.organizationId, withKept(change.scopes, row), toLayer(row)));
    const columns = {
      ...(change.name !== undefined && { name: change.name }),
      ...(change.expiresAt !== undefined && { expires_at: change.expiresAt }),
      ...scopes?.columns,
    };
    if (Object.keys(columns).length > 0) await store.updateApiKeyRow(tx, ctx.organizationId, id, columns);
    const changed = await getRow(tx, ctx, id);
    assertNotWidened(changed, row);
    // What has expired could do nothing; extending it grants everything again.
    assertWithinCeiling(
      ctx,
      toPower(changed),
      row.status === 'active' || changed.status !== 'active' ? toPower(row) : undefined,
    );
    assertResolved(scopes?.problems ?? []);
    await writeAudit(tx, ctx, 'api-key.update', ['api-key', id], change);
    return view(tx, ctx, changed);
  });
}

/** The row stays for the history; the secret stops working everywhere within a second. Throws 404. */
export const revokeApiKey = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = await getRow(tx, ctx, id);
    if (row.status === 'revoked') return;
    await store.markApiKeyRevoked(tx, ctx.organizationId, id);
    await writeAudit(tx, ctx, 'api-key.revoke', ['api-key', id], { name: row.name, prefix: row.prefix });
  });

/** The locked row. Throws 404, 403 for a former member or `handed_over`, 422 for a revoked or expired key. */
async function lockUsableKey(tx: Tx, ctx: RequestCtx, id: string): Promise<store.ApiKeyRow> {
  assertNotTransferredKey(ctx);
  await assertCallerIsMember(tx, ctx);
  await store.lockApiKey(tx, ctx.organizationId, id);
  const row = await getRow(tx, ctx, id);
  assertNotRevoked(row);
  if (row.has_expired)
    throw invalid('The key has expired', [
      { path: '', code: 'expired', message: 'Set a later expiresAt first' },
    ]);
  return row;
}

/**
 * The caller gets the new secret, so the key acts for them from then on. Throws 404, 403 `escalation` or
 * `handed_over`, 422 for a revoked or expired key.
 */
export const rotateApiKey = (ctx: RequestCtx, id: string, gracePeriodSeconds: number) =>
  inTransaction(ctx, async (tx) => {
    const row = await lockUsableKey(tx, ctx, id);
    const key = generateApiKey();
    await store.replaceSecret(
      tx,
      ctx.organizationId,
      id,
      { ...key, createdBy: ctx.principal.user.id },
      gracePeriodSeconds,
    );
    await writeAudit(tx, ctx, 'api-key.rotate', ['api-key', id], {
      prefix: { from: row.prefix, to: key.prefix },
      gracePeriodSeconds,
    });
    const rotated = await getRow(tx, ctx, id);
    assertWithinCeiling(ctx, toPower(rotated), undefined);
    return { ...(await view(tx, ctx, rotated)), secret: key.secret };
  });

/**
 * The secret of a transferred key goes on working, although the former member may know it. The key keeps its
 * ceiling. Throws 404, 403 `escalation` or `handed_over`, 422 for a revoked or expired key, and when the
 * secret has no end or has ended.
 */
export const keepApiKeySecret = (ctx: RequestCtx, id: string) =>
  inTransaction(ctx, async (tx) => {
    const row = await lockUsableKey(tx, ctx, id);
    const refuse = (code: string, message: string) =>
      invalid('There is no secret to keep', [{ path: '', code, message }]);
    if (row.secret_ends_at === null) throw refuse('no_end', 'The secret has no end');
    if (row.status === 'expired')
      throw refuse('secret_ended', 'The secret has ended. Rotate the key to get a new one.');
    await store.removeSecretEnd(tx, ctx.organizationId, id);
    const kept = await getRow(tx, ctx, id);
    assertWithinCeiling(ctx, toPower(kept), undefined);
    await writeAudit(tx, ctx, 'api-key.keep-secret', ['api-key', id], {
      prefix: row.prefix,
      secretEndsAt: { from: instant(row.secret_ends_at), to: null },
    });
    return view(tx, ctx, kept);
  });
