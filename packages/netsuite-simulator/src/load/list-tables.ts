// Base tables that only profiles fill: lists, addresses, stock, and which customers belong to further
// subsidiaries. Part of the data's checksum.
import { STOCK_TABLE } from '../profile/stock.ts';
import { ACCOUNTING_LISTS } from '../tables/accounting-lists.ts';
import { listDdl } from '../tables/list-table.ts';
import { GENERAL_LISTS } from '../tables/lists.ts';

export const LIST_TABLES = [
  ...[...GENERAL_LISTS, ...ACCOUNTING_LISTS].map(listDdl),
  'CREATE INDEX ON ledger.consolidatedexchangerate (fromsubsidiary, tosubsidiary, postingperiod)',
  'CREATE UNIQUE INDEX ON ledger.currencyrate (basecurrency, transactioncurrency, effectivedate)',
  `CREATE TABLE ledger.address (nkey bigint PRIMARY KEY, entity bigint, label text, addressee text, attention text, addrphone text, addr1 text,
     addr2 text, addr3 text, city text, state text, zip text, country text, lastmodifieddate timestamptz NOT NULL)`,
  'CREATE INDEX ON ledger.address (entity)',
  'CREATE TABLE ledger.customersubsidiary (id bigint PRIMARY KEY, entity bigint NOT NULL, subsidiary bigint NOT NULL)',
  'CREATE INDEX ON ledger.customersubsidiary (entity)',
  STOCK_TABLE,
].join(';\n');
