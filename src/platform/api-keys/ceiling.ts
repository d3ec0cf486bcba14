// The ceiling of API keys: one rule for every operation that makes a key, widens it, or gives its secret to
// someone. What the key gains, the caller's credential must be able to do for at least as long.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import type { Permission } from '../../core/permissions.ts';
import { type AccessLayer, allowsResource } from '../../core/record-access.ts';

/** What a key can do. */
export type KeyPower = {
  readonly reads: AccessLayer;
  /** Whether it reads masked fields as they are. */
  readonly unmasked: boolean;
  /** Permissions on the management interface. */
  readonly manages: ReadonlySet<Permission>;
  /** Null when it never expires. */
  readonly expiresAt: Date | null;
};

const includesAll = (outer: readonly string[], inner: readonly string[]): boolean =>
  outer.length === 0 || (inner.length > 0 && inner.every((name) => outer.includes(name)));

/** The entry with that name; never an inherited property. */
export const findOwn = <T>(entries: Readonly<Record<string, T>> | null | undefined, name: string) =>
  entries && Object.hasOwn(entries, name) ? entries[name] : undefined;

/** Whether `inner` reads no record of the resource that `outer` doesn't read. */
function coversRows(outer: AccessLayer, inner: AccessLayer, name: string): boolean {
  const wide = findOwn(outer.rows?.resources, name);
  const narrow = findOwn(inner.rows?.resources, name);
  if (wide === undefined) return outer.rows === null || outer.rows.others || narrow === undefined;
  if (narrow === undefined || narrow.recordType !== wide.recordType) return false;
  return wide.conditions.every(({ source, in: values }) =>
    narrow.conditions.some(
      (condition) => condition.source === source && condition.in.every((value) => values.includes(value)),
    ),
  );
}

function coversFields(outer: AccessLayer, inner: AccessLayer, name: string): boolean {
  const wide = findOwn(outer.fields, name);
  return (
    wide === undefined ||
    findOwn(inner.fields, name)?.every((field) => field === 'id' || wide.includes(field)) === true
  );
}

const canRead = (layer: AccessLayer, name: string): boolean =>
  allowsResource({ layers: [layer], unmasked: false }, name);

/**
 * Whether `inner` reads nothing that `outer` doesn't read, apart from masks. Where it can't be known from the
 * scopes alone, it isn't covered.
 */
export function coversReads(outer: AccessLayer, inner: AccessLayer): boolean {
  if (!includesAll(outer.versions, inner.versions) || !includesAll(outer.resources, inner.resources))
    return false;
  const readsUnnamed = inner.resources.length === 0 && (inner.rows === null || inner.rows.others);
  if (readsUnnamed && outer.rows !== null && !outer.rows.others) return false;
  const named = [outer, inner].flatMap(({ resources, rows, fields }) => [
    ...resources,
    ...Object.keys(rows?.resources ?? {}),
    ...Object.keys(fields ?? {}),
  ]);
  return named.every(
    (name) =>
      !canRead(inner, name) ||
      (canRead(outer, name) && coversRows(outer, inner, name) && coversFields(outer, inner, name)),
  );
}

const lastsAsLong = (outer: Date | null, inner: Date | null): boolean =>
  outer === null || (inner !== null && inner <= outer);

const readRecords: Permission = 'record:read';
const readUnmasked: Permission = 'unmasked:read';

const escalation = (path: string, message: string, title = 'You cannot grant what you do not hold') =>
  new AppError('FORBIDDEN', title, { details: [{ path, code: 'escalation', message }] });

/**
 * `before` is undefined for a key that is new, or whose secret someone gets: it then gains all of `after`.
 * Throws 403 `escalation` when the key gains something that the caller can't do. Every key reads records, so
 * the caller needs `record:read`, and for one that reads masked fields as they are `unmasked:read`.
 */
export function assertWithinCeiling(
  { principal }: Pick<RequestCtx, 'principal'>,
  after: KeyPower,
  before: KeyPower | undefined,
): void {
  const { permissions, reads } = principal;
  const livesOn = before !== undefined && lastsAsLong(before.expiresAt, after.expiresAt);
  const gainsReads =
    !livesOn || !coversReads(before.reads, after.reads) || (after.unmasked && !before.unmasked);
  const gained = [...after.manages].filter((permission) => !livesOn || !before.manages.has(permission));
  if (gainsReads && !permissions.has(readRecords))
    throw escalation(
      'scopes',
      'The key would read records, which you may not',
      `Missing required permission: ${readRecords}`,
    );
  if (gainsReads && after.unmasked && !(reads.unmasked && permissions.has(readUnmasked)))
    throw escalation(
      'scopes.unmasked',
      'The key would read masked fields as they are, which you or your credential may not',
      `Missing required permission: ${readUnmasked}`,
    );
  if (gainsReads && !reads.layers.every((layer) => coversReads(layer, after.reads)))
    throw escalation('scopes', 'The key would read more than your credential may read');
  if (gained.some((permission) => !permissions.has(permission)))
    throw escalation('scopes', 'The key would have permissions that you do not have');
  if ((gainsReads || gained.length > 0) && !lastsAsLong(principal.expiresAt, after.expiresAt))
    throw escalation(
      'expiresAt',
      `The key would outlive your credential, which ends at ${principal.expiresAt?.toISOString()}`,
    );
}
