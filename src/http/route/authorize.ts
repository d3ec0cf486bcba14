// Decides whether a caller may call a route. The same for every way of calling it.
import type { CallerCtx, RequestCtx } from '../../core/ctx.ts';
import { AppError, type ErrorDetail, notFound } from '../../core/errors.ts';
import { isReadPermission, type Permission, signUpPermission } from '../../core/permissions.ts';
import { chooseWarehouse } from '../../db/former-warehouse.ts';
import { unauthorized } from '../../identity/principal.ts';
import type { Route } from './route.ts';

export const missingPermission = (permission: Permission, details: readonly ErrorDetail[] = []): AppError =>
  new AppError('FORBIDDEN', `Missing required permission: ${permission}`, { details });

/** Throws 403 `record_read_needed` for a caller who may not read records. */
export function assertReadsRecords({ principal }: Pick<RequestCtx, 'principal'>): void {
  if (principal.permissions.has('record:read')) return;
  throw missingPermission('record:read', [
    {
      path: '',
      code: 'record_read_needed',
      message: 'Reading synced records needs this permission in addition to that of the operation',
    },
  ]);
}

/** What to do for a caller whose credential can only read. */
function adviceFor({ caller: { readOnly, credential } }: CallerCtx, isWrite: boolean): ErrorDetail[] {
  if (!readOnly || !isWrite) return [];
  const message =
    credential.kind === 'api-key'
      ? 'This key can only read. Create one that can write: POST /api-keys with {"name": "…", "scopes": {"permissions": ["write"]}}'
      : 'This token can only read: its scope is portal:read. Use a token with write access';
  return [{ path: '', code: 'read_only', message }];
}
/** Messages of 403 responses, which the OpenAPI document quotes as examples. */
export const forbiddenText = {
  noOrganization: 'You belong to no organization',
  restrictedKey:
    'A key for the public interface may only call GET /whoami and mint and revoke its own tokens on the management interface',
  readOnly: 'This credential can only read',
  apiKey: 'Only a signed-in person may call this operation, not an API key',
} as const;
const forbidden = (message: string, code: string, reason: string): AppError =>
  new AppError('FORBIDDEN', message, { details: [{ path: '', code, message: reason }] });

/** Throws 403 for a key that is for the public interface: one restricted in what it reads, or made so. */
function assertUnrestrictedKey({ caller }: CallerCtx): void {
  if (caller.principal?.isRestrictedKey !== true) return;
  throw forbidden(
    forbiddenText.restrictedKey,
    'restricted_key',
    'Its scopes name versions, resources, rows or fields, or the permission none. Use a key without these',
  );
}

const isOwnKey = ({ caller: { credential } }: CallerCtx, params: unknown): boolean =>
  credential.kind === 'api-key' &&
  typeof params === 'object' &&
  params !== null &&
  'id' in params &&
  params.id === credential.id;

function authorizePerson(route: Route, ctx: CallerCtx): void {
  assertUnrestrictedKey(ctx);
  const { credential, readOnly } = ctx.caller;
  if (route.permission === signUpPermission) {
    if (credential.kind === 'api-key' || readOnly || !ctx.settings.allowSignup)
      throw missingPermission(signUpPermission);
  } else if (route.permission === 'signed-in') {
    if (credential.kind === 'api-key')
      throw forbidden(
        forbiddenText.apiKey,
        'sign_in_needed',
        'Use an access token or a session instead of an API key',
      );
    if (readOnly && route.method !== 'GET')
      throw forbidden(
        'This token is read-only',
        'read_only',
        'Its scope is portal:read; use a token with write access',
      );
  }
}

/**
 * Throws 403 when the caller may not call the route, or the reason why no organization could be chosen for
 * the caller. `params`: the path parameters as given, for routes that an API key may call for itself.
 */
export function authorize(route: Route, ctx: CallerCtx, params?: unknown): void {
  if (ctx.caller.credential.tokenSubject !== undefined) throw unauthorized();
  if (route.permission === 'any') return;
  if (route.access === 'person') {
    authorizePerson(route, ctx);
    return;
  }
  const { principal, refusal, writeRefusal } = ctx.caller;
  if (refusal !== undefined) throw refusal;
  if (writeRefusal !== undefined && route.method !== 'GET') throw writeRefusal;
  if (route.openToOwnKey === true && isOwnKey(ctx, params)) return;
  assertUnrestrictedKey(ctx);
  if (route.permission === 'authenticated') return;
  const permission = route.permission as Permission;
  const suffices = principal?.permissions.has(permission) === true || hasOther(route, ctx, params);
  if (principal === undefined || !suffices)
    throw missingPermission(permission, adviceFor(ctx, !isReadPermission(permission)));
  if (route.writes === true && ctx.caller.readOnly)
    throw new AppError('FORBIDDEN', forbiddenText.readOnly, { details: adviceFor(ctx, true) });
  if (route.readsRecords === true) assertReadsRecords({ principal });
}

/** Whether the caller has the other permission that suffices for these path parameters. */
function hasOther({ orPermission }: Route, { caller: { principal } }: CallerCtx, params: unknown): boolean {
  if (orPermission === undefined || principal === undefined) return false;
  const given = (params ?? {}) as Readonly<Record<string, unknown>>;
  const isFor = Object.entries(orPermission.for ?? {}).every(([name, value]) => given[name] === value);
  return isFor && principal.permissions.has(orPermission.permission);
}

/**
 * The ctx of an operation on the caller's organization. Throws 403 when the caller belongs to none, and 404
 * when the operation is about the organization with the id `named` and that is another one.
 */
export function toOrganizationCtx(ctx: CallerCtx, named: unknown): RequestCtx {
  const { principal, refusal } = ctx.caller;
  if (principal === undefined || refusal !== undefined)
    throw refusal ?? new AppError('FORBIDDEN', forbiddenText.noOrganization);
  const organizationId = principal.organization.id;
  if (named !== undefined && named !== organizationId) throw notFound('Organization');
  return { ...ctx, principal, organizationId, db: chooseWarehouse(ctx.db, organizationId) };
}
