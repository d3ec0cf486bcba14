// Nobody grants what they do not hold: not by a role, not by an invitation.
import type { RequestCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { Permission } from '../core/permissions.ts';

/** Throws 403 unless the caller holds every one of these; `path` names the field that asks for them. */
export function checkGrant(ctx: Pick<RequestCtx, 'principal'>, permissions: Iterable<Permission>, path = 'roleId'): void {
  if ([...permissions].every((permission) => ctx.principal.permissions.has(permission))) return;
  throw new AppError('FORBIDDEN', 'You cannot grant what you do not hold', {
    details: [{ path, code: 'escalation', message: 'The role would be able to do more than you are' }],
  });
}
