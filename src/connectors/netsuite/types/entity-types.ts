// Customers, vendors, employees and contacts: their names and the columns to request. An employee's private
// data (pay, birth date, bank account, home address) is never requested.
import {
  defineColumns,
  ownIdAndTime,
  type RecordTypeDefinition,
  withAmounts,
  withTargets,
} from './definition.ts';

const customerColumns = defineColumns(
  ['id', 'Internal ID', 'integer'],
  ['entityid', 'Customer ID'],
  ['altname', 'Name'],
  ['companyname', 'Company name'],
  ['isperson', 'Is a person', 'boolean'],
  ['firstname', 'First name'],
  ['middlename', 'Middle name'],
  ['lastname', 'Last name'],
  ['email', 'Email'],
  ['phone', 'Phone'],
  ['altphone', 'Other phone'],
  ['mobilephone', 'Mobile phone'],
  ['fax', 'Fax'],
  ['url', 'Web address'],
  ['category', 'Category', 'reference'],
  ['entitystatus', 'Status', 'reference'],
  ['searchstage', 'Stage'],
  ['currency', 'Currency', 'reference'],
  ['terms', 'Terms', 'reference'],
  ['pricelevel', 'Price level', 'reference'],
  ['salesrep', 'Sales representative', 'reference'],
  ['parent', 'Parent customer', 'reference'],
  ['subsidiary', 'Primary subsidiary', 'reference'],
  ['partner', 'Partner', 'reference'],
  ['receivablesaccount', 'Receivables account', 'reference'],
  ['creditlimit', 'Credit limit', 'number'],
  ['creditholdoverride', 'Credit hold', 'list'],
  ['balancesearch', 'Balance', 'number', 'volatile'],
  ['overduebalancesearch', 'Overdue balance', 'number', 'volatile'],
  ['unbilledorderssearch', 'Unbilled orders', 'number', 'volatile'],
  ['consolbalancesearch', 'Consolidated balance', 'number', 'volatile'],
  ['defaultbillingaddress', 'Default billing address', 'reference'],
  ['defaultshippingaddress', 'Default shipping address', 'reference'],
  ['defaultcountry', 'Country'],
  ['emailpreference', 'Email preference', 'list'],
  ['language', 'Language', 'list'],
  ['isinactive', 'Inactive', 'boolean'],
  ['externalid', 'External ID'],
  ['startdate', 'Start date', 'date'],
  ['enddate', 'End date', 'date'],
  ['dateclosed', 'Date closed', 'date'],
  ['datecreated', 'Created', 'time'],
  ['lastmodifieddate', 'Last modified', 'time'],
);

/** In which currency NetSuite returns them isn't certain where an account has several. */
const customerAmounts = [
  'creditlimit',
  'balancesearch',
  'overduebalancesearch',
  'unbilledorderssearch',
  'consolbalancesearch',
];

const vendorColumns = defineColumns(
  ['id', 'Internal ID', 'integer'],
  ['entityid', 'Vendor ID'],
  ['altname', 'Name'],
  ['companyname', 'Company name'],
  ['legalname', 'Legal name'],
  ['isperson', 'Is a person', 'boolean'],
  ['firstname', 'First name'],
  ['middlename', 'Middle name'],
  ['lastname', 'Last name'],
  ['email', 'Email'],
  ['phone', 'Phone'],
  ['altphone', 'Other phone'],
  ['fax', 'Fax'],
  ['url', 'Web address'],
  ['category', 'Category', 'reference'],
  ['currency', 'Currency', 'reference'],
  ['terms', 'Terms', 'reference'],
  ['subsidiary', 'Primary subsidiary', 'reference'],
  ['accountnumber', 'Our account number there'],
  ['isinactive', 'Inactive', 'boolean'],
  ['externalid', 'External ID'],
  ['datecreated', 'Created', 'time'],
  ['lastmodifieddate', 'Last modified', 'time'],
);

const employeeColumns = defineColumns(
  ['id', 'Internal ID', 'integer'],
  ['entityid', 'Employee ID'],
  ['firstname', 'First name'],
  ['middlename', 'Middle name'],
  ['lastname', 'Last name'],
  ['title', 'Job title'],
  ['email', 'Email'],
  ['phone', 'Phone'],
  ['supervisor', 'Supervisor', 'reference'],
  ['department', 'Department', 'reference'],
  ['class', 'Class', 'reference'],
  ['location', 'Location', 'reference'],
  ['subsidiary', 'Subsidiary', 'reference'],
  ['issalesrep', 'Sales representative', 'boolean'],
  ['isinactive', 'Inactive', 'boolean'],
  ['externalid', 'External ID'],
  ['datecreated', 'Created', 'time'],
  ['lastmodifieddate', 'Last modified', 'time'],
);

const contactColumns = defineColumns(
  ['id', 'Internal ID', 'integer'],
  ['entityid', 'Name'],
  ['company', 'Company', 'reference'],
  ['salutation', 'Salutation'],
  ['firstname', 'First name'],
  ['middlename', 'Middle name'],
  ['lastname', 'Last name'],
  ['title', 'Job title'],
  ['email', 'Email'],
  ['phone', 'Phone'],
  ['mobilephone', 'Mobile phone'],
  ['fax', 'Fax'],
  ['subsidiary', 'Subsidiary', 'reference'],
  ['isinactive', 'Inactive', 'boolean'],
  ['externalid', 'External ID'],
  ['datecreated', 'Created', 'time'],
  ['lastmodifieddate', 'Last modified', 'time'],
);

type EntityTypeParts = Pick<RecordTypeDefinition, 'name' | 'label' | 'columns'> & {
  readonly shownBy: readonly string[];
  readonly deletedAs?: readonly string[];
};
const entityType = ({ shownBy, deletedAs = [], ...parts }: EntityTypeParts): RecordTypeDefinition => ({
  ...ownIdAndTime,
  ...parts,
  table: parts.name,
  filter: null,
  lines: null,
  openWhen: [],
  shownAs: { number: ['entityid'], name: shownBy, date: [], amount: [] },
  catalogue: [parts.name],
  customPrefix: 'custentity',
  deletedAs: [parts.name, ...deletedAs],
});

export const customerDefinition = entityType({
  name: 'customer',
  label: 'Customer',
  columns: withTargets(withAmounts(customerColumns, null, customerAmounts), {
    parent: 'customer',
    salesrep: 'employee',
  }),
  shownBy: ['companyname', 'altname'],
  deletedAs: ['custjob', 'lead', 'prospect'],
});
export const vendorDefinition = entityType({
  name: 'vendor',
  label: 'Vendor',
  columns: vendorColumns,
  shownBy: ['companyname', 'altname'],
});
export const employeeDefinition = entityType({
  name: 'employee',
  label: 'Employee',
  columns: withTargets(employeeColumns, { supervisor: 'employee' }),
  shownBy: ['lastname'],
});
export const contactDefinition = entityType({
  name: 'contact',
  label: 'Contact',
  columns: contactColumns,
  shownBy: ['company'],
});
