// Lines of journals that name a customer on a receivables account, as a query source: docs/portal.md.
import { z } from 'zod';
import type { ManagementCall } from './management-client.ts';

export const journalLines = {
  name: 'receivableJournalLine',
  label: 'Adjustment',
  keyColumn: 'line',
  modifiedColumn: 'modified',
  query: `SELECT l.uniquekey AS line, l.transaction AS journal, t.tranid, t.trandate, l.entity AS customer,
  NVL(l.debitforeignamount, 0) - NVL(l.creditforeignamount, 0) AS amount,
  t.currency, BUILTIN.DF(t.currency) AS currency_name, NVL(l.memo, t.memo) AS memo, t.lastmodifieddate AS modified
FROM transactionline l
JOIN transaction t ON t.id = l.transaction
JOIN transactionaccountingline a ON a.transaction = l.transaction AND a.transactionline = l.id
JOIN account r ON r.id = a.account
JOIN customer c ON c.id = l.entity
WHERE t.type = 'Journal' AND t.posting = 'T' AND a.accountingbook = 1 AND r.accttype = 'AcctRec'`,
};

/** How the portal shows them. */
export const journalEntry = {
  recordType: journalLines.name,
  customerField: 'customer',
  role: 'journal',
  fields: { number: 'tranid', date: 'trandate', amount: 'amount', currency: 'currency_name' },
  conditions: [],
};

const Queries = z.object({ data: z.array(z.object({ name: z.string() })) });

/** Defines the record type unless that has been done. Throws ManagementApiError. */
export async function ensureJournalLines(call: ManagementCall): Promise<void> {
  const { data } = await call('GET', '/netsuite/queries', Queries);
  if (!data.some(({ name }) => name === journalLines.name))
    await call('POST', '/netsuite/queries', z.unknown(), journalLines);
}

const Fields = z.object({ fields: z.array(z.object({ name: z.string(), type: z.string() })) });

/** Whether there have been any: before that, the types of their fields aren't known. */
export async function hasJournalLines(call: ManagementCall): Promise<boolean> {
  const { fields } = await call('GET', `/netsuite/metadata/${journalLines.name}`, Fields);
  return fields.some(({ name, type }) => name === 'amount' && type !== 'text');
}
