// Nobody grants what they do not hold: not by a role, not by an invitation.
import type { RequestCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { Permission } from '../core/permissions.ts';

/**
 * A key that was handed over is still known to whoever left: it stays within its bound, and gives nobody anything, which would have
 * no bound. Throws 403.
 */
export function refuseHandedOver({ principal }: Pick<RequestCtx, 'principal'>): void {
  if (!principal.handedOver) return;
  throw new AppError('FORBIDDEN', 'You cannot grant what you do not hold', {
    details: [{ path: '', code: 'handed_over', message: 'This key was handed over: use a credential of your own' }],
  });
}

/** Throws 403 unless the caller holds every one of these; `path` names the field that asks for them. */
export function checkGrant(ctx: Pick<RequestCtx, 'principal'>, permissions: Iterable<Permission>, path = 'roleId'): void {
  refuseHandedOver(ctx);
  if ([...permissions].every((permission) => ctx.principal.permissions.has(permission))) return;
  throw new AppError('FORBIDDEN', 'You cannot grant what you do not hold', {
    details: [{ path, code: 'escalation', message: 'The role would be able to do more than you may' }],
  });
}
