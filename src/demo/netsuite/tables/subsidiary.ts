// OneWorld's tables: one subsidiary, to which every customer belongs.
import { absent, column, columns, type Table } from './table.ts';

export const subsidiary: Table = {
  name: 'subsidiary',
  from: 'ledger.subsidiary b',
  columns: [
    ...columns('integer', 'id'),
    ...columns('text', 'name'),
    column('text', 'fullname', 'b.name'),
    ...columns('integer', 'parent currency'),
    ...columns('text', 'country'),
    ...columns('flag', 'iselimination isinactive'),
    ...columns('datetime', 'lastmodifieddate'),
    ...absent('text', 'legalname state email url'),
    ...absent('integer', 'mainaddress'),
  ],
};

export const customerSubsidiary: Table = {
  name: 'customersubsidiaryrelationship',
  from: 'ledger.customer b',
  columns: [
    ...columns('integer', 'id'),
    column('integer', 'entity', 'b.id', 'b.entityid'),
    column('integer', 'subsidiary', '1', 'SELECT s.name FROM ledger.subsidiary s WHERE s.id = 1'),
    column('flag', 'isprimarysub', "'T'"),
    column('integer', 'primarycurrency', 'b.currency'),
    column(
      'decimal',
      'balance',
      "SELECT COALESCE(sum(t.foreignamountunpaid), 0) FROM ledger.transaction t WHERE t.entity = b.id AND t.type = 'CustInvc'",
    ),
    ...columns('datetime', 'lastmodifieddate'),
    ...absent('decimal', 'depositbalance unbilledorders'),
  ],
};
