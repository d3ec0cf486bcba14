// Decides whether a caller may call a route. The same for every way of calling it.
import type { CallerCtx, RequestCtx } from '../../core/ctx.ts';
import { AppError, notFound } from '../../core/errors.ts';
import { type Permission, signUpPermission } from '../../core/permissions.ts';
import type { Route } from './route.ts';

export const missingPermission = (permission: Permission): AppError =>
  new AppError('FORBIDDEN', `Missing required permission: ${permission}`);
/** Messages of 403 responses, which the OpenAPI document quotes as examples. */
export const forbiddenText = {
  noOrganization: 'You belong to no organization',
  restrictedKey: 'A key restricted to versions or resources may only call GET /whoami on the management interface',
  apiKey: 'Only a signed-in person may call this operation, not an API key',
} as const;
const forbidden = (message: string, code: string, reason: string): AppError =>
  new AppError('FORBIDDEN', message, { details: [{ path: '', code, message: reason }] });

/** Throws 403 for a key restricted to versions or resources: such keys are for the public interface. */
function assertUnrestrictedKey({ caller }: CallerCtx): void {
  if (caller.principal?.isRestrictedKey !== true) return;
  throw forbidden(forbiddenText.restrictedKey, 'restricted_key', 'Use this key with the public interface, or use an unrestricted key');
}

function authorizePerson(route: Route, ctx: CallerCtx): void {
  assertUnrestrictedKey(ctx);
  const { credential, readOnly } = ctx.caller;
  if (route.permission === signUpPermission) {
    if (credential.kind === 'api-key' || readOnly || !ctx.settings.allowSignup) throw missingPermission(signUpPermission);
  } else if (route.permission === 'signed-in') {
    if (credential.kind === 'api-key')
      throw forbidden(forbiddenText.apiKey, 'sign_in_needed', 'Use an access token or a session instead of an API key');
    if (readOnly && route.method !== 'GET')
      throw forbidden('This token is read-only', 'read_only', 'Its scope is portal:read; use a token with write access');
  }
}

/** Throws 403 when the caller may not call the route, or the reason why no organization could be chosen for the caller. */
export function authorize(route: Route, ctx: CallerCtx): void {
  if (route.access === 'person') {
    authorizePerson(route, ctx);
    return;
  }
  const { principal, refusal } = ctx.caller;
  if (refusal !== undefined) throw refusal;
  if (route.permission === 'any') return;
  assertUnrestrictedKey(ctx);
  if (principal === undefined || !principal.permissions.has(route.permission as Permission))
    throw missingPermission(route.permission as Permission);
}

/**
 * The ctx of an operation on the caller's organization. Throws 403 when the caller belongs to none, and 404 when the operation is about
 * the organization with the id `named` and that is another one.
 */
export function toOrganizationCtx(ctx: CallerCtx, named: unknown): RequestCtx {
  const { principal, refusal } = ctx.caller;
  if (principal === undefined || refusal !== undefined) throw refusal ?? new AppError('FORBIDDEN', forbiddenText.noOrganization);
  const organizationId = principal.organization.id;
  if (named !== undefined && named !== organizationId) throw notFound('Organization');
  return { ...ctx, principal, organizationId };
}
