// What the names of record types and fields say: labels for people, families, and which types' records are in
// the table of another type.
import type { RecordFamily } from '../../discovery.ts';
import { recordTypeDefinitions } from '../types/record-types.ts';

/** `purchaseOrder` → "Purchase order", `mainaddress` → "Mainaddress". */
export function toLabel(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
    .trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const itemNames: ReadonlySet<string> = new Set(
  recordTypeDefinitions.find(({ table }) => table === 'item')?.deletedAs,
);

/** Whether it is one of the record service's item types, which are rows of one table in queries. Any case. */
export const isItemType = (name: string): boolean => itemNames.has(name.toLowerCase()) && name !== 'item';
export const inItems = 'Its records are in the record type item, with the type in the field itemtype';

/** How the record service's transactions are called. */
const documentName =
  /(?:order|invoice|bill|credit|memo|payment|refund|deposit|receipt|fulfillment|journal|entry|adjustment|transfer|sale|check|estimate|opportunity|requisition|authorization|application|build|unbuild|expensereport)$/i;

/**
 * The family of a catalogue entry by its name. Only a description decides it: a name that nothing is known of
 * is taken for a list. `transactionTypes`: those that have records, in lower case.
 */
export function classifyFamily(name: string, transactionTypes: ReadonlySet<string>): RecordFamily {
  const table = name.toLowerCase();
  if (table.startsWith('customrecord')) return 'customRecord';
  if (table.startsWith('customlist')) return 'customList';
  if (table.startsWith('customtransaction')) return 'customTransaction';
  if (transactionTypes.has(table)) return 'transaction';
  if (isItemType(name)) return 'item';
  return documentName.test(name) ? 'transaction' : 'list';
}

const curatedFamilies: Readonly<Record<string, RecordFamily>> = { transaction: 'transaction', item: 'item' };
/** The family of a record type that is known by name, by its table. */
export const curatedFamily = (table: string): RecordFamily => curatedFamilies[table] ?? 'entity';
