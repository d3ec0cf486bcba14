// Saved SuiteAnalytics datasets: queries with an id, which callers run without knowing their text.

export type Dataset = {
  /** As in the URL of its result. */
  id: string;
  name: string;
  /** Its query in SuiteQL. */
  q: string;
  /**
   * The record type of the rows' column `id`: rows then have a link to their record. NetSuite gives none to
   * transactions.
   */
  recordType?: string;
};

/** The datasets of an account that was given none. */
export const DEFAULT_DATASETS: readonly Dataset[] = [
  {
    id: 'custdataset_customers',
    name: 'Customers',
    q: 'SELECT id, entityid, email FROM customer ORDER BY id ASC',
    recordType: 'customer',
  },
  {
    id: 'custdataset_open_invoices',
    name: 'Open invoices',
    q: `SELECT id, tranid, duedate, foreignamountunpaid FROM transaction
      WHERE type = 'CustInvc' AND foreignamountunpaid > 0 ORDER BY id ASC`,
  },
];
