// Customers, and the union of all entities (customers alone, in this data).
import { absent, column, columns, type Table } from './table.ts';

const BALANCE = "SELECT COALESCE(sum(t.foreignamountunpaid), 0) FROM ledger.transaction t WHERE t.entity = b.id AND t.type IN ('CustInvc', 'CustCred')";

export const customer: Table = {
  name: 'customer',
  from: 'ledger.customer b',
  columns: [
    ...columns('integer', 'id'),
    ...columns('text', 'entityid'),
    ...columns('flag', 'isperson isinactive'),
    column('integer', 'currency', 'b.currency', 'SELECT c.name FROM ledger.currency c WHERE c.id = b.currency'),
    ...columns('text', 'defaultcountry'),
    ...columns('datetime', 'datecreated lastmodifieddate'),
    column('text', 'searchstage', "'Customer'"),
    column('decimal', 'balancesearch', BALANCE),
    column('decimal', 'overduebalancesearch', `SELECT COALESCE(sum(t.foreignamountunpaid), 0) FROM ledger.transaction t
      WHERE t.entity = b.id AND t.type = 'CustInvc' AND t.duedate < suiteql.today()`),
    column('decimal', 'consolbalancesearch', BALANCE),
    ...absent('text', `altname companyname firstname middlename lastname email phone altphone mobilephone fax url
      emailpreference language externalid creditholdoverride`),
    ...absent('integer', `category entitystatus terms pricelevel salesrep parent partner receivablesaccount
      defaultbillingaddress defaultshippingaddress`),
    ...absent('decimal', 'creditlimit unbilledorderssearch'),
    ...absent('date', 'dateclosed startdate enddate'),
  ],
};

export const entity: Table = {
  name: 'entity',
  from: 'ledger.customer b',
  columns: [
    ...columns('integer', 'id'),
    ...columns('text', 'entityid'),
    column('text', 'type', "'CustJob'", "'Customer'"),
    column('integer', 'customer', 'b.id', 'b.entityid'),
    column('integer', 'toplevelparent', 'b.id', 'b.entityid'),
    ...columns('flag', 'isperson isinactive'),
    ...columns('datetime', 'datecreated lastmodifieddate'),
    ...absent('integer', 'vendor employee contact project parent'),
    ...absent('text', 'email phone altname'),
  ],
};
