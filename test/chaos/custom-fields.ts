// The account's custom fields: one of each kind of record and one of lines, with values in most rows.
import type { Pool } from 'pg';
import { profile } from '../setup/account-profile.ts';
import type { HeaderTable } from './books.ts';
import type { Control, CustomField } from './faults/control.ts';

export type FieldTable = HeaderTable | 'transactionline';
export const customFields: Readonly<Record<FieldTable, CustomField & { readonly table: FieldTable }>> = {
  customer: { table: 'customer', name: 'custentity_sales_region', type: 'text', label: 'Region' },
  item: { table: 'item', name: 'custitem_quality_grade', type: 'text', label: 'Grade' },
  transaction: { table: 'transaction', name: 'custbody_sales_channel', type: 'text', label: 'Channel' },
  transactionline: { table: 'transactionline', name: 'custcol_lot_number', type: 'text', label: 'Lot' },
  customrecord_complaint: {
    table: 'customrecord_complaint',
    name: 'custrecord_complaint_grade',
    type: 'text',
    label: 'Grade',
  },
};
/** Accounts without a profile have no custom record types. */
const existing = Object.values(customFields).filter(
  ({ table }) => profile !== undefined || table !== 'customrecord_complaint',
);
export const getIdColumn = (table: FieldTable): string => (table === 'transactionline' ? 'uniquekey' : 'id');

/** The account's fields as every seed finds them. Rejects with an Error when the account has one of them. */
export async function createCustomFields(control: Control): Promise<void> {
  for (const field of existing) await control.send('POST', '/fields', field);
}

/**
 * Whole numbers in most rows, so that the fields can change their type; other texts in some, nothing in
 * others.
 */
export async function writeCustomValues(pool: Pool): Promise<void> {
  for (const { table, name } of existing) {
    const id = getIdColumn(table);
    await pool.query(
      `update ledger.${table} set extra = coalesce(extra, '{}') || jsonb_build_object($1::text, case when ${id} % 7 = 0 then 'x' || ${id} else (${id} % 40)::text end)
       where ${id} % 5 <> 0`,
      [name],
    );
  }
}
