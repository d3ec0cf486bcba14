// Callers can grant only permissions that they hold, whether by a role, a membership or an invitation.
import type { RequestCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { Permission } from '../core/permissions.ts';

/**
 * The former owner of a transferred key may still know its secret, so such a key must not grant anything: the
 * grant would outlive the key's ceiling. Throws 403 `handed_over` for a transferred key.
 */
export function assertNotTransferredKey({ principal }: Pick<RequestCtx, 'principal'>): void {
  if (!principal.isTransferredKey) return;
  const message = 'This key was transferred from another member. Use a credential of your own.';
  throw new AppError('FORBIDDEN', 'You cannot grant what you do not hold', {
    details: [{ path: '', code: 'handed_over', message }],
  });
}

/**
 * Throws 403 `escalation` unless the caller holds all of these permissions, and 403 `handed_over` for a
 * transferred key. `path` names the request field that grants them.
 */
export function assertCanGrant(
  ctx: Pick<RequestCtx, 'principal'>,
  permissions: Iterable<Permission>,
  path = 'roleId',
): void {
  assertNotTransferredKey(ctx);
  if ([...permissions].every((permission) => ctx.principal.permissions.has(permission))) return;
  throw new AppError('FORBIDDEN', 'You cannot grant what you do not hold', {
    details: [{ path, code: 'escalation', message: 'The role has permissions that you do not have' }],
  });
}
