// The ceiling of API keys: one rule for every operation that makes a key, widens it, or gives its secret to someone. What the key gains,
// the caller must be able to do with the credential of the request, for at least as long.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import type { Permission } from '../../core/permissions.ts';

/** What a key can do. */
export type KeyPower = {
  /** Empty lists mean all. */
  readonly versions: readonly string[];
  readonly resources: readonly string[];
  /** Permissions on the management interface. */
  readonly manages: ReadonlySet<Permission>;
  /** Null when it never expires. */
  readonly expiresAt: Date | null;
};

type Reads = Pick<KeyPower, 'versions' | 'resources'>;

const includesAll = (outer: readonly string[], inner: readonly string[]): boolean =>
  outer.length === 0 || (inner.length > 0 && inner.every((name) => outer.includes(name)));

/** Whether `inner` reads nothing that `outer` doesn't read. */
export const coversReads = (outer: Reads, inner: Reads): boolean =>
  includesAll(outer.versions, inner.versions) && includesAll(outer.resources, inner.resources);

const lastsAsLong = (outer: Date | null, inner: Date | null): boolean => outer === null || (inner !== null && inner <= outer);

const readRecords: Permission = 'view:read';

const escalation = (path: string, message: string, title = 'You cannot grant what you do not hold'): AppError =>
  new AppError('FORBIDDEN', title, { details: [{ path, code: 'escalation', message }] });

/**
 * `before` is undefined for a key that is new, or whose secret someone gets: it then gains all of `after`. Throws 403 `escalation` when the
 * key gains something that the caller can't do. Every key reads records, so the caller needs `view:read`.
 */
export function assertWithinCeiling({ principal }: Pick<RequestCtx, 'principal'>, after: KeyPower, before: KeyPower | undefined): void {
  const livesOn = before !== undefined && lastsAsLong(before.expiresAt, after.expiresAt);
  const gainsReads = !livesOn || !coversReads(before, after);
  const gained = [...after.manages].filter((permission) => !livesOn || !before.manages.has(permission));
  if (gainsReads && !principal.permissions.has(readRecords))
    throw escalation('scopes', 'The key would read records, which you may not', `Missing required permission: ${readRecords}`);
  if (gainsReads && !coversReads(principal.reads, after))
    throw escalation('scopes', 'The key would read versions or resources that your credential may not read');
  if (gained.some((permission) => !principal.permissions.has(permission)))
    throw escalation('scopes', 'The key would have permissions that you do not have');
  if ((gainsReads || gained.length > 0) && !lastsAsLong(principal.expiresAt, after.expiresAt))
    throw escalation('expiresAt', `The key would outlive your credential, which ends at ${principal.expiresAt?.toISOString()}`);
}
