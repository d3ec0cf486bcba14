// The organization's connections to ERPs.
import { type ApiError, api, type Item } from '../api.ts';
import { useRead } from '../query.ts';
import { may, mayConnection } from '../session.ts';

export type Connection = Item<'/connections'>;

async function readConnections(): Promise<readonly Connection[]> {
  if (may('connection:read')) return (await api.GET('/connections')).data?.data ?? [];
  const params = { path: { connection: 'netsuite' } };
  return api.GET('/connections/{connection}', { params }).then(
    ({ data }) => (data === undefined ? [] : [data]),
    (error: ApiError) => {
      if (error.status === 404) return [];
      throw error;
    },
  );
}

/** Those that the person may read, the first one first. Unless `isNeeded`, nothing is read. */
export const useConnections = (isNeeded = true) =>
  useRead(isNeeded && mayConnection('read') ? '/connections all' : null, readConnections);
