// Which list the entries of a multiple select are in: a custom list or custom record type, by the account's
// own list of custom fields, or the subsidiaries. Entries of other record types have no names.
import type { FieldMetadata, RecordTypeMetadata } from '../../connector.ts';
import { entryNamesQuery } from '../types/queries.ts';
import type { Account } from './account.ts';
import { findRefusal } from './describe-columns.ts';

/**
 * Adds `entries` to the multiple selects of the record type whose lists this role can read. Rejects with
 * `ErpError` for an outage.
 */
export async function withEntries(
  account: Account,
  recordType: RecordTypeMetadata,
): Promise<RecordTypeMetadata> {
  return {
    ...recordType,
    fields: await Promise.all(recordType.fields.map((field) => withOwn(account, field))),
  };
}

async function withOwn(account: Account, field: FieldMetadata): Promise<FieldMetadata> {
  const { fields } = field;
  if (fields !== undefined)
    return { ...field, fields: await Promise.all(fields.map((line) => withOwn(account, line))) };
  if (field.type !== 'multiselect' || !field.syncable) return field;
  const entries = field.custom
    ? (await account.lists.entryLists()).get(field.name)
    : field.name === 'subsidiary'
      ? field.name
      : undefined;
  return entries !== undefined && (await isReadable(account, entries)) ? { ...field, entries } : field;
}

async function isReadable({ suiteql, entryProbes, signal }: Account, list: string): Promise<boolean> {
  const probe = entryProbes.get(list) ?? findRefusal(suiteql, entryNamesQuery(list, ['1']), signal);
  entryProbes.set(list, probe);
  return (await probe) === null;
}
