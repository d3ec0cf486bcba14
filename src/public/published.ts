// Finds what is published: a version by its label, and a resource of it. Whatever is not there is answered by the same words, so that
// no answer tells one reason from another.
import type { TenantCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { Engine } from './engine.ts';
import { findVersion, isVersionLabel, type VersionState } from './versions.store.ts';

export const nothingHere = (): AppError =>
  new AppError('NOT_FOUND', 'There is nothing at this address', {
    details: [{ path: '', code: 'not_found', message: 'There is nothing at this address' }],
  });

export const versionKey = ({ organizationId }: Pick<TenantCtx, 'organizationId'>, version: string): string =>
  `${organizationId}/${version}`;

/** Throws 404. */
export function assertPublished({ status }: VersionState): void {
  if (status === 'draft') throw nothingHere();
}

/** A version that was ever published. Throws 404. */
export async function findPublished(
  { versions }: Pick<Engine, 'versions'>,
  tenant: Pick<TenantCtx, 'db' | 'organizationId'>,
  version: string,
): Promise<VersionState> {
  if (!isVersionLabel(version)) throw nothingHere();
  const state = await versions.get(versionKey(tenant, version), () => findVersion(tenant, version));
  if (state === undefined) throw nothingHere();
  assertPublished(state);
  return state;
}

/** Throws 410. */
export function assertNotRetired({ status }: VersionState): void {
  if (status !== 'retired') return;
  const message = 'This version has been retired; its answers have ended';
  throw new AppError('NOT_FOUND', message, { status: 410, details: [{ path: 'version', code: 'version_retired', message }] });
}
