// Stock per item and location, which only accounts with a profile have. ../profile/stock.ts keeps the base
// table up to date.
import { type AccountTable, nullColumns, referenceColumn, tableColumn } from './table.ts';

const open = (type: string): string =>
  `sum(abs(l.quantity) - COALESCE(l.quantityshiprecv, 0)) FILTER (WHERE t.type = '${type}')`;
/** What orders have not shipped or received yet. */
const ORDERED = `SELECT l.item, l.location, ${open('SalesOrd')} AS committed, ${open('PurchOrd')} AS onorder
  FROM ledger.transactionline l JOIN ledger.transaction t ON t.id = l.transaction
  WHERE t.type IN ('SalesOrd', 'PurchOrd') AND l.item IS NOT NULL GROUP BY l.item, l.location`;

export const inventoryLocationTable: AccountTable = {
  name: 'inventoryitemlocations',
  from: `ledger.stock b JOIN ledger.item i ON i.id = b.item LEFT JOIN (${ORDERED}) o ON o.item = b.item AND o.location = b.location`,
  columns: [
    tableColumn('integer', 'item', 'b.item', 'i.itemid'),
    referenceColumn('location', 'location'),
    ...['quantityonhand', 'quantityonhandbase'].map((name) => tableColumn('decimal', name, 'b.quantity')),
    ...['quantityavailable', 'quantityavailablebase'].map((name) =>
      tableColumn('decimal', name, 'b.quantity - COALESCE(o.committed, 0)'),
    ),
    tableColumn('decimal', 'quantitycommitted', 'COALESCE(o.committed, 0)'),
    tableColumn('decimal', 'quantityonorder', 'COALESCE(o.onorder, 0)'),
    tableColumn('decimal', 'quantitybackordered', '0'),
    tableColumn('decimal', 'averagecostmli', 'i.averagecost'),
    tableColumn('decimal', 'onhandvaluemli', 'b.quantity * i.averagecost'),
    tableColumn('datetime', 'lastquantityavailablechange', 'b.changedat'),
    ...nullColumns('decimal', 'reorderpoint preferredstocklevel'),
  ],
};
