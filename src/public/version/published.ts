// Finds published versions by label, and their resources. Everything that is absent gets the same 404, so
// that no response reveals the reason.

import type { TenantCtx } from '../../core/ctx.ts';
import { AppError } from '../../core/errors.ts';
import type { Cache } from '../../core/work/cache.ts';
import type { ContentCache } from './content-cache.ts';
import { findVersionState, isVersionLabel, type VersionState } from './versions.store.ts';

/** The versions that this process knows. */
export type KnownVersions = {
  /** By `versionKey`. */
  readonly versions: Cache<VersionState | undefined>;
  readonly content: ContentCache;
};

/** The 404 for every absent version, resource and record. */
export const notFoundError = (): AppError =>
  new AppError('NOT_FOUND', 'There is nothing at this address', {
    details: [{ path: '', code: 'not_found', message: 'There is nothing at this address' }],
  });

export const versionKey = ({ organizationId }: Pick<TenantCtx, 'organizationId'>, version: string): string =>
  `${organizationId}/${version}`;

/** Throws 404 when the version is a draft. */
export function assertPublished({ status }: VersionState): void {
  if (status === 'draft') throw notFoundError();
}

/** A version that was ever published, also a retired one. Rejects with 404 when none has that label. */
export async function getPublishedVersion(
  known: Pick<KnownVersions, 'versions'>,
  tenant: Pick<TenantCtx, 'db' | 'organizationId'>,
  version: string,
): Promise<VersionState> {
  if (!isVersionLabel(version)) throw notFoundError();
  return getPublishedDocument(known, tenant, version);
}

/**
 * The same of a version or a document of the portal, for labels that no request names. Rejects with 404 when there is
 * none of that label.
 */
export async function getPublishedDocument(
  { versions }: Pick<KnownVersions, 'versions'>,
  tenant: Pick<TenantCtx, 'db' | 'organizationId'>,
  version: string,
): Promise<VersionState> {
  const state = await versions.load(versionKey(tenant, version), () => findVersionState(tenant, version));
  if (state === undefined) throw notFoundError();
  assertPublished(state);
  return state;
}

/** Throws 410 `version_retired` when the version is retired. */
export function assertNotRetired({ status }: VersionState): void {
  if (status !== 'retired') return;
  const message = 'This version has been retired and is no longer available';
  throw new AppError('NOT_FOUND', message, {
    status: 410,
    details: [{ path: 'version', code: 'version_retired', message }],
  });
}

/**
 * For the usage counts of a refused request: reports the version and the resource that it names to
 * `onTarget`, as far as they exist. Rejects with 404 for an unknown version.
 */
export async function reportNamedTarget(
  known: KnownVersions,
  tenant: TenantCtx,
  { version, resource }: { readonly version: string; readonly resource: string },
  onTarget: (version: string, resource: string) => void,
): Promise<void> {
  const state = await getPublishedVersion(known, tenant, version);
  onTarget(state.version, '');
  const { endpoints } =
    known.content.findCompiled(state) ?? (await known.content.loadCompiled(tenant, state));
  if (endpoints.has(resource)) onTarget(state.version, resource);
}
