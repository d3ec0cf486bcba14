// Lists every record type of an account in a few requests, whatever their number: what the account says of
// itself, and the tables that are known to exist without being listed. Describing a type reads its fields.
import type { RecordTypeHead } from '../../discovery.ts';
import { recordTypeDefinitions } from '../types/record-types.ts';
import { createAccountLists, type ListedField } from './account-lists.ts';
import type { AccountParts } from './catalogue.ts';
import { findKnownTable, knownTables, withoutKey } from './known-tables.ts';
import { classifyFamily, curatedFamily, inItems, isItemType, toLabel } from './names.ts';

/**
 * Names are unique in any case. A list that NetSuite refuses is no error: then the others decide. Rejects
 * with `ErpError` for an outage, a refused login or an unreadable response, or with the signal's reason.
 */
export async function discoverRecordTypes(parts: AccountParts): Promise<readonly RecordTypeHead[]> {
  const lists = createAccountLists(parts);
  const [catalogue, customTypes, transactionTypes, customFields] = await Promise.all([
    lists.catalogue(),
    lists.customTypes(),
    lists.transactionTypes(),
    lists.customFields(),
  ]);
  const named = { labels: customTypes, transactions: transactionTypes ?? new Set<string>() };
  const heads = new Map<string, RecordTypeHead>();
  const add = (head: RecordTypeHead): void => {
    const id = head.name.toLowerCase();
    if (/^[a-z][a-z0-9_]{0,62}$/.test(id) && !heads.has(id)) heads.set(id, head);
  };
  for (const definition of recordTypeDefinitions) add(curatedHead(definition));
  for (const name of catalogue ?? []) add(toHead(name, 'catalogue', named));
  for (const name of customTypes.keys()) add(toHead(name, 'custom record types', named));
  for (const name of named.transactions) add(toHead(name, 'transactions', named));
  for (const name of Object.keys(knownTables)) add(tableHead(name));
  for (const field of customFields ?? []) for (const name of choiceTables(field)) add(tableHead(name, field));
  return [...heads.values()];
}

const unknown = { table: null, syncable: null, reason: null };

const curatedHead = ({
  name,
  label,
  table,
}: {
  name: string;
  label: string;
  table: string;
}): RecordTypeHead => ({
  ...{ name, label, family: curatedFamily(table), custom: false },
  ...{ ...unknown, source: 'known record types' },
});

type Named = { readonly labels: ReadonlyMap<string, string>; readonly transactions: ReadonlySet<string> };

function toHead(name: string, source: string, { labels, transactions }: Named): RecordTypeHead {
  const family = classifyFamily(name, transactions);
  const label = labels.get(name.toLowerCase()) ?? toLabel(name);
  const head = { ...{ name, label, family, custom: family.startsWith('custom'), source }, ...unknown };
  return isItemType(name) ? { ...head, syncable: false, reason: inItems } : head;
}

function tableHead(name: string, field?: ListedField): RecordTypeHead {
  const { label = toLabel(name), family = 'link' as const, key } = findKnownTable(name) ?? {};
  const head = {
    ...{ name, label: field === undefined ? label : `Choices of ${field.label}`, family },
    custom: field !== undefined,
  };
  return {
    ...head,
    ...unknown,
    source: 'known tables',
    ...(key === null && { syncable: false, reason: withoutKey }),
  };
}

/** In queries a multiple select's choices are a table of the field's own table: certain for these. */
const ownerTables: Readonly<Record<string, string>> = {
  BODY: 'transaction',
  COLUMN: 'transactionline',
  ITEM: 'item',
};

function choiceTables({ name, belongsTo, valueType }: ListedField): string[] {
  const owner = Object.hasOwn(ownerTables, belongsTo) ? ownerTables[belongsTo] : undefined;
  return valueType === 'Multiple Select' && owner !== undefined ? [`map_${owner}_${name}`] : [];
}
