// The versions of the API, as screens of several areas need them.
import type { Item } from './api.ts';
import { useGet } from './query.ts';
import { may } from './session.ts';

export type Version = Item<'/api-schema'>;

/** The versions, for people who may see them; undefined until they are read. */
export function useReadVersions(): readonly Version[] | undefined {
  const read = useGet(may('api-schema:read') ? '/api-schema' : null, { query: { pageSize: 100 } });
  return may('api-schema:read') ? read.data?.data : [];
}
export const useVersions = (): readonly Version[] => useReadVersions() ?? [];

/** The living ones of `versions` that `chosen` names; all when it names none. */
export const filterLiving = (versions: readonly Version[], chosen: readonly string[] = []): Version[] =>
  versions.filter(
    ({ version, status }) =>
      (status === 'published' || status === 'deprecated') &&
      (chosen.length === 0 || chosen.includes(version)),
  );

export const listResources = (versions: readonly Version[]): string[] => [
  ...new Set(versions.flatMap(({ endpoints }) => endpoints.map(({ name }) => name))),
];
