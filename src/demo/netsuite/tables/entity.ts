// Customers, the entities that this account has hardly any of, and the union of them all.
import { absent, type Column, column, columns, type Table } from './table.ts';

/** What is owed less what was credited or paid ahead. */
const BALANCE = `SELECT COALESCE(sum(CASE t.type WHEN 'CustPymt' THEN -t.foreignamountunpaid ELSE t.foreignamountunpaid END), 0)
  FROM ledger.transaction t WHERE t.entity = b.id AND t.type IN ('CustInvc', 'CustCred', 'CustPymt')`;
const SUBSIDIARY: Column = column('integer', 'subsidiary', '1', 'SELECT s.name FROM ledger.subsidiary s WHERE s.id = 1');
const NAME = "COALESCE(b.companyname, NULLIF(concat_ws(' ', b.firstname, b.lastname), ''))";

export const customer: Table = {
  name: 'customer',
  from: 'ledger.customer b',
  columns: [
    ...columns('integer', 'id'),
    ...columns('text', 'entityid externalid companyname firstname lastname email phone url'),
    ...columns('flag', 'isperson isinactive'),
    column('integer', 'currency', 'b.currency', 'SELECT c.name FROM ledger.currency c WHERE c.id = b.currency'),
    ...columns('text', 'defaultcountry comments'),
    ...columns('datetime', 'datecreated lastmodifieddate'),
    ...columns('decimal', 'creditlimit'),
    ...columns('integer', 'entitystatus'),
    column('text', 'altname', NAME),
    column('text', 'searchstage', "'Customer'"),
    column('decimal', 'balancesearch', BALANCE),
    column(
      'decimal',
      'overduebalancesearch',
      `SELECT COALESCE(sum(t.foreignamountunpaid), 0) FROM ledger.transaction t
      WHERE t.entity = b.id AND t.type = 'CustInvc' AND t.duedate < suiteql.today()`,
    ),
    column('decimal', 'consolbalancesearch', BALANCE),
    SUBSIDIARY,
    ...absent('text', 'middlename altphone mobilephone fax emailpreference language creditholdoverride'),
    ...absent(
      'integer',
      `category terms pricelevel salesrep parent partner receivablesaccount defaultbillingaddress defaultshippingaddress`,
    ),
    ...absent('decimal', 'unbilledorderssearch'),
    ...absent('date', 'dateclosed startdate enddate'),
  ],
};

const PERSON: readonly Column[] = [
  ...columns('integer', 'id'),
  ...columns('text', 'entityid externalid firstname lastname email phone'),
  ...columns('flag', 'isinactive'),
  ...columns('datetime', 'datecreated lastmodifieddate'),
];

export const vendor: Table = {
  name: 'vendor',
  from: 'ledger.vendor b',
  columns: [
    ...PERSON,
    ...columns('text', 'companyname'),
    ...columns('flag', 'isperson'),
    SUBSIDIARY,
    ...absent('integer', 'category terms currency'),
  ],
};

export const employee: Table = {
  name: 'employee',
  from: 'ledger.employee b',
  columns: [...PERSON, ...columns('text', 'title'), SUBSIDIARY, ...absent('integer', 'supervisor department location')],
};

export const contact: Table = {
  name: 'contact',
  from: 'ledger.contact b',
  columns: [...PERSON, ...columns('text', 'title'), ...columns('integer', 'company'), SUBSIDIARY],
};

const KINDS = [
  { table: 'customer', type: 'CustJob', label: 'Customer' },
  { table: 'vendor', type: 'Vendor', label: 'Vendor' },
  { table: 'employee', type: 'Employee', label: 'Employee' },
  { table: 'contact', type: 'Contact', label: 'Contact' },
];

export const entity: Table = {
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
    ...columns('integer', 'id'),
    ...columns('text', 'entityid'),
    column('text', 'type', 'b.type', 'b.label'),
    ...KINDS.map(({ table, type }) =>
      column('integer', table, `CASE WHEN b.type = '${type}' THEN b.id END`, `CASE WHEN b.type = '${type}' THEN b.entityid END`),
    ),
    column('integer', 'toplevelparent', 'b.id', 'b.entityid'),
    ...columns('flag', 'isperson isinactive'),
    ...columns('text', 'email phone'),
    column('text', 'altname', NAME),
    ...columns('datetime', 'datecreated lastmodifieddate'),
    ...absent('integer', 'project parent'),
  ],
};
