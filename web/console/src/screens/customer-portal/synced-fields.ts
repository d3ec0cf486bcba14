// What can be chosen in the settings of the portal: synced record types and their synced fields.
import { useRecordType } from '../../parts/record-type.ts';
import { useGet } from '../../query.ts';
import { may } from '../../session.ts';

/** What a field must be: a text with addresses, an id or a name, a day, an amount, or anything but lines. */
export type FieldUse = 'address' | 'id' | 'date' | 'amount' | 'any';

type SyncedField = { readonly source: string; readonly title: string; readonly type: string };

const types: Readonly<Record<FieldUse, readonly string[]>> = {
  address: ['text'],
  id: ['text', 'integer', 'reference', 'list'],
  date: ['date', 'time'],
  amount: ['number', 'integer'],
  any: ['text', 'integer', 'reference', 'list', 'number', 'boolean', 'date'],
};

const useSyncs = () =>
  useGet(may('sync:read') ? '/sync-configs' : null, { query: { pageSize: 100 } }).data?.data ?? [];

/** Names of the record types that are synced. */
export const useSyncedTypes = (): readonly string[] => useSyncs().map(({ recordType }) => recordType);

const toTitle = (label: string, source: string): string =>
  label === source ? source : `${label} (${source})`;

/** Undefined while they aren't known, or can't be. */
export function useSyncedFields(recordType: string): readonly SyncedField[] | undefined {
  const sync = useSyncs().find((one) => one.recordType === recordType);
  const { data } = useRecordType(recordType || null);
  return data?.fields.flatMap(({ name, label, type, syncable }) => {
    const isSynced = sync === undefined || sync.fields === '*' || sync.fields.includes(name);
    if (!syncable || !isSynced) return [];
    const field = { source: name, title: toTitle(label, name), type };
    if (type !== 'reference' && type !== 'list') return [field];
    const source = `${name}.name`;
    return [field, { source, title: toTitle(`${label}, by name`, source), type: 'text' }];
  });
}

/** The choices for a use, with the value that is set even if it isn't one of them. */
export function toOptions(
  fields: readonly SyncedField[],
  use: FieldUse,
  value: string,
  first: readonly (readonly [value: string, title: string])[],
): readonly (readonly [value: string, title: string])[] {
  const fitting = fields
    .filter(({ type }) => types[use].includes(type))
    .map(({ source, title }) => [source, title] as const);
  const all = [...first, ...fitting.filter(([source]) => first.every(([known]) => known !== source))];
  return all.some(([known]) => known === value) ? all : [[value, value || 'Choose a field'], ...all];
}
