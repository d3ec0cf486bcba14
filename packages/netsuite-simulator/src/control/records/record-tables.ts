// The tables whose rows are records: what the control interface reads and edits by internal id.
import { ACCOUNTING_LISTS } from '../../tables/accounting-lists.ts';
import { isCustomRecord } from '../../tables/custom-fields.ts';
import { GENERAL_LISTS } from '../../tables/lists.ts';
import type { RoleVisibility } from '../../tables/role-visibility.ts';
import { type AccountTable, getIdColumn } from '../../tables/table.ts';
import { ControlError, notFound } from '../control-error.ts';

/**
 * What can be edited. `created` and `modified` are columns of the base table; `sequence` gives ids to new
 * records.
 */
export type RecordTable = {
  table: AccountTable;
  created?: string;
  modified: string;
  sequence?: string;
  hasLines: boolean;
};

const ENTITY = {
  created: 'datecreated',
  modified: 'lastmodifieddate',
  sequence: 'ledger.entity_id',
  hasLines: false,
};
const OTHER = { modified: 'lastmodifieddate', hasLines: false };
const EDITABLE: Readonly<Record<string, Omit<RecordTable, 'table'>>> = {
  customer: ENTITY,
  vendor: ENTITY,
  employee: ENTITY,
  contact: ENTITY,
  partner: ENTITY,
  item: { ...ENTITY, created: 'createddate', sequence: 'ledger.item_id' },
  transaction: {
    created: 'createddate',
    modified: 'lastmodifieddate',
    sequence: 'ledger.transaction_id',
    hasLines: true,
  },
  currency: OTHER,
  subsidiary: OTHER,
};

/** Tables that can be read by internal id but not edited, and what to edit instead. */
const READ_ONLY: Readonly<Record<string, string>> = {
  transactionline: 'Edit a line with its transaction: PATCH /records/transaction/{id} with "lines".',
  entity: 'Edit the customer, vendor, employee or contact.',
  customersubsidiaryrelationship: 'Edit the customer.',
  customeraddressbookentityaddress: 'Addresses are fixed.',
};

/**
 * The table with its custom fields, whatever the role can see. Throws ControlError 404 unless its rows have
 * internal ids.
 */
export function getReadableTable(role: RoleVisibility, name: string): AccountTable {
  const table = role.known(name);
  if (table && isReadable(name)) return table;
  const known = role.tables.map((each) => each.name).filter(isReadable);
  throw notFound(
    `${table ? `The rows of ${name} have no internal ids.` : `Unknown table ${name}.`} Use one of ${known.join(', ')}.`,
  );
}

/** Throws ControlError: 404 for an unknown table, 422 for one that can't be edited. */
export function getEditableTable(role: RoleVisibility, name: string): RecordTable {
  const table = getReadableTable(role, name);
  const facts = findFacts(name);
  if (!facts) throw new ControlError(422, `Records of ${name} can't be edited. ${READ_ONLY[name]}`);
  return { table, ...facts };
}

const CUSTOM_RECORD = { created: 'created', modified: 'lastmodified', hasLines: false };
/** Lists with ids and a modification time, such as departments; only accounts with a profile have them. */
const LISTS = new Set(
  [...GENERAL_LISTS, ...ACCOUNTING_LISTS]
    .filter(
      ({ columns: { integer, datetime } }) =>
        integer?.trim().startsWith('id') && datetime === 'lastmodifieddate',
    )
    .map(({ name }) => name),
);
const findFacts = (table: string): Omit<RecordTable, 'table'> | undefined =>
  isCustomRecord(table) ? CUSTOM_RECORD : (EDITABLE[table] ?? (LISTS.has(table) ? OTHER : undefined));

export const isEditable = (table: string): boolean => findFacts(table) !== undefined;
export const isReadable = (table: string): boolean => isEditable(table) || READ_ONLY[table] !== undefined;

export const getKeyColumn = ({ name }: AccountTable): string => getIdColumn(name);
