// Decides whether a credential may read a version or a resource of it, before anyone looks whether that exists.
import { AppError } from '../../core/errors.ts';

/** The versions and resources that a credential is limited to; empty means all. */
export type AccessScope = { readonly versions: readonly string[]; readonly resources: readonly string[] };

/** The refusal of a request; `path` is the part of it that is refused. */
export const accessError = (code: 'BAD_REQUEST' | 'FORBIDDEN', path: string, reason: string, message: string): AppError =>
  new AppError(code, message, { details: [{ path, code: reason, message }] });

/** Throws 403 for a version or resource outside the scopes of the key, whether or not it exists. */
export function assertScopes({ scopes }: { readonly scopes: AccessScope }, version: string, resource: string | null): void {
  const { versions, resources } = scopes;
  if (versions.length > 0 && !versions.includes(version))
    throw accessError('FORBIDDEN', 'version', 'version_out_of_scope', 'This key is not valid for this version');
  if (resource !== null && resources.length > 0 && !resources.includes(resource)) {
    throw accessError('FORBIDDEN', 'resource', 'resource_out_of_scope', 'This key is not valid for this resource');
  }
}
