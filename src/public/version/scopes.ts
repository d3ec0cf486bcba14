// Decides whether a credential may read a version or resource, before its existence is looked up.
import { AppError } from '../../core/errors.ts';
import { allowsResource, allowsVersion, type RecordAccess } from '../../core/record-access.ts';

/** The refusal of a request; `path` is the part of it that is refused. */
export const accessError = (
  code: 'BAD_REQUEST' | 'FORBIDDEN',
  path: string,
  reason: string,
  message: string,
): AppError => new AppError(code, message, { details: [{ path, code: reason, message }] });

/** Throws 403 for a version or resource outside the scopes of the credential, whether or not it exists. */
export function assertScopes(access: RecordAccess, version: string, resource: string | null): void {
  const credential = access.layers.length > 1 ? 'token' : 'key';
  if (!allowsVersion(access, version))
    throw accessError(
      'FORBIDDEN',
      'version',
      'version_out_of_scope',
      `This ${credential} is not valid for this version`,
    );
  if (resource !== null && !allowsResource(access, resource))
    throw accessError(
      'FORBIDDEN',
      'resource',
      'resource_out_of_scope',
      `This ${credential} is not valid for this resource`,
    );
}
