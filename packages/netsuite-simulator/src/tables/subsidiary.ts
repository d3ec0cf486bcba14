// The tables of OneWorld: one subsidiary, to which every customer belongs.
import { type AccountTable, nullColumns, tableColumn, tableColumns } from './table.ts';

export const subsidiaryTable: AccountTable = {
  name: 'subsidiary',
  from: 'ledger.subsidiary b',
  columns: [
    ...tableColumns('integer', 'id'),
    ...tableColumns('text', 'name'),
    tableColumn('text', 'fullname', 'b.name'),
    ...tableColumns('integer', 'parent currency'),
    ...tableColumns('text', 'country'),
    ...tableColumns('flag', 'iselimination isinactive'),
    ...tableColumns('datetime', 'lastmodifieddate'),
    ...nullColumns('text', 'legalname state email url'),
    ...nullColumns('integer', 'mainaddress'),
  ],
};

export const customerSubsidiaryTable: AccountTable = {
  name: 'customersubsidiaryrelationship',
  from: 'ledger.customer b',
  columns: [
    ...tableColumns('integer', 'id'),
    tableColumn('integer', 'entity', 'b.id', 'b.entityid'),
    tableColumn('integer', 'subsidiary', '1', 'SELECT s.name FROM ledger.subsidiary s WHERE s.id = 1'),
    tableColumn('flag', 'isprimarysub', "'T'"),
    tableColumn('integer', 'primarycurrency', 'b.currency'),
    tableColumn(
      'decimal',
      'balance',
      "SELECT COALESCE(sum(t.foreignamountunpaid), 0) FROM ledger.transaction t WHERE t.entity = b.id AND t.type = 'CustInvc'",
    ),
    ...tableColumns('datetime', 'lastmodifieddate'),
    ...nullColumns('decimal', 'depositbalance unbilledorders'),
  ],
};
