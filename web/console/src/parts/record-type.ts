// A record type with its fields, as the connection describes it that it belongs to.
import { useGet } from '../query.ts';

export const recordTypePath = '/connections/{connection}/metadata/{recordType}';

/** Null: nothing is read. A name without a connection's belongs to `netsuite`. */
export function useRecordType(recordType: string | null) {
  const [before = ''] = recordType?.includes(':') === true ? recordType.split(':') : ['netsuite'];
  const path = { connection: before, recordType: recordType ?? '' };
  return useGet(recordType === null ? null : recordTypePath, { path });
}
