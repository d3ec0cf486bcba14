// What transactions post: one row for each posting line and accounting book. Only accounts with a profile
// have it, as only their lines name an account. Amounts are in the base currency of the line's subsidiary.
import { ACCOUNT } from '../profile/trade-sql.ts';
import { type AccountTable, nullColumns, referenceColumn, tableColumn, tableColumns } from './table.ts';

/** Shipping income posts to an account of its own in the books that aren't primary. */
const POSTED_TO = `CASE WHEN k.isprimary = 'F' AND l.account = ${ACCOUNT.shipping} THEN ${ACCOUNT.shippingElsewhere} ELSE l.account END`;
const POSTINGS = `(SELECT l.transaction, l.id AS transactionline, k.id AS accountingbook, ${POSTED_TO} AS account, l.netamount, t.exchangerate,
    l.linelastmodifieddate AS lastmodifieddate, l.mainline, t.type, t.foreignamountpaid, t.foreignamountunpaid,
    l.subsidiary, t.postingperiod, t.currency
  FROM ledger.transactionline l JOIN ledger.transaction t ON t.id = l.transaction
  JOIN ledger.accountingbook k ON k.id = COALESCE(t.accountingbook, k.id)
  WHERE l.account IS NOT NULL) b`;

/** An amount of the header in the base currency, for the line that represents the header of these types. */
const ofHeader = (column: string, types: string): string =>
  `CASE WHEN b.mainline = 'T' AND b.type IN (${types}) THEN round(b.${column} * b.exchangerate, 2) END`;
const OWED = "'CustInvc', 'VendBill'";
const PAYING = "'CustPymt', 'CustCred', 'VendPymt', 'VendCred', 'CustDep'";

export const transactionAccountingLineTable: AccountTable = {
  name: 'transactionaccountingline',
  from: POSTINGS,
  hidden: {
    subsidiary: 'b.subsidiary',
    period: 'b.postingperiod',
    ratetype: 'SELECT a.generalrate FROM ledger.account a WHERE a.id = b.account',
    book: 'b.accountingbook',
    currency: 'b.currency',
  },
  columns: [
    ...tableColumns('integer', 'transaction transactionline accountingbook'),
    referenceColumn('account', 'account', 'accountsearchdisplayname'),
    tableColumn('decimal', 'amount', 'b.netamount'),
    tableColumn('decimal', 'debit', 'CASE WHEN b.netamount > 0 THEN b.netamount END'),
    tableColumn('decimal', 'credit', 'CASE WHEN b.netamount < 0 THEN -b.netamount END'),
    ...tableColumns('decimal', 'netamount exchangerate'),
    tableColumn('decimal', 'amountpaid', ofHeader('foreignamountpaid', OWED)),
    tableColumn('decimal', 'amountunpaid', ofHeader('foreignamountunpaid', OWED)),
    tableColumn('decimal', 'paymentamountused', ofHeader('foreignamountpaid', PAYING)),
    tableColumn('decimal', 'paymentamountunused', ofHeader('foreignamountunpaid', PAYING)),
    tableColumn('flag', 'posting', "'T'"),
    ...tableColumns('datetime', 'lastmodifieddate'),
    ...nullColumns('decimal', 'amountlinked'),
    ...nullColumns('integer', 'overheadparentitem'),
  ],
};
