// A record type with its fields, as the connection describes it that it belongs to.
import { useGet } from '../query.ts';
import { mayConnection } from '../session.ts';
import { useConnections } from './connections.ts';

export const recordTypePath = '/connections/{connection}/metadata/{recordType}';

/** What the name of a record type says of its connection; bare names are of the first one. */
export const prefixOf = (recordType: string): string => /^.*:/.exec(recordType)?.[0] ?? '';

/** Null, or one that the person may not read: nothing is read. */
export function useRecordType(recordType: string | null) {
  const prefix = prefixOf(recordType ?? '');
  const { data, error } = useConnections(recordType !== null && prefix === '');
  const first = data?.find(({ recordTypePrefix }) => recordTypePrefix === '')?.name ?? 'netsuite';
  const isKnown = prefix !== '' || data !== undefined || error !== undefined;
  const connection = prefix.slice(0, -1) || first;
  const isRead = recordType !== null && isKnown && mayConnection('read', connection);
  return useGet(isRead ? recordTypePath : null, { path: { connection, recordType: recordType ?? '' } });
}
