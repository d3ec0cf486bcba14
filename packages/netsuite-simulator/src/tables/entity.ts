// Customers; vendors, employees and contacts, of which this account has none; and `entity`, the union of all four.
import { type AccountColumn, type AccountTable, extraColumns, nullColumns, tableColumn, tableColumns } from './table.ts';

/** Unpaid invoices less unapplied credits and payments. */
const BALANCE = `SELECT COALESCE(sum(CASE t.type WHEN 'CustPymt' THEN -t.foreignamountunpaid ELSE t.foreignamountunpaid END), 0)
  FROM ledger.transaction t WHERE t.entity = b.id AND t.type IN ('CustInvc', 'CustCred', 'CustPymt')`;
const SUBSIDIARY: AccountColumn = tableColumn('integer', 'subsidiary', '1', 'SELECT s.name FROM ledger.subsidiary s WHERE s.id = 1');
const NAME = "COALESCE(b.companyname, NULLIF(concat_ws(' ', b.firstname, b.lastname), ''))";

export const customerTable: AccountTable = {
  name: 'customer',
  from: 'ledger.customer b',
  columns: [
    ...tableColumns('integer', 'id'),
    ...tableColumns('text', 'entityid externalid companyname firstname lastname email phone url'),
    ...tableColumns('flag', 'isperson isinactive'),
    tableColumn('integer', 'currency', 'b.currency', 'SELECT c.name FROM ledger.currency c WHERE c.id = b.currency'),
    ...tableColumns('text', 'defaultcountry comments'),
    ...tableColumns('datetime', 'datecreated lastmodifieddate'),
    ...tableColumns('decimal', 'creditlimit'),
    ...tableColumns('integer', 'entitystatus'),
    tableColumn('text', 'altname', NAME),
    tableColumn('text', 'searchstage', "'Customer'"),
    tableColumn('decimal', 'balancesearch', BALANCE),
    tableColumn(
      'decimal',
      'overduebalancesearch',
      `SELECT COALESCE(sum(t.foreignamountunpaid), 0) FROM ledger.transaction t
      WHERE t.entity = b.id AND t.type = 'CustInvc' AND t.duedate < suiteql.today()`,
    ),
    tableColumn('decimal', 'consolbalancesearch', BALANCE),
    SUBSIDIARY,
    ...extraColumns('text', 'middlename altphone mobilephone fax emailpreference language creditholdoverride'),
    ...extraColumns(
      'integer',
      `category terms pricelevel salesrep parent partner receivablesaccount defaultbillingaddress defaultshippingaddress`,
    ),
    ...extraColumns('decimal', 'unbilledorderssearch'),
    ...extraColumns('date', 'dateclosed startdate enddate'),
  ],
};

const PERSON: readonly AccountColumn[] = [
  ...tableColumns('integer', 'id'),
  ...tableColumns('text', 'entityid externalid firstname lastname email phone'),
  ...tableColumns('flag', 'isinactive'),
  ...tableColumns('datetime', 'datecreated lastmodifieddate'),
];

export const vendorTable: AccountTable = {
  name: 'vendor',
  from: 'ledger.vendor b',
  columns: [
    ...PERSON,
    ...tableColumns('text', 'companyname'),
    ...tableColumns('flag', 'isperson'),
    SUBSIDIARY,
    ...extraColumns('integer', 'category terms currency'),
  ],
};

export const employeeTable: AccountTable = {
  name: 'employee',
  from: 'ledger.employee b',
  columns: [...PERSON, ...tableColumns('text', 'title'), SUBSIDIARY, ...extraColumns('integer', 'supervisor department location')],
};

export const contactTable: AccountTable = {
  name: 'contact',
  from: 'ledger.contact b',
  columns: [...PERSON, ...tableColumns('text', 'title'), ...tableColumns('integer', 'company'), SUBSIDIARY],
};

const KINDS = [
  { table: 'customer', type: 'CustJob', label: 'Customer' },
  { table: 'vendor', type: 'Vendor', label: 'Vendor' },
  { table: 'employee', type: 'Employee', label: 'Employee' },
  { table: 'contact', type: 'Contact', label: 'Contact' },
];

export const entityTable: AccountTable = {
  name: 'entity',
  from: `(${KINDS.map(
    ({
      table,
      type,
      label,
    }) => `SELECT id, entityid, '${type}' AS type, '${label}' AS label, isperson, isinactive, companyname, firstname, lastname,
      email, phone, datecreated, lastmodifieddate FROM ledger.${table}`,
  ).join(' UNION ALL ')}) b`,
  columns: [
    ...tableColumns('integer', 'id'),
    ...tableColumns('text', 'entityid'),
    tableColumn('text', 'type', 'b.type', 'b.label'),
    ...KINDS.map(({ table, type }) =>
      tableColumn('integer', table, `CASE WHEN b.type = '${type}' THEN b.id END`, `CASE WHEN b.type = '${type}' THEN b.entityid END`),
    ),
    tableColumn('integer', 'toplevelparent', 'b.id', 'b.entityid'),
    ...tableColumns('flag', 'isperson isinactive'),
    ...tableColumns('text', 'email phone'),
    tableColumn('text', 'altname', NAME),
    ...tableColumns('datetime', 'datecreated lastmodifieddate'),
    ...nullColumns('integer', 'project parent'),
  ],
};
