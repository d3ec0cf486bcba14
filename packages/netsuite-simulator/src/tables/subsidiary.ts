// The tables of OneWorld: subsidiaries, and which customers and vendors belong to them. Without a profile
// there is one subsidiary, to which every customer belongs.
import { type AccountTable, nullColumns, referenceColumn, tableColumn, tableColumns } from './table.ts';

export const subsidiaryTable: AccountTable = {
  name: 'subsidiary',
  from: 'ledger.subsidiary b',
  columns: [
    ...tableColumns('integer', 'id'),
    ...tableColumns('text', 'name'),
    tableColumn(
      'text',
      'fullname',
      "COALESCE((SELECT p.name || ' : ' FROM ledger.subsidiary p WHERE p.id = b.parent), '') || b.name",
    ),
    referenceColumn('parent', 'subsidiary', 'name'),
    referenceColumn('currency', 'currency', 'name'),
    ...tableColumns('text', 'country'),
    ...tableColumns('flag', 'iselimination isinactive'),
    ...tableColumns('datetime', 'lastmodifieddate'),
    ...tableColumns('text', 'legalname state email url'),
    ...tableColumns('integer', 'mainaddress'),
    ...tableColumns('text', 'edition externalid federalidnumber tranprefix'),
    ...tableColumns('integer', 'fiscalcalendar shippingaddress returnaddress'),
    ...nullColumns('text', 'dropdownstate fax languagelocale ssnortin state1taxnumber'),
    ...nullColumns('flag', 'showsubsidiaryname'),
    ...nullColumns(
      'decimal',
      'purchaseorderamount purchaseorderquantity purchaseorderquantitydiff receiptamount receiptquantity receiptquantitydiff',
    ),
  ],
};

type Party = { name: 'customer' | 'vendor'; others: string; balanceType: string };

/** The primary subsidiary of each has its id; further ones are rows of their own. */
const relationships = ({ name, others, balanceType }: Party): AccountTable => ({
  name: `${name}subsidiaryrelationship`,
  from: `(SELECT e.id, e.id AS entity, e.entityid, e.subsidiary, 'T' AS isprimarysub, e.currency, e.lastmodifieddate FROM ledger.${name} e
    ${others}) b`,
  columns: [
    ...tableColumns('integer', 'id'),
    tableColumn('integer', 'entity', 'b.entity', 'b.entityid'),
    referenceColumn('subsidiary', 'subsidiary', 'name'),
    ...tableColumns('flag', 'isprimarysub'),
    tableColumn('integer', 'primarycurrency', 'b.currency'),
    tableColumn(
      'decimal',
      'balance',
      `SELECT COALESCE(sum(t.foreignamountunpaid), 0) FROM ledger.transaction t
        WHERE t.entity = b.entity AND t.subsidiary = b.subsidiary AND t.type = '${balanceType}'`,
    ),
    ...tableColumns('datetime', 'lastmodifieddate'),
    ...nullColumns('decimal', 'depositbalance unbilledorders'),
  ],
});

export const customerSubsidiaryTable: AccountTable = relationships({
  name: 'customer',
  others: `UNION ALL SELECT r.id, r.entity, e.entityid, r.subsidiary, 'F', e.currency, e.lastmodifieddate
    FROM ledger.customersubsidiary r JOIN ledger.customer e ON e.id = r.entity`,
  balanceType: 'CustInvc',
});
export const vendorSubsidiaryTable: AccountTable = relationships({
  name: 'vendor',
  others: '',
  balanceType: 'VendBill',
});
