// Customers; vendors, employees, contacts and partners, of which accounts without a profile have none; and
// `entity`, the union of all five.
import {
  type AccountColumn,
  type AccountTable,
  extraColumns,
  nullColumns,
  referenceColumn,
  tableColumn,
  tableColumns,
} from './table.ts';

/**
 * Unpaid invoices less unapplied credits and payments, and what lines of journals that name the customer post
 * to receivables.
 */
const BALANCE = `(SELECT COALESCE(sum(CASE t.type WHEN 'CustPymt' THEN -t.foreignamountunpaid ELSE t.foreignamountunpaid END), 0)
  FROM ledger.transaction t WHERE t.entity = b.id AND t.type IN ('CustInvc', 'CustCred', 'CustPymt'))
  + (SELECT COALESCE(sum(l.foreignamount), 0) FROM ledger.transactionline l
  WHERE l.entity = b.id AND l.accountinglinetype = 'ACCOUNTSRECEIVABLE')`;
const SUBSIDIARY = referenceColumn('subsidiary', 'subsidiary', 'name');
const TERMS = referenceColumn('terms', 'term', 'name');
const CURRENCY = referenceColumn('currency', 'currency', 'name');
const NAME = "COALESCE(b.companyname, NULLIF(concat_ws(' ', b.firstname, b.lastname), ''))";

export const customerTable: AccountTable = {
  name: 'customer',
  from: 'ledger.customer b',
  columns: [
    ...tableColumns('integer', 'id'),
    ...tableColumns('text', 'entityid externalid companyname firstname lastname email phone url'),
    ...tableColumns('flag', 'isperson isinactive'),
    CURRENCY,
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
    ...extraColumns(
      'text',
      'middlename altphone mobilephone fax emailpreference language creditholdoverride',
    ),
    referenceColumn('category', 'customercategory', 'name'),
    TERMS,
    referenceColumn('pricelevel', 'pricelevel', 'name'),
    referenceColumn('salesrep', 'employee', 'entityid'),
    referenceColumn('parent', 'customer', 'entityid'),
    ...extraColumns('integer', 'partner'),
    referenceColumn('receivablesaccount', 'account', 'accountsearchdisplayname'),
    ...tableColumns('integer', 'defaultbillingaddress defaultshippingaddress'),
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
    tableColumn('text', 'altname', NAME),
    referenceColumn('category', 'vendorcategory', 'name'),
    TERMS,
    CURRENCY,
    referenceColumn('payablesaccount', 'account', 'accountsearchdisplayname'),
  ],
};

export const employeeTable: AccountTable = {
  name: 'employee',
  from: 'ledger.employee b',
  columns: [
    ...PERSON,
    ...tableColumns('text', 'title'),
    SUBSIDIARY,
    referenceColumn('supervisor', 'employee', 'entityid'),
    referenceColumn('department', 'department'),
    referenceColumn('location', 'location'),
  ],
};

export const contactTable: AccountTable = {
  name: 'contact',
  from: 'ledger.contact b',
  columns: [
    ...PERSON,
    ...tableColumns('text', 'title'),
    referenceColumn('company', 'customer', 'entityid'),
    SUBSIDIARY,
  ],
};

export const partnerTable: AccountTable = {
  name: 'partner',
  from: 'ledger.partner b',
  columns: [
    ...PERSON,
    ...tableColumns('text', 'companyname'),
    ...tableColumns('flag', 'isperson'),
    SUBSIDIARY,
  ],
};

const KINDS = [
  { table: 'customer', type: 'CustJob', label: 'Customer' },
  { table: 'vendor', type: 'Vendor', label: 'Vendor' },
  { table: 'employee', type: 'Employee', label: 'Employee' },
  { table: 'contact', type: 'Contact', label: 'Contact' },
];
const PARTNER = { table: 'partner', type: 'Partner', label: 'Partner' };
const PARENT = 'SELECT c.parent FROM ledger.customer c WHERE c.id = b.id';

export const entityTable: AccountTable = {
  name: 'entity',
  from: `(${[...KINDS, PARTNER]
    .map(
      ({
        table,
        type,
        label,
      }) => `SELECT id, entityid, '${type}' AS type, '${label}' AS label, isperson, isinactive, companyname, firstname, lastname,
      email, phone, datecreated, lastmodifieddate FROM ledger.${table}`,
    )
    .join(' UNION ALL ')}) b`,
  columns: [
    ...tableColumns('integer', 'id'),
    ...tableColumns('text', 'entityid'),
    tableColumn('text', 'type', 'b.type', 'b.label'),
    ...KINDS.map(({ table, type }) =>
      tableColumn(
        'integer',
        table,
        `CASE WHEN b.type = '${type}' THEN b.id END`,
        `CASE WHEN b.type = '${type}' THEN b.entityid END`,
      ),
    ),
    tableColumn(
      'integer',
      'toplevelparent',
      `COALESCE((${PARENT}), b.id)`,
      `COALESCE((SELECT p.entityid FROM ledger.customer p WHERE p.id = (${PARENT})), b.entityid)`,
    ),
    ...tableColumns('flag', 'isperson isinactive'),
    ...tableColumns('text', 'email phone'),
    tableColumn('text', 'altname', NAME),
    ...tableColumns('datetime', 'datecreated lastmodifieddate'),
    ...nullColumns('integer', 'project'),
    tableColumn('integer', 'parent', PARENT),
  ],
};
